// SPDX-License-Identifier: Apache-2.0
// One kind of reference cycle that kept device memory alive, and how to fix it. Contains only text
// and numbers, because a finding outlives the observation from which it was created.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/enum_words.h"
#include "model/ids.h"

namespace cyclewatch::model {

// The line of code at a location, with the lines around it.
struct SourceExcerpt {
    std::uint32_t first_line = 0;  // number of lines[0]
    std::uint32_t line = 0;        // number of the line at the location
    // The columns of the expression in that line, from 1, in code points; 0: unknown.
    std::uint32_t start_column = 0;
    std::uint32_t end_column = 0;  // after its last character
    std::vector<std::string> lines;

    friend bool operator==(const SourceExcerpt&, const SourceExcerpt&) = default;
};

// One reference of the collapsed graph.
struct Reference {
    std::string holder;    // "mymodel.Engine" or "function mymodel.Engine.__init__.<lambda>"
    std::string label;     // ".callbacks", "closure:self" ... (glossary: label grammar)
    std::string target;    // like holder
    std::string location;  // "path:line" of the code to change; "" if unknown
    std::string reason;    // of a cut: why; of an alternative: what it costs; otherwise ""
    std::vector<std::string> raw_path;  // the raw references it was collapsed from, in order
    bool payload = false;  // not on the cycle: cutting it frees the memory but keeps the cycle
    // If the holder of a cut or an alternative is a container or a method of a container, this is
    // the name of the reference that stores the container ("Registry._pairs"). If the holder of one
    // of several cuts is a bound method, this is the name of the reference that stores the method.
    // "" if unknown.
    std::string holder_path{};
    // If `location` is in a method that the class of the holder inherits, this is the base class
    // that defines the method; otherwise "".
    std::string base_class{};
    // For a cut, this is the number of references with this holder and label that the code at
    // `location` stores. All of these references must be cut.
    std::uint64_t references = 1;
    std::optional<SourceExcerpt> source{};  // of a cut or an alternative, if it could be read
    // True if code generated for the class stores the attribute, as in a dataclass. `location` is
    // then the location of the class or, once the source has been read, of the field. Not written
    // to files.
    bool is_generated = false;
    // The columns of the expression at `location`, from 0, in bytes of UTF-8. Not written to files.
    ColumnRange columns{};

    friend bool operator==(const Reference&, const Reference&) = default;
};

// One storage of the observation, and how many equal owners use it.
struct StorageShare {
    StorageId storage{};
    std::uint64_t owners = 0;

    friend bool operator==(const StorageShare&, const StorageShare&) = default;
};

struct OwnerSummary {
    std::string type;
    std::string device;
    std::uint64_t bytes = 0;  // size of its storage
    std::string shape;
    std::string dtype;
    std::string path;          // from the cycle to the owner: "Engine.weights['w']"
    std::uint64_t count = 1;   // equal owners (type, device, bytes, shape, dtype, path)
    std::string allocated_at;  // "path:line"; "" if not recorded
    // The call stack of the allocation, innermost first: "path:line in function", or "path:line" if
    // the function is unknown. Missing if not more than `allocated_at` is known.
    std::optional<std::vector<std::string>> allocation_stack{};
    // Emptied when the finding is stored, because the ids are valid only within one observation.
    std::vector<StorageShare> storages{};

    friend bool operator==(const OwnerSummary&, const OwnerSummary&) = default;
};

inline constexpr std::size_t kMaxPictureItems = 40;
inline constexpr std::size_t kMaxPictureArrows = 150;

// The part of the collapsed graph that is drawn, namely one cycle and the paths from the cycle to
// memory owners.
struct Picture {
    struct Item {
        std::string text;    // short name
        std::string detail;  // module-qualified name, location
        bool on_cycle = false;
        bool owner = false;
        std::uint64_t bytes = 0;                                     // owners only
        std::optional<std::vector<std::string>> allocation_stack{};  // as in OwnerSummary
        // True if the collector does not see all references of the object. Missing otherwise.
        std::optional<bool> hides_references{};

        friend bool operator==(const Item&, const Item&) = default;
    };
    struct Arrow {
        std::uint32_t from = 0;  // index into items
        std::uint32_t to = 0;
        std::string label;
        bool on_cycle = false;
        bool cut = false;

        friend bool operator==(const Arrow&, const Arrow&) = default;
    };
    std::vector<Item> items;
    std::vector<Arrow> arrows;
    std::uint64_t omitted_items = 0;  // left out because of the limit

    friend bool operator==(const Picture&, const Picture&) = default;
};

// Only findings with status `fresh` cause warnings and fail a test run. If two reports disagree on
// the status of a finding, the status that is listed first here is used.
enum class Status : std::uint8_t {
    fresh,    // spelled "new" in files and in Python
    known,    // in the baseline
    library,  // known leak of a library, which user code cannot fix
    benign,   // matches a pattern of harmless cycles
    ignored,  // suppressed by the user
};
inline constexpr std::array<std::string_view, 5> kStatusWords{
    "new", "known", "library", "benign", "ignored"};
constexpr Words words_of(Status) {
    return kStatusWords;
}

// The assessment of a finding by a person who reads the report.
enum class Verdict : std::uint8_t { none, bug, accepted, unclear };
inline constexpr std::array<std::string_view, 4> kVerdictWords{"", "bug", "accepted", "unclear"};
constexpr Words words_of(Verdict) {
    return kVerdictWords;
}

// Whether a collection has freed the memory of a finding. The value is `yes` for every cycle found
// by a collection. A scan, in contrast, finds cycles before their memory is freed.
enum class Collected : std::uint8_t {
    yes,
    not_yet,
    never,          // frozen by gc.freeze(), so that no collection frees it
    uncollectable,  // the cycle leads through C++ or a NumPy array, hidden from the collector
};
inline constexpr std::array<std::string_view, 4> kCollectedWords{
    "yes", "not yet", "never", "uncollectable"};
constexpr Words words_of(Collected) {
    return kCollectedWords;
}

// The occurrences of a finding in one process.
struct ProcessOccurrences {
    std::uint32_t process = 0;  // index into Report::processes
    std::uint64_t occurrences = 0;
    std::uint64_t retained_bytes = 0;
    double first_seen = 0;         // seconds since the watch started in that process
    std::int64_t first_step = -1;  // training step at that time; -1 if the program set none

