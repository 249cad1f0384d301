// SPDX-License-Identifier: Apache-2.0
#include "report/mistake_index.h"

#include <vector>

#include "model/mistake.h"

namespace cyclewatch::report {
namespace {

constexpr std::size_t kMostNames = 50'000;

// Signatures come first, because an equal signature takes precedence over an equal key.
std::vector<std::string> names_of(const model::Finding& finding) {
    std::vector<std::string> names = model::signatures_of(finding);
    for (const std::string& key : model::mistake_keys(finding)) {
        names.push_back(std::string(model::word_of(finding.status)) + '\n' + key);
    }
    return names;
}

}  // namespace

std::optional<std::size_t> MistakeIndex::find(const model::Finding& finding) const {
    for (const std::string& name : names_of(finding)) {
        if (const auto known = positions_.find(name); known != positions_.end()) {
            return known->second;
        }
    }
    return std::nullopt;
}

void MistakeIndex::add(const model::Finding& finding, std::size_t position) {
    for (std::string& name : names_of(finding)) {
        if (positions_.size() < kMostNames) {
            positions_.try_emplace(std::move(name), position);
        }
    }
}

}  // namespace cyclewatch::report
