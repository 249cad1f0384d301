// SPDX-License-Identifier: Apache-2.0
// The fields of a collection and its parts. See report_fields.h.
#pragma once

#include <tuple>

#include "format/field.h"
#include "model/observation.h"

namespace cyclewatch::format {

template <>
struct Fields<model::DeviceMemory> {
    using Self = model::DeviceMemory;
    static constexpr const char* name = "DeviceMemory";
    static constexpr const char* text =
        "Memory in use on one device before and after a collection.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(device, "The device: 'cuda:0', 'cpu'"),
        CYCLEWATCH_FIELD(used_before,
                         "Bytes in use before the collection freed the unreachable objects"),
        CYCLEWATCH_FIELD(used_after, "Bytes in use at the end of the collection"),
        CYCLEWATCH_FIELD(total, "Capacity of the device in bytes", {.unknown = "if unknown"}),
        CYCLEWATCH_FIELD(
            source,
            "Where the numbers come from: 'torch' (allocated by torch), 'cuda' (all used memory of "
            "the device) or 'process' (resident set size of the process)"),
        CYCLEWATCH_FIELD(unowned_bytes,
                         "Bytes that the collection freed in addition to the memory of tensors, "
                         "most likely saved for backward",
                         {.unknown = "if torch's allocator measured less than 1 MiB, or nothing"}),
    };
};

template <>
struct Fields<model::FindingPart> {
    using Self = model::FindingPart;
    static constexpr const char* name = "FindingPart";
    static constexpr const char* text = "The occurrences of one finding in one collection.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(signature, "Signature of the finding"),
        CYCLEWATCH_FIELD(occurrences, "Number of cycles that were unreachable"),
        CYCLEWATCH_FIELD(retained_bytes,
                         "Device bytes attributed to these cycles. The sum over all findings "
                         "counts each storage once."),
    };
};

template <>
struct Fields<model::CollectionRecord> {
    using Self = model::CollectionRecord;
    static constexpr const char* name = "Collection";
    static constexpr const char* text =
        "A garbage collection, or a scan, that found unreachable tensor owners or freed those of "
        "earlier scans.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(process, "Index of the process in `Report.processes`"),
        CYCLEWATCH_FIELD(
            number, "Position among all collections since the start of the watch, counted from 1"),
        CYCLEWATCH_FIELD(generation, "The generation, as in `gc.callbacks`"),
        CYCLEWATCH_FIELD(scan,
                         "True for a scan, which finds unreachable objects but frees nothing"),
        CYCLEWATCH_FIELD(started_at,
                         "Seconds from the start of the watch to the start of the collection"),
        CYCLEWATCH_FIELD(
            duration,
            "Duration of the collection in seconds, including the time spent in the watch"),
        CYCLEWATCH_FIELD(own_seconds,
                         "The part of `duration` that was spent in the watch, in seconds"),
        CYCLEWATCH_FIELD(
            dead_for_at_most,
            "Upper bound on the number of seconds for which the memory was unreachable: the time "
            "since the last collection that would have freed it"),
        CYCLEWATCH_FIELD(unreachable, "Number of objects that the collector found unreachable"),
        CYCLEWATCH_FIELD(owners,
                         "Number of unreachable tensor owners, except those of earlier scans"),
        CYCLEWATCH_FIELD(released_bytes,
                         "Device bytes that the collection freed, or that the scan found, counting "
                         "each storage once"),
        CYCLEWATCH_FIELD(step,
                         "The last step number passed to Watch.step() before the collection",
                         {.unknown = "if there was none", .none = -1}),
        CYCLEWATCH_FIELD(device_memory,
                         "Memory in use on the devices of the unreachable owners; empty if unknown "
                         "or if the watch had exceeded its budget"),
        CYCLEWATCH_FIELD(findings, "Up to 16 findings of this collection, largest first"),
        CYCLEWATCH_FIELD(
            note, "Why the results of this collection are incomplete; empty if they are complete"),
    };
};

}  // namespace cyclewatch::format
