// SPDX-License-Identifier: Apache-2.0
// What the process can say about its device memory, asked of whichever CUDA library is loaded.
// docs/design/devices.md says why each rule is there.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
// PROMISES: loads no library, initialises nothing, creates no context, leaves no error and takes
// none away, breaks no stream capture. A forked child asks CUDA nothing at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cyclewatch::device {

// A moment's memory of the device whose context is current, in bytes.
struct FreeMemory {
    int device = 0;
    std::uint64_t free = 0;
    std::uint64_t total = 0;
};

// True in a child of fork(), which is to leave the device alone.
[[nodiscard]] bool in_forked_child() noexcept;

// What CUDA knows of an address.
enum class MemoryKind : std::uint8_t {
    unregistered,  // not CUDA's, or no longer
    host,
    device,
    managed,
};

struct PointerFacts {
    MemoryKind kind = MemoryKind::unregistered;
    int device = 0;
};

// The questions, with what was found so far. The functions below ask the process's own instance.
class DeviceQueries {
  public:
    explicit DeviceQueries(std::string device_files = "/dev");
    ~DeviceQueries();
    DeviceQueries(const DeviceQueries&) = delete;
    DeviceQueries& operator=(const DeviceQueries&) = delete;

    [[nodiscard]] bool accelerator_usable() noexcept;
    [[nodiscard]] std::optional<FreeMemory> current_device_memory() noexcept;
    [[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) noexcept;

  private:
    struct Libraries;

    void look_for_libraries() noexcept;
    [[nodiscard]] bool system_shows_a_device() noexcept;

    std::string device_files_;
    std::unique_ptr<Libraries> libraries_;
    unsigned long long looked_at_ = 0;  // libraries_ever_loaded() at the last look
    std::optional<bool> system_shows_;
    bool usable_ = false;
};

// True if a CUDA library is loaded and there is a device for it. Once the program has
// initialised CUDA the driver's count decides, and a "yes" is final; before that nothing may be
// asked, and the system's device files answer. Cheap enough for the inside of a collection: a
// look at a counter of the loader, and one call of the driver where that is loaded.
[[nodiscard]] bool accelerator_usable() noexcept;

// Nothing where the calling thread has no context, or where asking would do harm now.
[[nodiscard]] std::optional<FreeMemory> current_device_memory() noexcept;

// Nothing in the same cases.
[[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) noexcept;

}  // namespace cyclewatch::device
