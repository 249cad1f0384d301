// SPDX-License-Identifier: Apache-2.0
// The texts of single references of a path. REQUIRES: GIL held. RUNS PYTHON: never. May throw
// std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "retention/path_names.h"

namespace cyclewatch::retention {

// Removes enclosing functions: "main.<locals>.Trainer.fit" becomes "Trainer.fit".
[[nodiscard]] std::string_view without_enclosing(std::string_view name);
// "train()", but "<lambda>".
[[nodiscard]] std::string call_text(std::string_view name);
// "train.py:12", or the path if the line is 0.
[[nodiscard]] std::string place(const std::string& path, std::uint32_t line);
// ".name" or, if `name` is not an identifier, a subscript.
[[nodiscard]] std::string attribute_text(std::string_view name);
// The text that, appended to an expression for the holder, yields an expression for the target; ""
// if there is no such text.
[[nodiscard]] std::string suffix_of(const Label& label);
// For a reference that cannot be written as an expression: its description, and the name of its
// target.
[[nodiscard]] std::pair<std::string, std::string> words_of(const Step& step);

}  // namespace cyclewatch::retention
