// SPDX-License-Identifier: Apache-2.0
#include "analysis/merge_findings.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/union_find.h"
#include "model/mistake.h"

namespace cyclewatch::analysis {

std::vector<std::uint32_t> merge_findings(std::vector<FindingBuilder>& builders) {
    base::UnionFind groups(builders.size());
    std::unordered_map<std::string, std::uint32_t> with_key;
    for (std::uint32_t b = 0; b < builders.size(); ++b) {
        for (std::string& key : model::mistake_keys(builders[b].finding())) {
            groups.unite(b, with_key.try_emplace(std::move(key), b).first->second);
        }
    }
    std::vector<std::uint32_t> order(builders.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
        return model::ranks_before(builders[a].finding(), builders[b].finding());
    });
    std::vector<std::uint32_t> index(builders.size());
    std::vector<FindingBuilder> merged;
    std::unordered_map<std::uint32_t, std::uint32_t> merged_of;  // by root
    for (const std::uint32_t b : order) {
        const auto [entry, fresh] =
            merged_of.try_emplace(groups.find(b), static_cast<std::uint32_t>(merged.size()));
        index[b] = entry->second;
        if (fresh) {
            merged.push_back(std::move(builders[b]));
        } else {
            merged[entry->second].absorb(std::move(builders[b]));
        }
    }
    builders = std::move(merged);
    return index;
}

}  // namespace cyclewatch::analysis
