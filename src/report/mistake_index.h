// SPDX-License-Identifier: Apache-2.0
// Finds the stored finding that a new one is the same mistake as.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "model/finding.h"

namespace cyclewatch::report {

class MistakeIndex {
  public:
    // Where the finding is that has one of `finding`'s signatures, or its status and one of its
    // model::mistake_keys(): what is ignored does not take in what is new.
    [[nodiscard]] std::optional<std::size_t> find(const model::Finding& finding) const;

    // `finding` is, or is now part of, what is at `position`. What was known keeps its position.
    // If memory runs out, some of its names may have been added. Of a program that makes names
    // without end, those beyond a limit are not added.
    void add(const model::Finding& finding, std::size_t position);

    // Forgets every name of what is at `position`. Does not allocate.
    void remove(std::size_t position);

  private:
    std::unordered_map<std::string, std::size_t> positions_;  // by signature and by key
};

}  // namespace cyclewatch::report
