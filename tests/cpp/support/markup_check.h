// SPDX-License-Identifier: Apache-2.0
// A strict parser for the markup of the renderers, to check that text from the program never
// becomes a tag or an attribute.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cyclewatch::testing {

struct MarkupTag {
    std::string name;
    std::vector<std::string> attributes;  // names, in order
};

struct Markup {
    std::vector<MarkupTag> tags;  // opened, in order
    std::string problem;          // "" if the markup is well formed
};

Markup parse_markup(std::string_view text);

}  // namespace cyclewatch::testing
