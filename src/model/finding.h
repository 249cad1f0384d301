// SPDX-License-Identifier: Apache-2.0
// One reference cycle that kept device memory alive, with everything a reader needs to end it.
// Self-contained text and numbers: it outlives the observation it came from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/enum_words.h"
#include "model/ids.h"

namespace cyclewatch::model {

// One reference of the collapsed graph, from a holder to a target.
struct Reference {
    std::string holder;    // "mymodel.Engine" or "function mymodel.Engine.__init__.<lambda>"
    std::string label;     // ".callbacks", "closure:self" ... (glossary: label grammar)
    std::string target;    // like holder
    std::string location;  // "path:line" of the code to change; "" if not known
    std::string reason;    // of the cut: why; of an alternative: what it costs; otherwise ""
    std::vector<std::string> raw_path;  // the raw references this one stands for, in order
    bool payload = false;  // true: off the cycle; cutting it keeps the cycle and drops the memory

    friend bool operator==(const Reference&, const Reference&) = default;
};

// How many of an owner's equals are over one storage of the observation it came from.
struct StorageShare {
    StorageId storage{};
    std::uint64_t owners = 0;

    friend bool operator==(const StorageShare&, const StorageShare&) = default;
};

struct OwnerSummary {
    std::string type;
    std::string device;
    std::uint64_t bytes = 0;  // of its storage
    std::string shape;
    std::string dtype;
    std::string path;          // how the cycle reaches it: "Engine.weights['w']"
    std::uint64_t count = 1;   // equal owners (type, device, bytes, shape, dtype, path)
    std::string allocated_at;  // "path:line"; "" if that was not recorded
    // Until the finding is stored; then empty, for the observation is gone.
    std::vector<StorageShare> storages;

    friend bool operator==(const OwnerSummary&, const OwnerSummary&) = default;
};

// The condensed collapsed graph of one cycle and what hangs off it, ready to be drawn.
struct Picture {
    struct Item {
        std::string text;    // short name
        std::string detail;  // module-qualified name, location
        bool on_cycle = false;
        bool owner = false;
        std::uint64_t bytes = 0;  // of an owner

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
    std::uint64_t omitted_items = 0;  // left out by the cap

    friend bool operator==(const Picture&, const Picture&) = default;
};

// Whether a finding is news to its user. Only one that is warns, and fails a run that is to fail.
// In the order in which one outweighs the other where two reports disagree.
enum class Status : std::uint8_t {
    fresh,    // nobody said anything about it
    known,    // in the baseline
    library,  // a known leak of a library: nothing the user's own code can end
    benign,   // a pattern that costs nothing
    ignored,  // the user said so
};
inline constexpr std::array<std::string_view, 5> kStatusWords{
    "new", "known", "library", "benign", "ignored"};
constexpr Words words_of(Status) {
    return kStatusWords;
}

// What a person who read the finding thinks of it.
enum class Verdict : std::uint8_t { none, bug, accepted, unclear };
inline constexpr std::array<std::string_view, 4> kVerdictWords{"", "bug", "accepted", "unclear"};
constexpr Words words_of(Verdict) {
    return kVerdictWords;
}

// What one process saw of a finding.
struct ProcessOccurrences {
    std::uint32_t process = 0;  // index into Report::processes
    std::uint64_t occurrences = 0;
    std::uint64_t retained_bytes = 0;
    double first_seen = 0;         // seconds since that process's watch began
    std::int64_t first_step = -1;  // the program's own step then; -1: it named none

    friend bool operator==(const ProcessOccurrences&, const ProcessOccurrences&) = default;
};

// The cycles of one signature in a finding that was merged from several.
struct Variant {
    std::string signature;
    std::string name;      // short name of the object that tells it apart: "F1Score"
    std::string title;     // like Finding::title
    std::string location;  // of the change that ends it; "" if not known
    std::uint64_t occurrences = 0;
    std::uint64_t bytes = 0;  // held and shared

    friend bool operator==(const Variant&, const Variant&) = default;
};

struct Finding {
    std::string signature;  // "cw1-" and 16 hexadecimal digits
    std::string pattern;    // "closure-captures-self" ...; "unknown" if none fits
    std::string title;      // "Engine.callbacks -> [0] -> <lambda>.closure:self -> Engine"
    std::string remedy;     // "cut <lambda>.closure:self (train.py:12)": ends the headline
    std::string advice;     // what to write instead, a sentence or two; "" if nothing is known
    Status status = Status::fresh;
    std::string status_reason;  // why it has that status, in words; "" for a fresh one

    std::uint64_t retained_bytes = 0;  // only this component kept them, each storage once
    std::uint64_t shared_bytes = 0;    // other components kept them too, each storage once
    std::uint64_t shared_with = 0;     // findings that the shared bytes are shared with
    // retained_bytes and those of the shared bytes that are attributed to this finding and not to
    // another one: summed over findings, each storage counts once.
    std::uint64_t attributed_bytes = 0;
    std::uint64_t occurrences = 0;    // cycles with this signature
    std::uint64_t largest_bytes = 0;  // retained_bytes of the largest occurrence
    double byte_seconds = 0;  // retained bytes times the seconds they waited at most, summed

    std::vector<Reference> cycle;  // in order; the target of the last is the first holder
    std::vector<Reference> cut;    // the reference to cut, or the smallest set that works
    // Kinds of references that must go as well and are not in `cut`, if many lead back to one
    // owner.
    std::uint64_t omitted_cuts = 0;
    bool tie = false;                     // true: either cut[0] or alternatives[0]
    double freed_share = 1;               // of retained_bytes, by the cut alone; 0: not known
    std::vector<Reference> alternatives;  // next best first
    std::vector<OwnerSummary> owners;     // largest first, at most kMaxOwnersPerFinding
    std::uint64_t omitted_owners = 0;
    // Cycles of several signatures that one change in the code ends, most bytes first, at most
    // kMaxVariants; empty if all have the same signature.
    std::vector<Variant> variants;
    std::uint64_t omitted_variants = 0;
    Picture picture;

    double first_seen = 0;  // seconds since the watch of the process that saw it began
    double last_seen = 0;
    double dead_for_at_most = 0;  // longest time the memory can have waited, seconds
    std::uint64_t first_collection = 0;
    std::uint64_t collections = 0;               // that found at least one unreachable
    std::vector<ProcessOccurrences> by_process;  // one for each process that saw it, by process

    // The reader's own, kept in the file; no watch ever writes them.
    Verdict verdict = Verdict::none;
    std::string note;

    friend bool operator==(const Finding&, const Finding&) = default;
};

inline constexpr std::size_t kMaxOwnersPerFinding = 32;
inline constexpr std::size_t kMaxVariants = 100;

// Bytes that become free once this finding and all findings that share them are fixed.
[[nodiscard]] inline std::uint64_t reached_bytes(const Finding& finding) {
    return finding.retained_bytes + finding.shared_bytes;
}

// The order of findings in a report: most reached bytes first; of equal ones, most bytes that no
// other finding shares.
[[nodiscard]] inline bool ranks_before(const Finding& a, const Finding& b) {
    return std::tuple(reached_bytes(b), b.retained_bytes, std::string_view(a.signature)) <
           std::tuple(reached_bytes(a), a.retained_bytes, std::string_view(b.signature));
}

}  // namespace cyclewatch::model
