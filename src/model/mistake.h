// SPDX-License-Identifier: Apache-2.0
// Recognises findings with the same cause, that is, cycles with different signatures that one code
// change fixes. Uses only the text of findings, so it works on stored findings too.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::model {

// Findings with a common key have the same cause. There are two kinds of keys:
//
// - The pattern, and the labels and locations of the references to cut. For a bound method, the
//   location is where the method is stored. A finding with an unknown location has no such key.
// - The labels and holders of the cycle except for one holder that is not a function. If two
//   findings share such a key, their cycles differ only in the class of that holder. A finding has
//   no such key if its cycle is too long or has fewer than two holders that are not containers.
//
// Keys contain code locations, so compare keys only within one process, and do not show or store
// them.
[[nodiscard]] std::vector<std::string> mistake_keys(const Finding& finding);

// Adds the variants of `other` to `shown`. Must be called before the counts and bytes of `other`
// are added to `shown`. Does nothing if the two findings have the same signature and no variants.
void add_variants(Finding& shown, const Finding& other);

// The signatures of the finding and its variants, each once.
[[nodiscard]] std::vector<std::string> signatures_of(const Finding& finding);
[[nodiscard]] bool has_signature(const Finding& finding, std::string_view signature);

}  // namespace cyclewatch::model
