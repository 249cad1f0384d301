// SPDX-License-Identifier: Apache-2.0
#include "device/memory_sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "device/device_selection.h"
#include "device/torch_memory.h"

namespace cyclewatch::device {

using model::MemorySource;

struct MemorySampler::InUse {
    std::uint64_t used = 0;
    std::uint64_t total = 0;  // 0 if unknown
    MemorySource source = MemorySource::process;
};

namespace {

std::uint64_t bytes_of_pages(long pages) noexcept {
    const long page = sysconf(_SC_PAGESIZE);
    return page > 0 && pages > 0
               ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
               : 0;
}

}  // namespace

// The second number of /proc/self/statm. The file is opened for each
// reading, because after a fork, an open descriptor would still refer to the parent process.
std::optional<std::uint64_t> resident_bytes() noexcept {
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return std::nullopt;
    }
    std::array<char, 128> text{};
    const ssize_t length = read(file, text.data(), text.size());
    close(file);
    const char* const end = text.data() + std::max<ssize_t>(length, 0);
    const char* const second = std::find<const char*>(text.data(), end, ' ');
    long pages = 0;
    if (second == end || std::from_chars(second + 1, end, pages).ec != std::errc{}) {
        return std::nullopt;
    }
    return bytes_of_pages(pages);
}

// Prefers torch's own count, because CUDA also counts freed memory that torch's allocator caches.
std::optional<MemorySampler::InUse> MemorySampler::in_use_of_cuda(int device) noexcept {
    const auto slot = static_cast<std::size_t>(device);
    const std::uint64_t known_total = slot < totals_.size() ? totals_[slot] : 0;
    const std::optional<std::uint64_t> allocated = torch_allocated_bytes(device);
    if (allocated && known_total > 0) {
        return InUse{.used = *allocated, .total = known_total, .source = MemorySource::torch};
    }
    std::optional<FreeMemory> free = ask_free_();
    if (free && free->device != device) {
        free.reset();  // another device is current on this thread
    }
    if (free && slot < totals_.size()) {
        totals_[slot] = free->total;
    }
    if (allocated) {
        return InUse{
            .used = *allocated, .total = free ? free->total : 0, .source = MemorySource::torch};
    }
    if (free) {
        return InUse{
            .used = free->total - free->free, .total = free->total, .source = MemorySource::cuda};
    }
    return std::nullopt;
}

std::optional<MemorySampler::InUse> MemorySampler::in_use(std::string_view device) noexcept {
    if (device == "cpu") {
        const std::optional<std::uint64_t> resident = resident_bytes();
        const long pages = sysconf(_SC_PHYS_PAGES);
        return resident ? std::optional(InUse{.used = *resident,
                                              .total = bytes_of_pages(pages),
                                              .source = MemorySource::process})
                        : std::nullopt;
    }
    const std::optional<int> number = cuda_number(device);
    return number && !in_forked_child() ? in_use_of_cuda(*number) : std::nullopt;
}

std::vector<model::DeviceMemory> MemorySampler::before(std::span<const model::Storage> storages) {
    std::vector<model::DeviceMemory> samples;
    std::vector<std::string_view> seen;
    for (const model::Storage& storage : storages) {
        if (std::ranges::find(seen, storage.device) != seen.end()) {
            continue;
        }
        seen.push_back(storage.device);
        if (const std::optional<InUse> now = in_use(storage.device)) {
            samples.push_back({storage.device, now->used, 0, now->total, now->source});
        }
    }
    return samples;
}

void MemorySampler::after(std::vector<model::DeviceMemory>& samples) noexcept {
    std::erase_if(samples, [this](model::DeviceMemory& sample) {
        const std::optional<InUse> now = in_use(sample.device);
        const bool same = now && now->source == sample.source;
        sample.used_after = same ? now->used : 0;
        return !same;
    });
}

}  // namespace cyclewatch::device
