// SPDX-License-Identifier: Apache-2.0
// Chooses the reference of a path that a program should remove. REQUIRES: GIL held. RUNS PYTHON:
// never. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/reference_graph.h"
#include "retention/path_names.h"
#include "retention/path_search.h"

namespace cyclewatch::retention {

// How likely it is that the program forgot to remove the reference, least likely first; `never` if
// a program cannot remove the reference. Deleting a variable may free much more than the object.
enum class CutRank : std::uint8_t {
    never,
    variable_of_frame,
    part,
    variable,
    attribute,
    named_entry,
    entry,
    traceback,
    hook,
    known_end
};

// The step to cut. Steps whose removal frees the object are preferred, then container entries,
// because programs forget to remove an entry more often than to clear an attribute. The same holds
// for an attribute that other code has added to the instance of a class, and even more for a hook,
// which is preferred to what it uses, except items that it collects. Next are other attributes,
// which are nearer to the object than the caller's variable. The traceback of a stored exception is
// preferred to the container of the exception, because programs store exceptions for their
// messages. If several steps are equally good, the last is chosen. The hook is also cut if what
// precedes it frees the object, because a program needs a module longer than the module's hooks.
// The same holds for a reference for which known_end() knows a call. A step after the one to an
// object that a callback or another thread uses as a whole (see captured_step.h) is chosen only if
// it is the traceback of a stored exception, a hook, or an item of a container that collects items.
struct CutChoice {
    std::size_t step = 0;
    bool frees = false;
    CutRank rank = CutRank::never;
};

// What must not be cut.
struct CutLimits {
    // captured_step(); nullopt if the steps after it can be cut, too.
    std::optional<std::size_t> captured;
    // The items of a torch.nn.ModuleDict or ParameterDict, and what one of several optimizers
    // needs.
    bool keeps_parts = true;
};

// `is_user_root`: the code in which the path begins is not library code.
[[nodiscard]] CutChoice choose_cut(const std::vector<Step>& steps,
                                   const PathText& text,
                                   const RawPath& path,
                                   const std::vector<model::Reference>& references,
                                   const CutLimits& limits,
                                   bool is_user_root);

// True for an attribute of the object in a local variable, unless other code has added it: it may
// be a part that the object needs.
[[nodiscard]] bool is_own_attribute(const CutChoice& cut, const std::vector<Step>& steps);

}  // namespace cyclewatch::retention
