// SPDX-License-Identifier: Apache-2.0
#include "advice/catalog.h"

namespace cyclewatch::advice {

const Catalog& Catalog::built_in() {
    // Never destroyed, because the thread that writes reports may still use it during process exit.
    static const Catalog& catalog = *new Catalog(built_in_patterns());
    return catalog;
}

const Pattern* Catalog::find(std::string_view id) const {
    for (const Pattern& pattern : patterns_) {
        if (pattern.id == id) {
            return &pattern;
        }
    }
    return nullptr;
}

const Words& Catalog::words(std::string_view id, std::string_view variant) const {
    const Pattern* const pattern = find(id);
    if (pattern == nullptr) {
        static const Words none;
        return id == "unknown" ? none : words("unknown", "");
    }
    const auto words_of = pattern->variants.find(variant);
    return words_of == pattern->variants.end() ? pattern->words : words_of->second;
}

std::vector<std::string> Pattern::tags() const {
    std::vector<std::string> tags;
    if (benign) {
        tags.emplace_back("benign");
    }
    if (library) {
        tags.emplace_back("library");
    }
    return tags;
}

}  // namespace cyclewatch::advice
