// SPDX-License-Identifier: Apache-2.0
#include "device/torch_history.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <optional>
#include <vector>

#include "support/embedded_python.h"

namespace cyclewatch::device {
namespace {

// Fake torch modules. `answer` is the source of the snapshot's result.
constexpr const char* kTorch = R"(
import sys, types
calls = []

def module(name):
    sys.modules[name] = types.ModuleType(name)
    return sys.modules[name]

def history():
    calls.append('history')
    return eval(enabled)

def snapshot():
    calls.append('snapshot')
    return eval(answer)

def event(action, time, size=64, address=0x1000, frames=None):
    entry = {'action': action, 'addr': address, 'size': size, 'stream': 0, 'time_us': time}
    return entry if frames is None else {**entry, 'frames': frames}

def call(file, line):
    return {'name': 'f', 'filename': file, 'line': line}

def traces(*frames):
    return [event('segment_alloc', 1), event('alloc', 2, frames=list(frames)),
            event('free_requested', now), event('free_completed', now)]

def import_torch():
    native = module('torch._C')
    native._cuda_memoryStats = {0: {'allocated_bytes': {'all': {'current': 8}}}}.__getitem__
    native._cuda_isHistoryEnabled = history
    module('torch.cuda.memory')._snapshot = snapshot

enabled, answer, now = 'True', 'None', 0
)";

class TorchHistoryTest : public ::testing::Test {
  protected:
    TorchHistoryTest() {
        storage.address = 0x1000;
        storage.bytes = 64;
        storage.unreachable = storage.settled = WallTime::now();
        let("now", std::to_string(storage.unreachable.microseconds));
        let("import_torch()");
    }
    ~TorchHistoryTest() override {
        EXPECT_EQ(test::take_python_error(), "");
        let("[sys.modules.pop(n) for n in ('torch._C', 'torch.cuda.memory')]");
    }

    void let(const std::string& expression) { (void)torch.eval(expression); }
    void let(const std::string& name, const std::string& value) {
        PyDict_SetItemString(torch.names(), name.c_str(), torch.eval(value));
    }
    // Reads a snapshot whose device_traces contain `source`.
    HistoryReading read(const std::string& source) {
        let("answer", "\"{'segments': [], 'device_traces': [" + source + "]}\"");
        return read_torch_history({&storage, 1});
    }
    [[nodiscard]] bool was_called() { return PyObject_IsTrue(torch.eval("len(calls) > 0")) == 1; }

    test::PythonScript torch{kTorch};
    CollectedStorage storage;
};

TEST_F(TorchHistoryTest, ReadsOnlyTheDeviceOfTheStorage) {
    storage.device = 1;
    EXPECT_EQ(read("traces(call('/a.py', 1))").sites[0], base::CallSite{});
    EXPECT_EQ(read("[], traces(call('/a.py', 1))").sites[0], (base::CallSite{"/a.py", 1}));
}

TEST_F(TorchHistoryTest, IgnoresInvalidEntries) {
    for (const char* odd :
         {"7",
          "[7, None, {}, {'addr': -1}, {'addr': 2 ** 70}, {'addr': '1'}]",
          "[{'addr': 0x1000}, {'addr': 0x1000, 'action': 7}]",
          "[{k: None for k in e} for e in traces(call('/a.py', 1))]",
          "[{**e, 'time_us': 2 ** 64} for e in traces(call('/a.py', 1))]",
          "[{**e, 'frames': 7} for e in traces()]",
          "traces(7, None, {}, {'filename': '/a.py'}, {'filename': 7, 'line': 1})",
          "traces(call('/a\\\\udc80.py', 1), call('/b.py', -1), call('/c.py', 0))"}) {
        const HistoryReading reading = read(odd);
        EXPECT_EQ(reading.failure, "") << odd;
        EXPECT_EQ(reading.sites[0], base::CallSite{}) << odd;
        EXPECT_EQ(test::take_python_error(), "") << odd;
    }
}

TEST_F(TorchHistoryTest, LeavesAnInterruptPending) {
    let("answer", "'(_ for _ in ()).throw(KeyboardInterrupt)'");
    const HistoryReading reading = read_torch_history({&storage, 1});
    EXPECT_TRUE(reading.interrupted);
    EXPECT_EQ(test::take_python_error(), "KeyboardInterrupt()");
}

TEST_F(TorchHistoryTest, IsNotCalledInAForkedChild) {
    (void)torch_records_history(0);
    let("calls.clear()");
    const pid_t child = fork();
    if (child == 0) {
        _exit(torch_records_history(0) || was_called() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

constexpr std::uint64_t kBytes = 4096;
// The collection starts to free objects at kUnreachable and ends at kSettled.
constexpr std::int64_t kUnreachable = 10'000;
constexpr std::int64_t kSettled = 20'000;
constexpr std::int64_t kNever = INT64_MAX;
constexpr auto kNone = std::nullopt;

MemoryEvent allocated(std::int64_t time, std::uint64_t bytes = kBytes) {
    return {MemoryEvent::Kind::allocated, bytes, time};
}

MemoryEvent freed(std::int64_t time) {
    return {MemoryEvent::Kind::freed, kBytes, time};
}

struct Case {
    const char* name;
    std::vector<MemoryEvent> events;
    std::optional<std::size_t> expected;
    bool released = true;
};

TEST(AllocationOf, FindsTheAllocationThatTheCollectionFreed) {
    const Case cases[] = {
        {"freed by the collection", {allocated(1), freed(15'000)}, 0},
        {"earlier and later allocations",
         {allocated(1), freed(2), allocated(3), freed(15'000), allocated(30'000), freed(31'000)},
         2},
        {"reused by a finalizer during the sweep",
         {allocated(1), freed(12'000), allocated(13'000), freed(14'000)},
         0},
        {"free request and completion", {allocated(1), freed(15'000), freed(40'000)}, 0},
        {"no events", {}, kNone},
        {"allocation not recorded", {freed(15'000), allocated(30'000)}, kNone},
        {"free not recorded", {allocated(1)}, kNone},
        {"free not recorded before reuse", {allocated(1), allocated(15'000), freed(16'000)}, kNone},
        {"freed too early", {allocated(1), freed(kUnreachable - 101)}, kNone},
        {"freed too late", {allocated(1), freed(kSettled + 101)}, kNone},
        {"early within the error", {allocated(1), freed(kUnreachable - 99)}, 0},
        {"late within the error", {allocated(1), freed(kSettled + 99)}, 0},
        {"two candidates",
         {allocated(1), freed(kUnreachable - 50), allocated(kUnreachable - 20), freed(15'000)},
         kNone},
        {"other size", {allocated(1, kBytes - 1), freed(15'000)}, kNone},
        {"no time", {allocated(kNever), freed(kNever)}, kNone},
        {"not released", {allocated(1)}, 0, false},
        {"not released, freed later", {allocated(1), freed(30'000)}, 0, false},
        {"not released, but freed", {allocated(1), freed(15'000)}, kNone, false},
        {"not released, allocated later", {allocated(30'000)}, kNone, false},
        {"not released, no time", {allocated(kNever)}, kNone, false},
    };
    for (const Case& each : cases) {
        const CollectedStorage storage{.device = 0,
                                       .address = 0x1000,
                                       .bytes = kBytes,
                                       .released = each.released,
                                       .unreachable = {kUnreachable},
                                       .settled = {kSettled}};
        EXPECT_EQ(allocation_of(storage, each.events), each.expected) << each.name;
    }
}

}  // namespace
}  // namespace cyclewatch::device
