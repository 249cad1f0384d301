// SPDX-License-Identifier: Apache-2.0
// Finds the stored finding that has the same cause as a new one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "model/finding.h"

namespace cyclewatch::report {

class MistakeIndex {
  public:
    // The position of a finding that has one of `finding`'s signatures, or the same status and one
    // of its model::mistake_keys(). Ignored findings therefore do not absorb new ones.
    [[nodiscard]] std::optional<std::size_t> find(const model::Finding& finding) const;

    // Adds the signatures and keys of `finding`, which is stored at `position`. Existing entries do
    // not change; entries beyond a limit are dropped. If std::bad_alloc is thrown, some entries may
    // have been added.
    void add(const model::Finding& finding, std::size_t position);

  private:
    std::unordered_map<std::string, std::size_t> positions_;  // by signature and by key
};

}  // namespace cyclewatch::report
