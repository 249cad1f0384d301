// SPDX-License-Identifier: Apache-2.0
// Finds the line that stores an attribute, the origin of the value, and whether the target creates
// the holder. Searches the bytecode of the class, of the target's class and of the module.
// docs/design/labels.md describes the order of the search, and the cases in which the result is
// unknown.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python objects. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "capture/store_search.h"

namespace cyclewatch::capture {

// Caches its results across collections. The cache is bounded and contains only names and numbers.
// Each result is valid until the next call.
class AttributeSites {
  public:
    // The store to the attribute or slot `name` of instances of `type`, with an instance of
    // `target` as the value. `on_class` is true if the attribute belongs to the class itself.
    [[nodiscard]] const StoreSite& find(PyTypeObject* type,
                                        std::string_view name,
                                        PyTypeObject* target,
                                        bool on_class);

    // True if a method of `item` adds `self` to the container that is the attribute `name` of
    // another object, as in `model.observers.add(self)`.
    [[nodiscard]] bool puts_itself_into(std::string_view name, PyTypeObject* item);

    // The only line that loads the method `name` without calling it, and thus creates a bound
    // method. Searches the methods of `type` first, then the functions of its module.
    [[nodiscard]] const StoreSite& find_method_load(PyTypeObject* type, std::string_view name);

    // The store to attribute `name` outside the classes of holder and value. Searches the function
    // that defines `value`, or that defines the function that `value` calls. The next steps search
    // `modules` (namespaces), then the functions that these modules and those of both classes
    // import, and finally calls that may store the attribute. The first step that finds exactly one
    // line ends the search. Call this if find() returns no line. Results are cached by the type of
    // `value`.
    [[nodiscard]] const StoreSite& find_outside(PyTypeObject* type,
                                                std::string_view name,
                                                PyObject* value,
                                                std::span<PyObject* const> modules);

  private:
    enum class Query : std::uint8_t { store, method_load, outside_store, insertion };

    template <typename Search>
    const StoreSite& cached(unsigned version,
                            unsigned target,
                            Query query,
                            bool on_class,
                            std::string_view name,
                            Search search);

    // Type versions are unique and never reused. A modified class has a new version.
    using Key = std::tuple<unsigned, unsigned, Query, bool, std::string>;

    std::map<Key, StoreSite> known_;
    StoreSite latest_;  // for types without a version
};

}  // namespace cyclewatch::capture
