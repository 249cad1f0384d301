// SPDX-License-Identifier: Apache-2.0
// Why an object is alive, shown as a path of references from a root to the object. Contains only
// text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/enum_words.h"
#include "model/finding.h"

namespace cyclewatch::model {

// What keeps a root alive. Among equally short paths, the one whose root kind is declared first is
// chosen.
enum class RootKind : std::uint8_t {
    local_variable,    // of a running function
    module_global,     // attribute of a module in sys.modules
    class_attribute,   // of a class that is an attribute of such a module
    context_variable,  // the current context of a thread
    thread_local_data,
    exception,    // being handled or raised
    interpreter,  // another structure of the interpreter, such as sys.setprofile()
    c_code,       // references that no Python object explains
};
inline constexpr std::array<std::string_view, 8> kRootKindWords{"local variable",
                                                                "module global",
                                                                "class attribute",
                                                                "context variable",
                                                                "thread local",
                                                                "exception",
                                                                "interpreter",
                                                                "C code"};
constexpr Words words_of(RootKind) {
    return kRootKindWords;
}

struct PathRoot {
    RootKind kind = RootKind::c_code;
    std::string text;      // "train() local model", "module global app.cache", "C code of torch"
    std::string location;  // "path:line" of a running function, otherwise ""
    // A variable whose value the function does not read again before it assigns the variable. Not
    // part of the JSON document.
    bool is_unread = false;
    // A variable whose value the function reads again. Not part of the JSON document.
    bool is_read_again = false;

    friend bool operator==(const PathRoot&, const PathRoot&) = default;
};

// Whether the program can follow a remedy without losing a value that it may still need.
enum class RemedyKind : std::uint8_t {
    release,  // ends what the holder's own code can end, such as a cache, a hook or a view
    removal,  // drops a value. Only the program knows whether it needs it, so the text states this
              // condition.
};

struct RetentionPath {
    PathRoot root;
    // In order. The holder of the first reference is the root, and the target of the last is the
    // object.
    std::vector<Reference> references;
    // The reference to remove. `cut->reason` explains the value of `cut_frees`.
    std::optional<Reference> cut;
    bool cut_frees = false;
    // How to remove `cut`, or what else releases the object, as an instruction without a full stop:
    // "call `cache_clear()` on f()".
    std::optional<std::string> remedy;
    // The remedy if the object is one of several that are stored in the same way: "remove the items
    // of `cache` that are no longer needed". Not part of the JSON document.
    std::string group_remedy;
    // What to do about the items of a container if their number grows, if this differs from
    // `group_remedy`; otherwise "". Not part of the JSON document.
    std::string growth_remedy;
    RemedyKind remedy_kind = RemedyKind::removal;  // not part of the JSON document
    // The last reference is the one of a torch module to a registered buffer. Not part of the JSON
    // document.
    bool is_buffer = false;
    // The share of its maximum length that a bounded deque on the path has; 0 if there is none. Not
    // part of the JSON document.
    double filled = 0;
    std::string text;  // "train() local model -> model.layers[3].weight"

    friend bool operator==(const RetentionPath&, const RetentionPath&) = default;
};

enum class OwnerCategory : std::uint8_t {
    parameter,
    buffer,  // registered with a torch module
    gradient,
    optimizer_state,
    saved_for_backward,  // held by an autograd graph that was read
    activation,          // computed from a tensor that requires a gradient
    held_by_cpp,         // held only by C++ code that could not be read
    other,
};
inline constexpr std::array<std::string_view, 8> kOwnerCategoryWords{"parameter",
                                                                     "buffer",
                                                                     "gradient",
                                                                     "optimizer state",
                                                                     "saved for backward",
                                                                     "activation",
                                                                     "held by C++",
                                                                     "other"};
constexpr Words words_of(OwnerCategory) {
    return kOwnerCategoryWords;
}

// A storage of a LiveOwner on a CUDA device. `path`: as RetentionPath::text, with indexes if they
// are known.
struct OwnedAddress {
    std::uint64_t address = 0;
    std::string path;

    friend bool operator==(const OwnedAddress&, const OwnedAddress&) = default;
};

// Reachable owners whose type, device, size, shape, dtype, category and path are equal, ignoring
// indexes in the path, and the keys of a large dict of owners.
struct LiveOwner {
    std::uint32_t process = 0;  // index in Report::processes
    OwnerSummary owner;         // `bytes` of one storage; `count` storages
    std::uint64_t bytes = 0;    // of all storages
    OwnerCategory category = OwnerCategory::other;
    std::vector<RetentionPath> held_by;  // paths to one of these owners
    // Nodes of the autograd graphs of these owners. A node is counted for one owner only. Not part
    // of the JSON document.
    std::uint64_t graph_nodes = 0;
    // The part of `bytes`, on the CPU, that is not resident: never written, read from a file on
    // demand, or swapped out. Determined by memory() only. Not part of the JSON document.
    std::uint64_t absent_bytes = 0;
    // Some of the owners have autograd graphs that were not read. Not part of the JSON document.
    bool has_unread_graph = false;
    // The largest storages of a census, if this group contains some of them. Not part of the JSON
    // document; see Report::addresses.
    std::vector<OwnedAddress> storages{};

    friend bool operator==(const LiveOwner&, const LiveOwner&) = default;
};

enum class GrowthUnit : std::uint8_t { step, second };
inline constexpr std::array<std::string_view, 2> kGrowthUnitWords{"step", "second"};
constexpr Words words_of(GrowthUnit) {
    return kGrowthUnitWords;
}

// Reachable owners whose type, device, shape, dtype and path are equal, ignoring indexes in the
// path. The memory use of these owners grew from census to census; a census lists all reachable
// owners.
struct GrowingOwner {
    std::uint32_t process = 0;  // index in Report::processes
    OwnerSummary owner;         // `bytes` of one storage; `count` storages
    std::uint64_t bytes = 0;    // of all storages
    std::string held_by;        // the path to one of them; "" if it is not known
    double rate = 0;            // bytes per `unit`
    GrowthUnit unit = GrowthUnit::step;
    double until_full = -1;  // the number of units until the device is full; -1: not known
    std::vector<std::uint64_t> census_bytes;  // in the last censuses; the last one is `bytes`
    // The number of nodes of their autograd graphs, if that number is growing, and its growth per
    // `unit`. The memory of the nodes is not included in `bytes` and `rate`.
    std::optional<std::uint64_t> graph_nodes;
    std::optional<double> graph_nodes_rate;
    // The total size once the bounded deque that contains the owners is full; 0 if the group is not
    // bounded. Not part of the JSON document.
    std::uint64_t bytes_when_full = 0;
    // True if the owners are stored together with their autograd graph; otherwise nullopt.
    std::optional<bool> keeps_graph;
    // How to stop the growth; see RetentionPath::remedy.
    std::optional<std::string> remedy;

    friend bool operator==(const GrowingOwner&, const GrowingOwner&) = default;
};

}  // namespace cyclewatch::model
