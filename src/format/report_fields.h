// SPDX-License-Identifier: Apache-2.0
// The fields of a report, each declared once, here and in the headers included below. The JSON
// writer and reader and the properties in Python use these lists. scripts/report_fields.py writes
// the JSON schema, the viewer's types and the type stub from them. A change to these lists changes
// the format, so update docs/formats/report_json.md and, if necessary, model::kReportSchemaVersion.
#pragma once

#include <string_view>
#include <tuple>

#include "format/field.h"
#include "format/finding_fields.h"
#include "format/memory_fields.h"
#include "format/observation_fields.h"
#include "format/retention_fields.h"
#include "model/report.h"

namespace cyclewatch::format {

inline constexpr std::string_view kSchemaName = "cyclewatch-report";

template <>
struct Fields<model::ProgramInfo> {
    using Self = model::ProgramInfo;
    static constexpr const char* name = "Program";
    static constexpr const char* text = "A process that was watched.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(
            script, "Name of the script, without directory and suffix; empty if there is none"),
        CYCLEWATCH_FIELD(pid, "The process id"),
        CYCLEWATCH_FIELD(
            rank,
            "Rank in the job: of torch.distributed if the program initialized it, else "
            "the environment variable RANK",
            {.unknown = "if the process is not a rank", .none = -1}),
        CYCLEWATCH_FIELD(python_version, "Version of CPython: '3.11.9'"),
        CYCLEWATCH_FIELD(cyclewatch_version, "Version of cyclewatch"),
        CYCLEWATCH_FIELD(
            started_at,
            "Start time of the watch, in UTC and ISO 8601 format: '2026-01-31T12:00:00.000Z'"),
        CYCLEWATCH_FIELD(strategy,
                         "How unreachable objects were found: 'ride-along' or 'heap-scan'"),
        CYCLEWATCH_FIELD(
            unexamined,
            "The objects that nothing had examined when the report was written; empty if a scan or "
            "a full collection examined all objects at the end of the watch",
            {.unknown = "if an earlier version wrote the report"}),
        CYCLEWATCH_FIELD(world_size,
                         "Number of ranks of the job: of torch.distributed if the program "
                         "initialized it, else the environment variable WORLD_SIZE",
                         {.unknown = "if the process is not a rank: also if a rank started it"}),
        CYCLEWATCH_FIELD(host,
                         "A hash of the name of the machine, of 16 hexadecimal digits, which "
                         "tells the processes of several machines apart",
                         {.unknown = "if an earlier version wrote the report"}),
        CYCLEWATCH_FIELD(elapsed,
                         "Seconds from the start of the watch to the report, or to the end of the "
                         "watch",
                         {.unknown = "if an earlier version wrote the report"}),
    };
};

template <>
struct Fields<model::CensusTime> {
    using Self = model::CensusTime;
    static constexpr const char* name = "CensusTime";
    static constexpr const char* text = "When the latest census of a process was taken.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(process, "Index of the process in `Report.processes`"),
        CYCLEWATCH_FIELD(at, "Seconds from the start of the watch to the census"),
        CYCLEWATCH_FIELD(step,
                         "The last step number passed to Watch.step() before the census",
                         {.unknown = "if there was none", .none = -1}),
    };
};

template <>
struct Fields<model::GenerationTotals> {
    using Self = model::GenerationTotals;
    static constexpr const char* name = "GenerationTotals";
    static constexpr const char* text =
        "All collections of one generation; in a merged report, of all processes.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(generation, "The generation, as in `gc.callbacks`"),
        CYCLEWATCH_FIELD(collections, "Number of collections"),
        CYCLEWATCH_FIELD(
            seconds,
            "Total time of the collections in seconds, excluding the time spent in the watch"),
        CYCLEWATCH_FIELD(share, "`seconds` divided by the duration of the watch"),
        CYCLEWATCH_FIELD(examined,
                         "Number of objects that the collections examined",
                         {.unknown = "before CPython 3.15, which counts them"}),
        CYCLEWATCH_FIELD(reclaimed, "Number of objects that the collections freed"),
        CYCLEWATCH_FIELD(freeing, "Number of collections that freed device memory"),
        CYCLEWATCH_FIELD(
            freeing_seconds,
            "The part of `seconds` that was spent in collections that freed device memory"),
        CYCLEWATCH_FIELD(freed_bytes,
                         "Device bytes that the collections freed on the watched devices, counting "
                         "each storage once"),
    };
};

