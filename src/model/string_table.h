// SPDX-License-Identifier: Apache-2.0
// Interns strings, so that nodes and edges store four-byte ids. Not thread-safe.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/ids.h"

namespace cyclewatch::model {

class StringTable {
  public:
    StringTable() { intern({}); }
    StringTable(const StringTable&) = delete;
    StringTable& operator=(const StringTable&) = delete;
    StringTable(StringTable&&) = default;
    StringTable& operator=(StringTable&&) = default;

    // Returns the id of `text`; equal strings have equal ids. May throw std::bad_alloc.
    StringId intern(std::string_view text);

    // REQUIRES: `id` came from this table. The view is valid as long as the table.
    [[nodiscard]] std::string_view view(StringId id) const { return texts_[index_of(id)]; }

    [[nodiscard]] std::size_t size() const noexcept { return texts_.size(); }

  private:
    std::deque<std::string> texts_;  // a deque keeps the keys of ids_ valid
    std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace cyclewatch::model
