// SPDX-License-Identifier: Apache-2.0
// The folders by which origin_of_path() classifies files. Python determines them before a watch
// starts (cyclewatch/code/code_roots.py), so that code that runs during a collection only looks
// them up.
#pragma once

#include <string>
#include <vector>

#include "base/source_path.h"

namespace cyclewatch::base {

// A folder, package or module, and the origin of all files in it.
struct CodeRoot {
    std::string path;  // absolute, without a trailing slash
    Origin origin = Origin::user;

    friend bool operator==(const CodeRoot&, const CodeRoot&) = default;
};

// Replaces the roots that origin_of_path() uses: the innermost root that contains a path decides.
// origin_of_path() judges a path outside of all roots by the names of its folders. A process that
// sets many different lists of roots keeps all of them in memory, because other threads may be
// reading the previous list. REQUIRES: no other call of set_code_roots() at the same time.
void set_code_roots(std::vector<CodeRoot> roots);

}  // namespace cyclewatch::base
