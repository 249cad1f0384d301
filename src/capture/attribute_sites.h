// SPDX-License-Identifier: Apache-2.0
// The line that makes an attribute refer to something, where the value comes from there, and who
// made whom: found
// in the instructions of the class, of the target's class and of the module, without running any.
// docs/design/labels.md says in which order, and when the answer is "not known".
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python object at all. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "model/reference_graph.h"

namespace cyclewatch::capture {

struct StoreSite {
    std::string path;  // "": not known
    std::uint32_t line = 0;
    model::ValueOrigin value = model::ValueOrigin::unknown;
    bool by_holder = false;              // a method of the holder stores it on its own object
    bool holder_made_by_target = false;  // methods of the target's class create the holder

    [[nodiscard]] bool is_known() const noexcept {
        return line != 0 || value != model::ValueOrigin::unknown || holder_made_by_target;
    }
};

// Remembers what it found, across collections: bounded, and no more than names and numbers.
class AttributeSites {
  public:
    // Where `type`'s instances get the attribute or slot `name` that refers to a `target`. With
    // `on_class` the class itself has the attribute. The result lives until the next call.
    [[nodiscard]] const StoreSite& find(PyTypeObject* type,
                                        std::string_view name,
                                        PyTypeObject* target,
                                        bool on_class);

    // Where the methods of `type`, or else the functions of its module, take the method `name` of
    // an object without calling it: the one line that makes a bound method, if it is the only one.
    // The result lives until the next call.
    [[nodiscard]] const StoreSite& find_taken(PyTypeObject* type, std::string_view name);

    // Where code outside the classes of holder and value stores the attribute `name`: the only line
    // in the function that defines the function that `value` is or calls, or the only one in
    // `modules` (namespaces). To be asked if find() knows no line. Of values of one type the first
    // counts. The result lives until the next call.
    [[nodiscard]] const StoreSite& find_outside(PyTypeObject* type,
                                                std::string_view name,
                                                PyObject* value,
                                                std::span<PyObject* const> modules);

  private:
    enum class What : std::uint8_t { stored, taken, stored_outside };

    template <typename Search>
    const StoreSite& remember(unsigned version,
                              unsigned target,
                              What what,
                              bool on_class,
                              std::string_view name,
                              Search search);

    // Versions of types are never given out twice: a class that was changed, or another one at the
    // same address, has a version of its own.
    using Key = std::tuple<unsigned, unsigned, What, bool, std::string>;

    std::map<Key, StoreSite> known_;
    StoreSite latest_;  // of a type without a version
};

}  // namespace cyclewatch::capture
