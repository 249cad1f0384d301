// SPDX-License-Identifier: Apache-2.0
// Determines whether a running function reads a variable again before it assigns the variable.
#pragma once

#include <Python.h>

namespace cyclewatch::bytecode {

// True if the code may read the present value of `variable` after `instruction`, the index of the
// instruction that is being executed. `variable`: an index into the frame's variables
// (compat/code_names.h). A variable in a cell must have no other function that refers to the cell.
// Also true if this cannot be determined. Takes exception handlers into account, but not locals().
// Requirements: as instructions.h. May throw std::bad_alloc.
[[nodiscard]] bool is_read_again(PyCodeObject* code, int variable, Py_ssize_t instruction);

}  // namespace cyclewatch::bytecode
