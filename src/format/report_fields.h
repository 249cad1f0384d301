// SPDX-License-Identifier: Apache-2.0
// The fields of a report, listed once for the JSON writer and reader. A field has the same name in
// the file and in the model. A change to these lists changes the format, so update docs/formats/
// and, if necessary, model::kReportSchemaVersion.
#pragma once

#include <concepts>
#include <optional>
#include <string_view>
#include <type_traits>

#include "model/report.h"

namespace cyclewatch::format {

inline constexpr std::string_view kSchemaName = "cyclewatch-report";

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <typename T, typename Model>
concept Either = std::same_as<std::remove_const_t<T>, Model>;

// CYCLEWATCH_FIELDS(Type, a, b, ...) defines visit_fields(visit, object), which calls
// visit("a", object.a), visit("b", object.b) and so on, in file order. A field of type
// std::optional may be missing from the file.
#define CYCLEWATCH_FIELDS(Type, ...)                                   \
    void visit_fields(auto& visit, Either<model::Type> auto& object) { \
        CYCLEWATCH_SCAN(CYCLEWATCH_VISIT(__VA_ARGS__))                 \
    }                                                                  \
    static_assert(true, "for the semicolon")
// A macro does not expand recursively, so each expansion defers the rest of the list to the next
// scan. 64 scans allow 64 fields.
#define CYCLEWATCH_VISIT(field, ...) \
    visit(#field, object.field);     \
    __VA_OPT__(CYCLEWATCH_VISIT_REST CYCLEWATCH_NOTHING()()(__VA_ARGS__))
#define CYCLEWATCH_VISIT_REST() CYCLEWATCH_VISIT
#define CYCLEWATCH_NOTHING()
#define CYCLEWATCH_SCAN(...) \
    CYCLEWATCH_SCAN_16(CYCLEWATCH_SCAN_16(CYCLEWATCH_SCAN_16(CYCLEWATCH_SCAN_16(__VA_ARGS__))))
#define CYCLEWATCH_SCAN_16(...) \
    CYCLEWATCH_SCAN_4(CYCLEWATCH_SCAN_4(CYCLEWATCH_SCAN_4(CYCLEWATCH_SCAN_4(__VA_ARGS__))))
#define CYCLEWATCH_SCAN_4(...) \
    CYCLEWATCH_SCAN_1(CYCLEWATCH_SCAN_1(CYCLEWATCH_SCAN_1(CYCLEWATCH_SCAN_1(__VA_ARGS__))))
#define CYCLEWATCH_SCAN_1(...) __VA_ARGS__

CYCLEWATCH_FIELDS(ProgramInfo,
                  script,
                  pid,
                  rank,
                  python_version,
                  cyclewatch_version,
                  started_at,
                  strategy,
                  unexamined);

CYCLEWATCH_FIELDS(CensusTime, process, at, step);

CYCLEWATCH_FIELDS(GenerationTotals,
                  generation,
                  collections,
                  seconds,
                  share,
                  examined,
                  reclaimed,
                  freeing,
                  freeing_seconds,
                  freed_bytes);

CYCLEWATCH_FIELDS(Stats,
                  collections,
                  scans,
                  unreachable,
                  owners,
                  findings,
                  seconds,
                  collection_seconds,
                  elapsed,
                  skipped,
                  generations);

CYCLEWATCH_FIELDS(SourceExcerpt, first_line, line, start_column, end_column, lines);

CYCLEWATCH_FIELDS(Reference,
                  holder,
                  holder_path,
                  references,
                  label,
                  target,
                  location,
                  base_class,
                  reason,
                  raw_path,
                  payload,
                  source);

CYCLEWATCH_FIELDS(
    OwnerSummary, type, device, bytes, shape, dtype, path, count, allocated_at, allocation_stack);

CYCLEWATCH_FIELDS(Picture::Item, text, detail, on_cycle, owner, bytes, allocation_stack);

CYCLEWATCH_FIELDS(Picture::Arrow, from, to, label, on_cycle, cut);

CYCLEWATCH_FIELDS(Picture, items, arrows, omitted_items);

CYCLEWATCH_FIELDS(ProcessOccurrences, process, occurrences, retained_bytes, first_seen, first_step);

CYCLEWATCH_FIELDS(Variant, signature, name, title, location, occurrences, bytes);

CYCLEWATCH_FIELDS(Finding,
                  signature,
                  pattern,
                  title,
                  remedy,
                  advice,
                  cost,
                  status,
                  status_reason,
                  collected,
                  retained_bytes,
                  shared_bytes,
                  shared_with,
                  attributed_bytes,
                  occurrences,
                  largest_bytes,
                  byte_seconds,
                  cycle,
                  cut,
                  omitted_cuts,
                  tie,
                  freed_share,
                  alternatives,
                  owners,
                  omitted_owners,
                  variants,
                  omitted_variants,
                  picture,
                  first_seen,
                  last_seen,
                  dead_for_at_most,
                  first_collection,
                  collections,
                  scans,
                  by_process,
                  verdict,
                  note);

CYCLEWATCH_FIELDS(DeviceMemory, device, used_before, used_after, total, source);

CYCLEWATCH_FIELDS(MemoryBreakdown,
                  collection,
                  live,
                  dead,
                  torch_cache,
                  pool_used,
                  pool_cache,
                  graphs,
                  other,
                  free);

CYCLEWATCH_FIELDS(DeviceRecord,
                  process,
                  device,
                  name,
                  uuid,
                  pci_id,
                  total,
                  runtime_version,
                  driver_version,
                  error,
                  memory,
                  memory_now);

CYCLEWATCH_FIELDS(FindingPart, signature, occurrences, retained_bytes);

CYCLEWATCH_FIELDS(CollectionRecord,
                  process,
                  number,
                  generation,
                  scan,
                  started_at,
                  duration,
                  own_seconds,
                  dead_for_at_most,
                  unreachable,
                  owners,
                  released_bytes,
                  step,
                  device_memory,
                  findings,
                  note);

CYCLEWATCH_FIELDS(PathRoot, kind, text, location);

CYCLEWATCH_FIELDS(RetentionPath, root, references, cut, cut_frees, remedy, text);

CYCLEWATCH_FIELDS(LiveOwner, process, owner, bytes, category, held_by);

CYCLEWATCH_FIELDS(GrowingOwner,
                  process,
                  owner,
                  bytes,
                  held_by,
                  rate,
                  unit,
                  until_full,
                  census_bytes,
                  graph_nodes,
                  graph_nodes_rate,
                  remedy);

CYCLEWATCH_FIELDS(Report,
                  processes,
                  devices,
                  findings,
                  retained_bytes,
                  collections,
                  omitted_collections,
                  growing,
                  live_owners,
                  device_records,
                  censuses,
                  stats,
                  notes);

#undef CYCLEWATCH_FIELDS
#undef CYCLEWATCH_VISIT
#undef CYCLEWATCH_VISIT_REST
#undef CYCLEWATCH_NOTHING
#undef CYCLEWATCH_SCAN
#undef CYCLEWATCH_SCAN_16
#undef CYCLEWATCH_SCAN_4
#undef CYCLEWATCH_SCAN_1

}  // namespace cyclewatch::format
