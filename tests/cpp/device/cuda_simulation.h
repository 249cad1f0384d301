// SPDX-License-Identifier: Apache-2.0
// Loads the simulated CUDA libraries for one test, as the watched program would.
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
    [[nodiscard]] int queries() const { return state().counters.queries; }
    [[nodiscard]] bool finds(const char* name) const { return dlsym(handle_, name) != nullptr; }

  private:
    void* handle_;
};

class SimulatedRuntime : public SimulatedLibrary {
  public:
    explicit SimulatedRuntime(const char* path = CYCLEWATCH_SIMULATED_CUDART)
        : SimulatedLibrary(path) {}
    void expect_unaffected(int pending_error = 0) const {
        const simulated::Counters& counters = state().counters;
        EXPECT_EQ(counters.drivers_loaded, 0);
        EXPECT_EQ(counters.initializations, 0);
        EXPECT_EQ(counters.contexts_created, 0);
        EXPECT_EQ(thread().last_error, pending_error);
    }
};

class SimulatedDriver : public SimulatedLibrary {
  public:
    SimulatedDriver() : SimulatedLibrary(CYCLEWATCH_SIMULATED_DRIVER) {}

    // Sets the state after the program's first use of the device on this thread.
    void start() const {
        state().initialized = true;
        state().primary_active = true;
        thread().context = simulated::Context::current;
    }
    // The same in a program that creates its own context (PyCUDA).
    void start_without_runtime() const {
        state().initialized = true;
        thread().context = simulated::Context::other;
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
    void expect_unaffected() const {
        EXPECT_EQ(state().counters.captures_broken, 0);
        EXPECT_EQ(thread().capture_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    }
};

inline std::uint64_t address_of(const void* memory) {
    return reinterpret_cast<std::uint64_t>(memory);
}

}  // namespace cyclewatch::test
