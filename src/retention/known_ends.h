// SPDX-License-Identifier: Apache-2.0
// Objects of well-known libraries that keep what a program gave them until the program ends their
// use with a certain call. REQUIRES: GIL held. RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <string_view>

#include "retention/path_names.h"

namespace cyclewatch::retention {

// The call that ends the use of what `owner` (an object or a class) keeps in the attribute `label`,
// as an instruction: "call `{}.free_memory()`", with "{}" in the place of the owner. "" if none is
// known. `is_container`: the attribute's value is a container of what is kept.
[[nodiscard]] std::string_view known_end(PyObject* owner, const Label& label, bool is_container);

// True if the class or one of its bases defines `name`.
[[nodiscard]] bool has_method(PyTypeObject* type, std::string_view name);

// True for the tasks of asyncio.
[[nodiscard]] bool is_task(PyObject* object);

// A method of `type` without parameters whose name says that it ends a use, such as "close", and
// whose code assigns `attribute` or removes items from it; "" if there is none.
[[nodiscard]] std::string_view end_method(PyTypeObject* type, std::string_view attribute);

}  // namespace cyclewatch::retention