template <>
struct Fields<model::Stats> {
    using Self = model::Stats;
    static constexpr const char* name = "Stats";
    static constexpr const char* text =
        "Statistics of a watch; in a merged report, of all processes.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(collections, "Number of collections"),
        CYCLEWATCH_FIELD(scans, "Number of scans without a collection"),
        CYCLEWATCH_FIELD(unreachable, "Number of unreachable objects"),
        CYCLEWATCH_FIELD(owners, "Number of unreachable tensor owners"),
        CYCLEWATCH_FIELD(suspected_bytes,
                         "Size of the storages in bytes that the last search for never freed "
                         "memory found, but that are reported only if further searches find them",
                         {.unknown = "if there are none"}),
        CYCLEWATCH_FIELD(findings, "Number of distinct findings"),
        CYCLEWATCH_FIELD(seconds,
                         "Seconds spent in the watch during collections, scans and censuses"),
        CYCLEWATCH_FIELD(
            collection_seconds,
            "Total time of all collections in seconds, including the time spent in the watch"),
        CYCLEWATCH_FIELD(elapsed, "Seconds since the start of the watch"),
        CYCLEWATCH_FIELD(skipped, "The number of omissions, by reason"),
        CYCLEWATCH_FIELD(
            generations,
            "The totals of all collections by generation, youngest first. Scans are not included.",
            {.python = kNotInPython}),
    };
};

template <>
struct Fields<model::MemoryBreakdown> {
    using Self = model::MemoryBreakdown;
    static constexpr const char* name = "MemoryBreakdown";
    static constexpr const char* text =
        "What the memory of a CUDA device was used for, in bytes. The values of all attributes "
        "except `collection` add up to `DeviceRecord.total`.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(collection,
                         "`Collection.number` of the collection before which the memory was "
                         "divided in this way"),
        CYCLEWATCH_FIELD(live, "Allocated by torch, without `dead`"),
        CYCLEWATCH_FIELD(dead, "Used by unreachable tensors"),
        CYCLEWATCH_FIELD(torch_cache, "Reserved by torch's allocator but not allocated"),
        CYCLEWATCH_FIELD(pool_used,
                         "Allocated with `cudaMallocAsync()` by other libraries than torch"),
        CYCLEWATCH_FIELD(pool_cache, "Reserved for `cudaMallocAsync()` but not allocated"),
        CYCLEWATCH_FIELD(graphs, "Reserved for allocations in captured graphs"),
        CYCLEWATCH_FIELD(other,
                         "Everything else in use: CUDA contexts, allocations by other libraries, "
                         "and other processes"),
        CYCLEWATCH_FIELD(free, "Not in use"),
    };
};

template <>
struct Fields<model::DeviceRecord> {
    using Self = model::DeviceRecord;
    static constexpr const char* name = "DeviceRecord";
    static constexpr const char* text = "A CUDA device that contained unreachable tensors.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(process, "Index of the process in `Report.processes`"),
        CYCLEWATCH_FIELD(device, "The device: 'cuda:0'"),
        CYCLEWATCH_FIELD(name, "The device's name: 'NVIDIA H100 80GB HBM3'"),
        CYCLEWATCH_FIELD(
            uuid, "The UUID without the prefix that nvidia-smi prints", {.unknown = "if unknown"}),
        CYCLEWATCH_FIELD(pci_id, "The PCI id: '0000:65:00.0'"),
        CYCLEWATCH_FIELD(total, "Capacity in bytes"),
        CYCLEWATCH_FIELD(runtime_version,
                         "Version of the CUDA runtime: 13000 for CUDA 13.0",
                         {.unknown = "if the program uses only the driver API"}),
        CYCLEWATCH_FIELD(driver_version,
                         "The newest CUDA version that the driver supports: 13010 for CUDA 13.1"),
        CYCLEWATCH_FIELD(error,
                         "Name of the CUDA error that was pending before a collection: "
                         "'cudaErrorIllegalAddress'",
                         {.unknown = "if there was none"}),
        CYCLEWATCH_FIELD(memory,
                         "What the memory was used for before the collection that freed the most",
                         {.unknown = "if unknown"}),
        CYCLEWATCH_FIELD(
            memory_now,
            "What the memory was used for when the report was created or the watch stopped. `dead` "
            "is 0: tensors that became unreachable after the last collection are part of `live`.",
            {.unknown = "if unknown"}),
    };
};

