// SPDX-License-Identifier: Apache-2.0
#include "watch/usage_sampler.h"

#include <Python.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "compat/features.h"
#include "device/device_memory.h"
#include "device/device_records.h"
#include "device/device_selection.h"
#include "device/heap_use.h"
#include "device/memory_sampler.h"
#include "python/guards.h"

namespace cyclewatch::watch {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kPeriod{0.1};
constexpr double kShare = 0.0005;  // of a core
// malloc() of the program may wait for a sample. After a longer sample, there are no others.
constexpr Seconds kLongestHeapSample{0.01};
// Until the report is written first, and between two times.
constexpr Seconds kFirstWrite{2};
constexpr Seconds kWritePause{10};
constexpr int kMostDevices = 16;
constexpr int kSamplesPerSearch = 64;  // for the devices that torch uses

Seconds processor_time() noexcept {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

struct Sample {
    std::string device;
    const char* source;
    std::uint64_t bytes;
};

// REQUIRES (everything here): called on one thread only.
class Counters {
  public:
    std::vector<Sample> read() {
        std::vector<Sample> samples;
        read_cpu(samples);
        if (CYCLEWATCH_HAS_NO_GIL == 0 && device::accelerator_was_usable()) {
            read_cuda(samples);
        }
        return samples;
    }

  private:
    void read_cpu(std::vector<Sample>& samples) {
        const Seconds began = processor_time();
        if (const auto heap = reads_heap_ ? device::heap_bytes() : std::nullopt) {
            reads_heap_ = processor_time() - began < kLongestHeapSample;
            samples.push_back(
                {.device = "cpu", .source = "allocated with malloc()", .bytes = *heap});
        } else if (const auto resident = device::resident_bytes()) {
            samples.push_back({.device = "cpu", .source = "resident memory", .bytes = *resident});
        }
    }

    void read_cuda(std::vector<Sample>& samples) {
        const PyGILState_STATE state = PyGILState_Ensure();
        if (!device::in_forked_child()) {
            // torch returns the counters in new dicts, which must not start a collection here.
            const python::GcPause no_collection;
            const python::YoungCountGuard count;
            const bool search = searches_++ % kSamplesPerSearch == 0;
            for (int device = 0; device < kMostDevices; ++device) {
                if (!search && std::ranges::find(cuda_, device) == cuda_.end()) {
                    continue;
                }
                const std::optional<device::TorchMemory> memory = device::torch_memory(device);
                if (!memory) {
                    break;
                }
                if (memory->reserved > 0) {
                    samples.push_back({.device = "cuda:" + std::to_string(device),
                                       .source = "allocated by torch",
                                       .bytes = memory->allocated});
                }
            }
        }
        PyGILState_Release(state);
        cuda_.clear();
        for (const Sample& each : samples) {
            if (const auto number = device::cuda_number(each.device)) {
                cuda_.push_back(*number);
            }
        }
    }

    bool reads_heap_ = true;
    std::uint64_t searches_ = 0;
    std::vector<int> cuda_;  // devices that torch has used
};

struct Target {
    std::shared_ptr<report::ReportStore> store;
    Clock::time_point started;
    std::weak_ptr<ReportWriter> writer;
    Clock::time_point next_write;
};

// The thread and its targets. In a forked child, the parent's instance is leaked, because its
// thread does not exist there and its lock may be held.
class Sampler {
  public:
    void add(Target target) {
        {
            const std::lock_guard lock(mutex_);
            targets_.push_back(std::move(target));
        }
        start();
    }

    void set_writer(const report::ReportStore* store, const std::weak_ptr<ReportWriter>& writer) {
        const std::lock_guard lock(mutex_);
        for (Target& each : targets_) {
            if (each.store.get() == store) {
                each.writer = writer;
                each.next_write =
                    Clock::now() + std::chrono::duration_cast<Clock::duration>(kFirstWrite);
            }
        }
    }

    void remove(const report::ReportStore* store) noexcept {
        const std::lock_guard lock(mutex_);
        std::erase_if(targets_, [store](const Target& each) { return each.store.get() == store; });
        wake_.notify_all();  // the thread ends once there are no targets
    }

    void pause() {
        {
            const std::lock_guard lock(mutex_);
            is_paused_ = true;
            ++current_run_;
        }
        wake_.notify_all();
        // Another thread may fork while the GIL is released.
        std::thread ending = std::move(thread_);
        if (ending.joinable()) {
            const python::GilRelease release;
            ending.join();
        }
    }

    void resume() {
        const std::lock_guard lock(mutex_);
        is_paused_ = false;
    }

    void start() {
        {
            const std::lock_guard lock(mutex_);
            if (is_paused_ || targets_.empty() || (thread_.joinable() && !has_ended_)) {
                return;
            }
            has_ended_ = false;
        }
        if (thread_.joinable()) {
            thread_.join();  // has ended, so that it does not wait for the GIL
        }
        thread_ =
            base::start_thread("cyclewatch/use", [this, number = current_run_] { run(number); });
    }

  private:
    // REQUIRES: `mutex_` held.
    [[nodiscard]] bool is_wanted(std::uint64_t run) const noexcept {
        return run == current_run_ && !targets_.empty();
    }

    void run(std::uint64_t number) noexcept {
        Counters counters;
        Seconds last = processor_time();
        std::unique_lock lock(mutex_);
        while (is_wanted(number)) {
            lock.unlock();  // the samples may wait for the GIL
            std::vector<Sample> samples;
            try {
                samples = counters.read();
            } catch (const std::bad_alloc&) {  // no sample
            }
            lock.lock();
            add_samples(samples);
            const Seconds now = processor_time();  // includes the time to wake up
            const Seconds pause = std::max(kPeriod, (now - last) / kShare);
            last = now;
            wake_.wait_for(lock, pause, [this, number] { return !is_wanted(number); });
        }
        has_ended_ = has_ended_ || number == current_run_;
    }

    void add_samples(const std::vector<Sample>& samples) noexcept {
        const Clock::time_point now = Clock::now();
        for (Target& target : targets_) {
            const double at = Seconds(now - target.started).count();
            for (const Sample& each : samples) {
                try {
                    target.store->add_usage(each.device, each.source, at, each.bytes);
                } catch (const std::bad_alloc&) {  // no sample
                }
            }
            const std::shared_ptr<ReportWriter> writer = target.writer.lock();
            if (writer && !samples.empty() && now >= target.next_write) {
                writer->changed(false);
                target.next_write = now + std::chrono::duration_cast<Clock::duration>(kWritePause);
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    // Protected by `mutex_`.
    std::vector<Target> targets_;
    bool is_paused_ = false;
    std::uint64_t current_run_ = 0;  // the number of the thread that may run
    bool has_ended_ = false;         // the current run, because there were no targets
    std::thread thread_;
};

// Set by resume_usage_samples().
std::atomic<bool> is_start_due{false};

Sampler& sampler() {
    static Sampler* current = new Sampler;
    static pid_t process = ::getpid();
    if (process != ::getpid()) {
        current = new Sampler;
        process = ::getpid();
    }
    return *current;
}

}  // namespace

void start_usage_samples(std::shared_ptr<report::ReportStore> store, Clock::time_point started) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        return;
    }
    sampler().add({.store = std::move(store), .started = started, .writer = {}, .next_write = {}});
}

void write_usage_samples(const report::ReportStore* store,
                         const std::weak_ptr<ReportWriter>& writer) {
    sampler().set_writer(store, writer);
}

void stop_usage_samples(const report::ReportStore* store) noexcept {
    sampler().remove(store);
}

void pause_usage_samples() {
    sampler().pause();
}

void resume_usage_samples() {
    sampler().resume();
    is_start_due.store(true, std::memory_order_relaxed);
}

void start_due_usage_samples() noexcept {
    if (!is_start_due.load(std::memory_order_relaxed)) {
        return;
    }
    is_start_due.store(false, std::memory_order_relaxed);
    try {
        sampler().start();
    } catch (const std::exception&) {  // no further samples
    }
}

}  // namespace cyclewatch::watch
