// SPDX-License-Identifier: Apache-2.0
// The findings of earlier collections, by the shape of their garbage. A later collection whose
// garbage has the same shape has the same findings. These findings are counted again, without
// naming and analyzing the objects.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "base/wide_hash.h"
#include "capture/graph_capture.h"
#include "model/finding.h"
#include "watch/captured_collection.h"

namespace cyclewatch::watch {

// The shape of the garbage that leads to owners. The shape covers everything that findings depend
// on: the objects, their labelled references, and the type, storage, size, shape and data type of
// each owner. If all clusters are equal, it is the shape of one of them.
[[nodiscard]] GarbageShape shape_of(const capture::GraphIdentity& identity,
                                    const CapturedCollection& collection);

// `whole` is the number of copies of the shape whose owners and storages were all freed. `in_part`
// is the number of copies that were freed only in part. Call after check_freed().
struct FreedCopies {
    std::uint64_t whole = 0;
    std::uint64_t in_part = 0;
};
[[nodiscard]] FreedCopies freed_copies(const CapturedCollection& collection);

class KnownFindings {
  public:
    static constexpr std::size_t kMaxShapes = 256;  // then all are forgotten

    // Forgets everything if `version` differs from that of the last call, because patterns and
    // statuses depend on the rules.
    void use_rules(std::uint64_t version) noexcept;
    void clear() noexcept { by_shape_.clear(); }

    // True if the findings of this shape are known. If every earlier collection had fewer copies,
    // its findings may have been below Settings::min_bytes, so the result is true only if
    // `in_any_number` is true.
    [[nodiscard]] bool contains(const GarbageShape& shape, bool in_any_number) const;
    // The findings of `copies` of this shape. REQUIRES: contains(shape, true).
    [[nodiscard]] std::vector<model::Finding> findings(const GarbageShape& shape,
                                                       std::uint64_t copies) const;
    // Stores the findings of a collection, with patterns and statuses. Does nothing if their
    // numbers are not proportional to the number of clusters.
    void add(const GarbageShape& shape, const std::vector<model::Finding>& findings);
    // Marks the shape as not reusable, because some objects of a copy survived.
    void reject(const GarbageShape& shape);

  private:
    struct Entry {
        bool rejected = false;
        std::uint64_t most_copies = 0;         // in one collection
        std::vector<model::Finding> findings;  // of one copy
    };
    struct Hash {
        std::size_t operator()(const base::WideHash& key) const noexcept { return key.low; }
    };

    std::unordered_map<base::WideHash, Entry, Hash> by_shape_;
    std::uint64_t rules_version_ = 0;
};

}  // namespace cyclewatch::watch
