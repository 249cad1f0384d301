// SPDX-License-Identifier: Apache-2.0
// The part of an observation that is worth a look. Garbage is made by code that runs again and
// again: of clusters that are equal in everything a report could say, one is analysed and counts
// for all.
#pragma once

#include <cstdint>
#include <vector>

#include "model/observation.h"

namespace cyclewatch::analysis {

struct Representatives {
    const model::ReferenceGraph& graph;
    const std::vector<model::Storage>& storages;
    const std::vector<model::RepeatedShape>& repeats;
    std::vector<model::DeviceOwner> owners;  // in the clusters that are analysed
    // Parallel to `owners`: the storages of the equal owners that each stands for.
    std::vector<std::vector<model::StorageId>> copied_storages;
    std::uint32_t clusters = 0;
    std::vector<std::uint32_t> cluster_of;  // per node of the graph
    // Per node of the graph: how many objects it stands for; 0: another one stands for it.
    std::vector<std::uint32_t> copies;
};

// Two clusters are equal if their nodes, in the order of their numbers, are: the same objects in
// the same places with the same references, owners and sizes. A cluster of which anything was
// counted without being captured is analysed itself, and so are those that share a storage.
// `observation` must outlive the representatives.
[[nodiscard]] Representatives choose_representatives(const model::Observation& observation);

}  // namespace cyclewatch::analysis
