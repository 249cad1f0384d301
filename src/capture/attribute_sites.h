// SPDX-License-Identifier: Apache-2.0
// Finds the line that stores an attribute, the origin of the value, and whether the target creates
// the holder. Searches the bytecode of the holder's class, the target's class and the module.
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
    // Returns the code location that assigns an instance of `target` to the attribute or slot
    // `name` of an instance of `type`. `on_class` is true if the attribute belongs to the class
    // itself.
    [[nodiscard]] const StoreSite& find(PyTypeObject* type,
                                        std::string_view name,
                                        PyTypeObject* target,
                                        bool on_class);

    // True if a method of the class `item` adds `self` to a container that is the attribute `name`
    // of another object, as in `model.observers.add(self)`.
    [[nodiscard]] bool puts_itself_into(std::string_view name, PyTypeObject* item);

    // Returns the line that loads the method `name` without calling it, and thus creates a bound
    // method. The result is unknown if there are several such lines. Searches the methods of `type`
    // first, then the functions of its module.
    [[nodiscard]] const StoreSite& find_method_load(PyTypeObject* type, std::string_view name);

    // Returns the code location outside the holder's and the value's classes that assigns `value`
    // to the attribute `name`. If `value` is a callable, searches the functions that enclose its
    // definition first. The next steps search `modules` (namespaces), then the functions imported
    // by `modules` or by the modules that define the two classes, then the code of these modules
    // that is running at module level. The last step searches for calls that may store the
    // attribute. The search ends at the first step that finds exactly one line. Call this if find()
    // returns no line. Results are cached per type of `value`.
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
