// SPDX-License-Identifier: Apache-2.0
// Which findings are the same mistake: cycles of several signatures that one change in the code
// ends. Everything here goes by a finding's text, so it can be asked of stored findings too.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::model {

// Findings that have a key in common are one mistake. Keys hold code locations: they compare within
// one process, and are not to be shown or stored in a file. Empty if the finding names no reference
// to cut whose location is known, and its cycle is too long or too short to be compared.
//
// - The references to cut have the same labels and locations, and the findings the same pattern. A
//   bound method is located where it is stored: it exists because of that line.
// - The cycles have the same labels in order, and the same holders but for one: the same cycle
//   through objects of another class.
[[nodiscard]] std::vector<std::string> mistake_keys(const Finding& finding);

// Lists what `other` consists of among the variants of `shown`. To be called before the numbers of
// `other` are added to `shown`; changes nothing if both are of one signature.
void add_variants(Finding& shown, const Finding& other);

// The finding's signature and those of its variants, each once.
[[nodiscard]] std::vector<std::string> signatures_of(const Finding& finding);
[[nodiscard]] bool has_signature(const Finding& finding, std::string_view signature);

}  // namespace cyclewatch::model
