// SPDX-License-Identifier: Apache-2.0
// A strict little parser for the markup that the renderers write: enough to prove that nothing
// from the program became a tag or an attribute.
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
    std::string problem;          // "" if the markup is well formed: closed in order, all
                                  // attributes quoted, no stray '<' or '&'
};

Markup parse_markup(std::string_view text);

}  // namespace cyclewatch::testing