template <>
struct Fields<model::StorageAddresses> {
    using Self = model::StorageAddresses;
    static constexpr const char* name = "StorageAddresses";
    static constexpr const char* text =
        "Storages on a CUDA device that have the same size, and the same finding or equivalent "
        "paths.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(device, "The device: 'cuda:0'"),
        CYCLEWATCH_FIELD(bytes, "Size of each storage in bytes"),
        CYCLEWATCH_FIELD(at,
                         "Seconds from the start of the watch to the search or census that found "
                         "the storages; if `freed`, to when they were found to be freed"),
        CYCLEWATCH_FIELD(freed, "True if the storages were unreachable and have been freed"),
        CYCLEWATCH_FIELD(signature,
                         "The signature of the finding, which may be that of a Variant; empty for "
                         "reachable storages"),
        CYCLEWATCH_FIELD(category, "As in LiveOwner, for reachable storages; otherwise empty"),
        CYCLEWATCH_FIELD(addresses, "The addresses on the device"),
        CYCLEWATCH_FIELD(paths,
                         "For each address, the path to the reachable owner, as Path.text; empty "
                         "if the storages are unreachable"),
    };
};

template <>
struct Fields<model::Report> {
    using Self = model::Report;
    static constexpr const char* name = "Report";
    static constexpr const char* text = "The result of a watch.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(processes,
                         "The watched processes. In a merged report, they are ordered by rank, "
                         "then pid. Never empty."),
        CYCLEWATCH_FIELD(devices, "The watched devices, as passed by the user"),
        CYCLEWATCH_FIELD(findings,
                         "The findings, sorted by `retained_bytes + shared_bytes`, largest first"),
        CYCLEWATCH_FIELD(
            retained_bytes,
            "Device bytes of all unreachable tensor owners, counting each storage once"),
        CYCLEWATCH_FIELD(
            collections,
            "The collections and scans that found tensor owners, ordered by process and time. For "
            "a long run, the list is a sample: the collections are divided into groups of equal "
            "size, and each entry is the collection that freed the most memory in its group."),
        CYCLEWATCH_FIELD(
            omitted_collections,
            "Number of collections and scans that found tensor owners but are not listed"),
        CYCLEWATCH_FIELD(growing,
                         "Groups of tensors whose memory use rose at 3 or more of the last 5 "
                         "censuses, fastest-growing first; at most 100 for each process",
                         {.unknown = "if the watch took no census"}),
        CYCLEWATCH_FIELD(live_owners,
                         "The largest groups of reachable tensors in the last census or when "
                         "`cyclewatch attach` ran, largest first; at most 100 for each process",
                         {.unknown = "if there was neither"}),
        CYCLEWATCH_FIELD(
            device_records,
            "The CUDA devices that contained unreachable tensors, ordered by process and device",
            {.unknown = "if CUDA was not in use or could not be queried"}),
        CYCLEWATCH_FIELD(censuses,
                         "When `growing` and `live_owners` were recorded, one entry for each "
                         "process that took a census",
                         {.unknown = "if there was no census"}),
        CYCLEWATCH_FIELD(memory,
                         "What the memory in use was used for when the program called "
                         ":func:`memory`, ran out of memory or ended; for each process, the latest "
                         "account of each device and occasion. If the reports of more than 16 "
                         "processes are merged, without `holders`.",
                         {.unknown = "if no account was recorded", .python = kNotInPython}),
        CYCLEWATCH_FIELD(
            memory_steps,
            "The memory in use in the steps of the program, by process and device",
            {.unknown = "if the program did not call Watch.step()", .python = kNotInPython}),
        CYCLEWATCH_FIELD(
            collection_steps,
            "The time that collections took in the steps of the program, by process",
            {.unknown = "if the program did not call Watch.step()", .python = kNotInPython}),
        CYCLEWATCH_FIELD(
            memory_samples,
            "The memory in use over time, by process and device, sampled while a "
            "watch with report files was active",
            {.unknown = "if there are too few samples for a chart", .python = kNotInPython}),
        CYCLEWATCH_FIELD(
            addresses,
            "The addresses of storages on CUDA devices, for ``cyclewatch snapshot --owners``: for "
            "each process, at most 1,000 of reachable owners, the largest first, 1,000 of "
            "unreachable owners and the last 1,000 that were freed",
            {.unknown = "if there are none, and if the report covers several processes",
             .python = kNotInPython}),
        CYCLEWATCH_FIELD(
            missing_ranks,
            "Ranks of the job of which a merged report has no data, because they wrote or sent no "
            "report, or none that can be read, in ascending order",
            {.unknown = "if no rank is missing"}),
        CYCLEWATCH_FIELD(stats, "Statistics of the watch when the report was created"),
        CYCLEWATCH_FIELD(notes,
                         "Sentences that describe which data was truncated or skipped",
                         {.python = kNotInPython}),
    };
};

}  // namespace cyclewatch::format
