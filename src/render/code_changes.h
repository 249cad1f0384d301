// SPDX-License-Identifier: Apache-2.0
// Groups the references to cut by the line of code that stores them. Each group can be fixed with
// one change to the code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::render {

struct CodeChange {
    const model::Reference* first = nullptr;  // of the group, in Finding::cut
    std::uint64_t references = 0;
    std::vector<std::string> holders;  // without duplicates
    std::vector<std::string> targets;
};

// In the order of `finding.cut`. The result refers to `finding`, which must outlive it. References
// without a location are grouped only if their holders and labels are equal.
[[nodiscard]] std::vector<CodeChange> changes_of(const model::Finding& finding);

// "14 references in 7 locations; all of them must be cut". REQUIRES: several changes.
[[nodiscard]] std::string all_of_changes(const model::Finding& finding,
                                         const std::vector<CodeChange>& changes);

// "Trainer" or "one of 2 classes": describes the target classes of `change`. "" if all changes have
// the same target class, or if the holder is a method bound to an object of the target class.
[[nodiscard]] std::string target_words(const std::vector<CodeChange>& changes,
                                       const CodeChange& change);

// "9 classes" or "9 bound methods": the number of different holders.
[[nodiscard]] std::string counted_holders(const CodeChange& change);

// "9 classes derived from Base"; "" if there is only one holder.
[[nodiscard]] std::string classes_words(const CodeChange& change);

}  // namespace cyclewatch::render
