// SPDX-License-Identifier: Apache-2.0
// The fields of the accounts of memory. See report_fields.h.
#pragma once

#include <tuple>

#include "format/field.h"
#include "format/retention_fields.h"
#include "model/collection_steps.h"
#include "model/memory_account.h"

namespace cyclewatch::format {

template <>
struct Fields<model::MemoryLine> {
    using Self = model::MemoryLine;
    static constexpr const char* name = "MemoryLine";
    static constexpr const char* text = "One use of the memory of a device.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(kind,
                         "The use in a word that does not change between versions: 'dead', "
                         "'parameter', 'cached'"),
        CYCLEWATCH_FIELD(use, "In words: 'dead in 2 cycles (a collection frees them)'"),
        CYCLEWATCH_FIELD(bytes,
                         "The size. Negative for tensors that are not resident, for example "
                         "because they have not been written to."),
    };
};

template <>
struct Fields<model::MemoryAccount> {
    using Self = model::MemoryAccount;
    static constexpr const char* name = "MemoryAccount";
    static constexpr const char* text =
        "What the memory in use on a device was used for, as returned by :func:`memory`.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(process, "Index of the process in `Report.processes`"),
        CYCLEWATCH_FIELD(device, "The device: 'cuda:0', 'cpu'"),
        CYCLEWATCH_FIELD(occasion,
                         "Why it was measured: 'request' (a call to :func:`memory`), 'out of "
                         "memory' or 'end' (of the program)"),
        CYCLEWATCH_FIELD(at, "Seconds from the start of the watch to the measurement"),
        CYCLEWATCH_FIELD(step,
                         "The last step number passed to Watch.step() before the measurement",
                         {.unknown = "if there was none", .none = -1}),
        CYCLEWATCH_FIELD(in_use, "The bytes in use; the sum of `lines`"),
        CYCLEWATCH_FIELD(total,
                         "The capacity of the device or the limit of the process, in bytes",
                         {.unknown = "if unknown"}),
        CYCLEWATCH_FIELD(source, "How `in_use` was measured, such as 'resident memory'"),
        CYCLEWATCH_FIELD(peak,
                         "The most bytes that torch had allocated at one time or, for the CPU, the "
                         "largest resident memory",
                         {.unknown = "if unknown"}),
        CYCLEWATCH_FIELD(
            headline, "The verdict: the bytes in use, what most of them are, and what to do next"),
        CYCLEWATCH_FIELD(lines, "What the memory was used for"),
        CYCLEWATCH_FIELD(signatures,
                         "The signatures of the findings for the dead cycles, which are not "
                         "necessarily part of the report"),
        CYCLEWATCH_FIELD(holders, "The largest groups of reachable tensors, largest first"),
        CYCLEWATCH_FIELD(notes,
                         "Sentences that describe what was not examined, such as large autograd "
                         "graphs"),
    };
};

template <>
struct Fields<model::CategorySizes> {
    using Self = model::CategorySizes;
    static constexpr const char* name = "CategorySizes";
    static constexpr const char* text =
        "The bytes of the reachable tensors on a device in a census, by category.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(step,
                         "The last step number passed to Watch.step() before the census",
                         {.unknown = "if there was none", .none = -1}),
        CYCLEWATCH_FIELD(at, "Seconds from the start of the watch to the census"),
        CYCLEWATCH_FIELD(parameter, "Parameters"),
        CYCLEWATCH_FIELD(gradient, "Gradients"),
        CYCLEWATCH_FIELD(optimizer_state, "State of optimizers"),
        CYCLEWATCH_FIELD(saved_for_backward, "Tensors held by autograd graphs"),
        CYCLEWATCH_FIELD(activation, "Tensors computed from a tensor that requires a gradient"),
        CYCLEWATCH_FIELD(other, "Other tensors, including those that only C++ code holds"),
    };
};

template <>
struct Fields<model::MemorySteps> {
    using Self = model::MemorySteps;
    static constexpr const char* name = "MemorySteps";
    static constexpr const char* text =
        "The memory in use on a device in the steps of a process, in columns. For a long run, the "
        "columns are a sample: the steps are divided into groups of equal size, and each entry is "
        "the step of its group with the most memory in use. Of steps that take less than a few "
        "milliseconds, only some are recorded.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(process, "Index of the process in `Report.processes`"),
        CYCLEWATCH_FIELD(device, "The device: 'cuda:0', 'cpu'"),
        CYCLEWATCH_FIELD(steps, "The numbers passed to Watch.step()"),
        CYCLEWATCH_FIELD(times, "Seconds from the start of the watch to the step"),
        CYCLEWATCH_FIELD(in_use,
                         "Bytes reserved by torch's allocator or, for the CPU, resident memory"),
        CYCLEWATCH_FIELD(allocated, "Bytes allocated by torch's allocator; 0 for the CPU"),
        CYCLEWATCH_FIELD(peak,
                         "The most bytes that torch had allocated at one time, since the start or "
                         "``torch.cuda.reset_peak_memory_stats()``",
                         {.unknown = "for the CPU"}),
        CYCLEWATCH_FIELD(dead, "Bytes of unreachable tensors that scans had found"),
        CYCLEWATCH_FIELD(censuses, "The sizes by category, exact, in the censuses"),
    };
};

template <>
struct Fields<model::CollectionSteps> {
    using Self = model::CollectionSteps;
    static constexpr const char* name = "CollectionSteps";
    static constexpr const char* text =
        "The time that the collections of a process took in each step, in columns, with an entry "
        "for each step in which a collection ran. If the program starts to count again, the steps "
        "before are left out.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(process, "Index of the process in `Report.processes`"),
        CYCLEWATCH_FIELD(first_step, "The first number passed to Watch.step()"),
        CYCLEWATCH_FIELD(last_step, "The last number passed to Watch.step()"),
        CYCLEWATCH_FIELD(elapsed,
                         "Seconds from the start of the first step to the start of the last"),
        CYCLEWATCH_FIELD(every,
                         "The columns are a sample of one in this number of steps, which is the "
                         "same on all ranks. 1 if all steps are included."),
        CYCLEWATCH_FIELD(shorter_than,
                         "Steps in which the collections took less than this number of seconds are "
                         "left out; 0 if none are"),
        CYCLEWATCH_FIELD(steps, "The numbers passed to Watch.step()"),
        CYCLEWATCH_FIELD(seconds,
                         "Seconds that the collections took, including the time spent in the "
                         "watch"),
        CYCLEWATCH_FIELD(freed_bytes,
                         "Device bytes that the collections freed on the watched devices"),
    };
};

template <>
struct Fields<model::MemorySamples> {
    using Self = model::MemorySamples;
    static constexpr const char* name = "MemorySamples";
    static constexpr const char* text =
        "The memory in use on a device over the time of a process, in columns, sampled about ten "
        "times a second. For a run of more than a minute, each entry covers several samples.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(process, "Index of the process in `Report.processes`"),
        CYCLEWATCH_FIELD(device, "The device: 'cuda:0', 'cpu'"),
        CYCLEWATCH_FIELD(source,
                         "What is counted: 'allocated by torch', 'allocated with malloc()' or, if "
                         "the program uses another allocator, 'resident memory'"),
        CYCLEWATCH_FIELD(times,
                         "Seconds from the start of the watch to the first sample of the entry"),
        CYCLEWATCH_FIELD(lowest, "The smallest number of bytes among the samples of the entry"),
        CYCLEWATCH_FIELD(highest, "The largest number of bytes among the samples of the entry"),
    };
};

}  // namespace cyclewatch::format
