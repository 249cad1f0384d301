// SPDX-License-Identifier: Apache-2.0
#include "model/string_table.h"

namespace cyclewatch::model {

StringId StringTable::intern(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) {
        return found->second;
    }
    const auto id = static_cast<StringId>(texts_.size());
    ids_.emplace(texts_.emplace_back(text), id);
    return id;
}

}  // namespace cyclewatch::model
