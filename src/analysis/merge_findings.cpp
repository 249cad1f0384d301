// SPDX-License-Identifier: Apache-2.0
#include "analysis/merge_findings.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "model/mistake.h"

namespace cyclewatch::analysis {
namespace {

// Sets of builders that are one mistake.
class Mistakes {
  public:
    explicit Mistakes(std::size_t builders) : parent_(builders) {
        std::iota(parent_.begin(), parent_.end(), 0U);
    }

    std::uint32_t first_of(std::uint32_t builder) {
        while (parent_[builder] != builder) {
            parent_[builder] = parent_[parent_[builder]];
            builder = parent_[builder];
        }
        return builder;
    }
    void join(std::uint32_t a, std::uint32_t b) {
        a = first_of(a);
        b = first_of(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

  private:
    std::vector<std::uint32_t> parent_;
};

}  // namespace

std::vector<std::uint32_t> merge_findings(std::vector<FindingBuilder>& builders) {
    Mistakes mistakes(builders.size());
    std::unordered_map<std::string, std::uint32_t> with_key;
    for (std::uint32_t b = 0; b < builders.size(); ++b) {
        for (std::string& key : model::mistake_keys(builders[b].so_far())) {
            mistakes.join(b, with_key.try_emplace(std::move(key), b).first->second);
        }
    }
    std::vector<std::uint32_t> order(builders.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
        return model::ranks_before(builders[a].so_far(), builders[b].so_far());
    });
    std::vector<std::uint32_t> index(builders.size());
    std::vector<FindingBuilder> merged;
    std::unordered_map<std::uint32_t, std::uint32_t> merged_of;  // by first builder of its set
    for (const std::uint32_t b : order) {
        const auto [entry, fresh] =
            merged_of.try_emplace(mistakes.first_of(b), static_cast<std::uint32_t>(merged.size()));
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
