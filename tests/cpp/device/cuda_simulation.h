// SPDX-License-Identifier: Apache-2.0
// Opens the simulated CUDA libraries in this process for one test, as a library of the watched
// program would have done, and closes them after it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "simulated_cuda.h"

namespace cyclewatch::test {

class SimulatedLibrary {
  public:
    explicit SimulatedLibrary(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        EXPECT_NE(handle_, nullptr) << dlerror();
    }
    ~SimulatedLibrary() { dlclose(handle_); }
    SimulatedLibrary(const SimulatedLibrary&) = delete;
    SimulatedLibrary& operator=(const SimulatedLibrary&) = delete;

    template <typename Function>
    [[nodiscard]] Function* function(const char* name) const {
        auto* found = reinterpret_cast<Function*>(dlsym(handle_, name));
        EXPECT_NE(found, nullptr) << name;
        return found;
    }
    [[nodiscard]] simulated::SimulatedCuda& state() const {
        return *function<simulated::StateFunction>("cyclewatch_simulated_state")();
    }
    [[nodiscard]] simulated::ThreadState& thread() const {
        return *function<simulated::ThreadFunction>("cyclewatch_simulated_thread")();
    }

  private:
    void* handle_;
};

class SimulatedDriver : public SimulatedLibrary {
  public:
    SimulatedDriver() : SimulatedLibrary(CYCLEWATCH_SIMULATED_DRIVER) {}

    // As after the program's first use of the device on this thread.
    void start() const {
        state().initialised = true;
        state().primary_active = true;
        thread().context = simulated::Context::primary;
    }
    [[nodiscard]] void* allocate(std::size_t bytes,
                                 int kind = CU_MEMORYTYPE_DEVICE,
                                 bool managed = false) const {
        return function<simulated::AllocateFunction>("cyclewatch_simulated_allocate")(
            bytes, kind, managed);
    }
    void release(void* memory) const {
        EXPECT_TRUE(function<simulated::ReleaseFunction>("cyclewatch_simulated_release")(memory));
    }
    [[nodiscard]] int questions() const { return state().counters.questions; }
    // Not one trace of a question in what the program sees of CUDA.
    void expect_undisturbed() const {
        EXPECT_EQ(state().counters.captures_broken, 0);
        EXPECT_EQ(thread().capture_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    }
};

class SimulatedRuntime : public SimulatedLibrary {
  public:
    explicit SimulatedRuntime(const char* path = CYCLEWATCH_SIMULATED_CUDART)
        : SimulatedLibrary(path) {}

    [[nodiscard]] int questions() const { return state().counters.questions; }
    void expect_undisturbed(int pending = 0) const {
        EXPECT_EQ(state().counters.contexts_created, 0);
        EXPECT_EQ(state().counters.initialisations, 0);
        EXPECT_EQ(state().counters.drivers_wanted, 0);
        EXPECT_EQ(thread().last_error, pending);
    }
};

inline std::uint64_t address_of(const void* memory) {
    return reinterpret_cast<std::uint64_t>(memory);
}

}  // namespace cyclewatch::test
