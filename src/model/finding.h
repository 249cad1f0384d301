// SPDX-License-Identifier: Apache-2.0
// One reference loop that kept device memory alive, with everything a reader needs to end it.
// Self-contained text and numbers: it outlives the observation it came from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cyclewatch::model {

// One reference of the logical graph, from a holder to a target.
struct Reference {
    std::string holder;    // "mymodel.Engine" or "function mymodel.Engine.__init__.<lambda>"
    std::string label;     // ".callbacks", "closure:self" ... (glossary: label grammar)
    std::string target;    // like holder
    std::string location;  // "path:line" of the code to change; "" if not known
    std::string reason;    // why cutting it is right, in words; "" off the cut and alternatives
    std::vector<std::string> raw_path;  // the raw references this one stands for, in order
    bool payload = false;  // true: off the loop; cutting it keeps the loop and drops the memory

    friend bool operator==(const Reference&, const Reference&) = default;
};

struct OwnerSummary {
    std::string type;
    std::string device;
    std::uint64_t bytes = 0;  // of its storage
    std::string shape;
    std::string dtype;
    std::string path;          // how the loop reaches it: "Engine.weights['w']"
    std::uint64_t count = 1;   // equal owners (type, device, bytes, shape, dtype, path)
    std::string allocated_at;  // "path:line"; "" if not known

    friend bool operator==(const OwnerSummary&, const OwnerSummary&) = default;
};

// The condensed logical graph of one loop and what hangs off it, ready to be drawn.
struct Picture {
    struct Item {
        std::string text;    // short name
        std::string detail;  // module-qualified name, location
        bool on_loop = false;
        bool owner = false;
        std::uint64_t bytes = 0;  // of an owner

        friend bool operator==(const Item&, const Item&) = default;
    };
    struct Arrow {
        std::uint32_t from = 0;  // index into items
        std::uint32_t to = 0;
        std::string label;
        bool on_loop = false;
        bool cut = false;

        friend bool operator==(const Arrow&, const Arrow&) = default;
    };
    std::vector<Item> items;
    std::vector<Arrow> arrows;
    std::uint64_t omitted_items = 0;  // left out by the cap

    friend bool operator==(const Picture&, const Picture&) = default;
};

struct Finding {
    std::string signature;  // "cw1-" and 16 hexadecimal digits
    std::string pattern;    // "closure-captures-self" ...; "unknown" if none fits
    std::string title;      // "Engine.callbacks -> [0] -> <lambda>.closure:self -> Engine"
    std::string headline;   // one sentence: what keeps how much, and what to cut

    std::uint64_t held_bytes = 0;     // only this component kept them, each storage once
    std::uint64_t shared_bytes = 0;   // other components kept them too
    std::uint64_t occurrences = 0;    // loops with this signature
    std::uint64_t largest_bytes = 0;  // held_bytes of the heaviest occurrence

    std::vector<Reference> loop;          // in order; the target of the last is the first holder
    std::vector<Reference> cut;           // the reference to cut, or the smallest set that works
    bool tie = false;                     // true: cut[0] and alternatives[0] score the same
    std::vector<Reference> alternatives;  // next best first
    std::vector<OwnerSummary> owners;     // heaviest first, at most kMaxOwnersPerFinding
    std::uint64_t omitted_owners = 0;
    Picture picture;

    double first_seen = 0;  // seconds since the watch began
    double last_seen = 0;
    double dead_for_at_most = 0;  // longest time the memory can have waited, seconds
    std::uint64_t first_collection = 0;
    std::uint64_t collections = 0;  // that condemned at least one

    friend bool operator==(const Finding&, const Finding&) = default;
};

inline constexpr std::size_t kMaxOwnersPerFinding = 32;

}  // namespace cyclewatch::model
