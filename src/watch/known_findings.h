// SPDX-License-Identifier: Apache-2.0
// Caches the findings of earlier collections by the structure of the unreachable objects, here
// called their shape. If two collections have the same shape, they have the same findings. The
// cached findings are then counted again, and the objects need not be named or analyzed.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/wide_hash.h"
#include "capture/graph_capture.h"
#include "model/finding.h"
#include "watch/captured_collection.h"

namespace cyclewatch::watch {

// The structure of those unreachable objects from which owners can be reached. It covers everything
// that findings depend on: the objects, their labelled references, and the type, storage, size,
// shape and data type of each owner. If all clusters are equal, returns the shape of a single
// cluster.
[[nodiscard]] GarbageShape shape_of(const capture::GraphIdentity& identity,
                                    const CapturedCollection& collection);

// `whole` is the number of copies of the shape that were freed with all of their owners and
// storages. `in_part` is the number of copies that were freed only in part. Call after
// check_freed().
struct FreedCopies {
    std::uint64_t whole = 0;
    std::uint64_t in_part = 0;
};
[[nodiscard]] FreedCopies freed_copies(const CapturedCollection& collection);

// By PendingOwner::storage: the signature of its finding; null if unknown.
using StorageSignatures = std::vector<const std::string*>;

class KnownFindings {
  public:
    static constexpr std::size_t kMaxShapes = 256;  // then all are forgotten

    // `version` is the version of the rules. Forgets all findings if the version has changed since
    // the last call, because patterns and statuses depend on the rules.
    void use_rules(std::uint64_t version) noexcept;
    void clear() noexcept { by_shape_.clear(); }

    // True if the findings of this shape are known. If every earlier collection had fewer than
    // `shape.copies` copies, the findings may have been too small to report (Settings::min_bytes).
    // In this case, the result is true only if `in_any_number` is true.
    [[nodiscard]] bool contains(const GarbageShape& shape, bool in_any_number) const;
    // The findings of `copies` clusters that have this shape. REQUIRES: contains(shape, true).
    [[nodiscard]] std::vector<model::Finding> findings(const GarbageShape& shape,
                                                       std::uint64_t copies) const;
    // The signature of the finding that reports a storage on a CUDA device; "" if unknown.
    [[nodiscard]] std::string signature_of(const GarbageShape& shape, std::size_t storage) const;
    // Stores the findings of a collection, with patterns and statuses. Does nothing if the counts
    // and bytes of a finding cannot be divided evenly among the clusters.
    void add(const GarbageShape& shape,
             const std::vector<model::Finding>& findings,
             const StorageSignatures& signatures);
    // Prevents reuse of the findings of this shape. Call this if some objects of a copy survived.
    void reject(const GarbageShape& shape);

  private:
    struct Entry {
        bool rejected = false;
        std::uint64_t most_copies = 0;                              // in one collection
        std::vector<model::Finding> findings;                       // of one copy
        std::unordered_map<std::uint64_t, std::string> by_storage;  // GarbageShape::storage_keys
    };
    struct Hash {
        std::size_t operator()(const base::WideHash& key) const noexcept { return key.low; }
    };

    std::unordered_map<base::WideHash, Entry, Hash> by_shape_;
    std::uint64_t rules_version_ = 0;
};

}  // namespace cyclewatch::watch