    friend bool operator==(const ProcessOccurrences&, const ProcessOccurrences&) = default;
};

// One signature of a finding that was merged from several findings.
struct Variant {
    std::string signature;
    std::string name;      // the part that differs between variants: "F1Score"
    std::string title;     // like Finding::title
    std::string location;  // of the reference to cut; "" if unknown
    std::uint64_t occurrences = 0;
    std::uint64_t bytes = 0;  // retained and shared

    friend bool operator==(const Variant&, const Variant&) = default;
};

struct Finding {
    std::string signature;  // "cw1-" and 16 hexadecimal digits
    std::string pattern;    // "closure-captures-self" ...; "unknown" if none matches
    std::string title;      // "Engine.callbacks -> [0] -> <lambda>.closure:self -> Engine"
    std::string remedy;     // end of the headline: "cut <lambda>.closure:self (train.py:12)"
    std::string advice;     // how to change the code, one or two sentences; "" if unknown
    std::string cost;       // what that change costs: a clause; "" if unknown
    Status status = Status::fresh;
    std::string status_reason;             // "" if the status is fresh
    Collected collected = Collected::yes;  // the worst of all occurrences
    // Of the storages that scans have found in these cycles, those that still exist. Missing if all
    // were collected, or if an earlier version wrote the report.
    std::optional<std::uint64_t> uncollected_bytes;

    std::uint64_t retained_bytes = 0;  // kept alive by these cycles only, each storage once
    std::uint64_t shared_bytes = 0;    // also kept alive by something else, each storage once
    std::uint64_t shared_with = 0;     // number of findings that share them
    // retained_bytes plus the shared bytes attributed to this finding. Each storage is counted once
    // in the sum over all findings.
    std::uint64_t attributed_bytes = 0;
    // A tensor of the cycle is the result of operations that require grad, so that more memory,
    // saved for backward, may be freed with the cycle: at least this many bytes; 0 if unknown.
    // Measured by a collection, scan() or memory(). Missing if no tensor of the cycle has a graph.
    std::optional<std::uint64_t> unowned_bytes;
    std::uint64_t occurrences = 0;    // cycles with this signature
    std::uint64_t largest_bytes = 0;  // retained_bytes of the largest occurrence
    double byte_seconds = 0;          // sum of retained bytes times dead_for_at_most

    std::vector<Reference> cycle;  // in order; the target of the last is the first holder
    std::vector<Reference> cut;    // the reference to cut, or the smallest sufficient set
    // The number of kinds of references that must also be cut but are not listed in `cut`.
    std::uint64_t omitted_cuts = 0;
    bool tie = false;                     // alternatives[0] is as good as cut[0]
    double freed_share = 1;               // fraction of retained_bytes the cut frees; 0: unknown
    std::vector<Reference> alternatives;  // best first
    std::vector<OwnerSummary> owners;     // largest first, at most kMaxOwnersPerFinding
    std::uint64_t omitted_owners = 0;
    // One variant for each signature among the cycles that one code change fixes. Largest first, at
    // most kMaxVariants. Empty if there is only one signature.
    std::vector<Variant> variants;
    std::uint64_t omitted_variants = 0;
    Picture picture;

    double first_seen = 0;  // seconds since the watch started in the process that saw it
    double last_seen = 0;
    double dead_for_at_most = 0;         // seconds, upper bound of the time the memory was dead
    std::uint64_t first_collection = 0;  // CollectionRecord::number, maybe of a scan
    std::uint64_t collections = 0;       // number of collections with an occurrence
    // Number of scans with an occurrence. Missing if an earlier version wrote the report.
    std::optional<std::uint64_t> scans;
    std::vector<ProcessOccurrences> by_process;  // one per process, ascending

    // Entered by a person who reads the report, and stored in the report file. Never set by a
    // watch.
    Verdict verdict = Verdict::none;
    std::string note;

    friend bool operator==(const Finding&, const Finding&) = default;
};

inline constexpr std::size_t kMaxOwnersPerFinding = 32;
inline constexpr std::size_t kMaxVariants = 100;

// Finding::uncollected_bytes; if it is missing, everything that was not collected when it was
// found.
[[nodiscard]] inline std::uint64_t uncollected_bytes(const Finding& finding) {
    const bool is_collected = finding.collected == Collected::yes;
    return finding.uncollected_bytes.value_or(
        is_collected ? 0 : finding.retained_bytes + finding.shared_bytes);
}

// The bytes that are freed once this finding and all findings that share its memory are fixed.
[[nodiscard]] inline std::uint64_t reached_bytes(const Finding& finding) {
    return finding.retained_bytes + finding.shared_bytes;
}

// The order of findings in a report. Findings are ordered by reached_bytes(), then by retained
// bytes, both descending, then by signature.
[[nodiscard]] inline bool ranks_before(const Finding& a, const Finding& b) {
    return std::tuple(reached_bytes(b), b.retained_bytes, std::string_view(a.signature)) <
           std::tuple(reached_bytes(a), a.retained_bytes, std::string_view(b.signature));
}

}  // namespace cyclewatch::model
