// SPDX-License-Identifier: Apache-2.0
#include "capture/attribute_sites.h"

#include <algorithm>
#include <vector>

#include "base/source_path.h"
#include "bytecode/attribute_stores.h"
#include "capture/class_code.h"
#include "capture/class_methods.h"
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/object_summary.h"
#include "capture/running_code.h"
#include "capture/store_search.h"
#include "capture/stored_callables.h"
#include "compat/code_names.h"
#include "compat/object_layout.h"

namespace cyclewatch::capture {
namespace {

using model::ValueOrigin;

constexpr std::size_t kMaxCached = 4'000;

// Returns the site of an attribute store in generated code. `base` is the class for which the code
// was generated. `name_of_base` is "" if `base` is the holder's own class.
StoreSite site_of_generated(PyTypeObject* base,
                            ValueOrigin value,
                            const std::string& name_of_base) {
    StoreSite site;
    site.value = value;
    site.by_holder = true;
    site.is_generated = true;
    if (value != ValueOrigin::unknown) {
        const ObjectSummary summary = summarize(reinterpret_cast<PyObject*>(base));
        site.path = summary.path;
        site.line = summary.line;
        site.base = name_of_base;
        if (site.path.empty()) {  // all of its methods are generated
            PyObject* const module = globals_of_module(name_of_type(base).module);
            site.path = Utf8Text(find_in_dict(module, "__file__")).view();
        }
    }
    return site;
}

// Searches the methods of the class. A store to an attribute of `self` takes precedence over stores
// to attributes of other objects. Among stores to `self`, a store in __init__ takes precedence. If
// the store is in generated code without a source file, such as a dataclass's `__init__`, only the
// class and the origin of the value are known.
StoreSite find_in_class(PyTypeObject* type,
                        std::string_view name,
                        PyTypeObject* target,
                        bool on_class) {
    StoreSite generated;
    FirstStore in_init;
    FirstStore on_self;
    FirstStore on_other;
    visit_bases(type, [&](PyTypeObject* base) {
        const std::string name_of_base = base == type ? "" : name_of_type(base).full();
        visit_methods(base, [&](const Method& method) {
            StoreSearch search(name, method.code, target);
            if (!has_file(method.code)) {
                if (search.on_self.is_found()) {
                    generated = site_of_generated(base, search.on_self.site.value, name_of_base);
                }
                return;
            }
            if (search.on_self.is_found() && method.gets_self(on_class)) {
                search.on_self.site.by_holder = true;
                search.on_self.site.base = name_of_base;
                (equals_ascii(method.name, "__init__") ? in_init : on_self)
                    .add(search.on_self.site);
            }
            if (search.on_other.is_found()) {
                search.on_other.site.base = name_of_base;
                on_other.add(search.on_other.site, search.on_other.is_ambiguous);
            }
        });
        return in_init.is_found();
    });
    if (in_init.is_found()) {
        return in_init.site;
    }
    const FirstStore& store = on_self.is_found() || on_other.is_ambiguous ? on_self : on_other;
    return store.is_found() ? store.site : generated;
}

// The torch.autograd.Function for whose contexts torch has created `type`; null for any other
// class.
PyTypeObject* function_of_context(PyTypeObject* type) noexcept {
    PyObject* const function = find_in_dict(type->tp_dict, "_forward_cls");
    return function != nullptr && PyType_Check(function) ? reinterpret_cast<PyTypeObject*>(function)
                                                         : nullptr;
}

// The methods of a torch.autograd.Function receive the context as an argument.
StoreSite find_in_function(PyTypeObject* type, std::string_view name, PyTypeObject* target) {
    ForeignStores stores(name, target);
    if (PyTypeObject* const function = function_of_context(type); function != nullptr) {
        stores.search_class(function, true);
    }
    return stores.result();
}

StoreSite find_in_target(PyTypeObject* /*type*/, std::string_view name, PyTypeObject* target) {
    ForeignStores stores(name, target);
    stores.search_class(target);
    return stores.result();
}

StoreSite find_in_module(PyTypeObject* type, std::string_view name, PyTypeObject* target) {
    ForeignStores stores(name, target);
    stores.search_module(globals_of_module(name_of_type(type).module));
    StoreSite store = stores.result();
    // gives_itself is valid only for stores in methods of the target's class, but this store may be
    // in a method of any class in the module.
    if (store.value == ValueOrigin::gives_itself) {
        store.value = ValueOrigin::taken;
    }
    return store;
}

StoreSite search(PyTypeObject* type, std::string_view name, PyTypeObject* target, bool on_class) {
    StoreSite found = find_in_class(type, name, target, on_class);
    // Attributes defined in a class body or by a dataclass need no search, because they are
    // reported at the location of the class.
    const auto is_unknown = [&] { return found.value == ValueOrigin::unknown && found.line == 0; };
    if (!on_class && is_unknown()) {
        found = find_in_function(type, name, target);
    }
    if (!on_class && is_unknown()) {
        found = find_in_target(type, name, target);
        const StoreSite in_module =
            found.line == 0 ? find_in_module(type, name, target) : StoreSite{};
        if (in_module.line != 0 || found.value == ValueOrigin::unknown) {
            found = in_module;
        }
    }
    if (!on_class) {
        found.holder_made_by_target = creates(target, type);
    }
    return found;
}

// If `value` is a callable, searches the functions that enclose the definition of its underlying
// function.
void search_definers(ForeignStores& stores, PyObject* value) {
    PyObject* const function = underlying_function(value);
    if (function == nullptr) {
        return;
    }
    auto* const inner = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    visit_module_code(globals_of(function), [&](const ModuleCode& found) {
        if (found.code != inner && contains_code(found.code, inner)) {
            stores.search(found.code, found.is_method);
        }
    });
}

// Searches the functions that a module imports by name. Also searches all functions of the modules
// that it imports (`helpers.attach()`), except library modules. `module` is the module's namespace.
void search_imports(ForeignStores& stores, PyObject* module) {
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (module != nullptr && PyDict_Next(module, &position, &key, &value) != 0) {
        if (PyFunction_Check(value) && PyFunction_GET_GLOBALS(value) != module) {
            const auto as_function = [&](PyCodeObject* code) { stores.search(code, false); };
            visit_functions(value, as_function);
        } else if (PyModule_Check(value)) {
            PyObject* const globals = PyModule_GetDict(value);
            const Utf8Text path(find_in_dict(globals, "__file__"));
            if (!path.view().empty() && base::origin_of_path(path.view()) == base::Origin::user) {
                stores.search_module(globals);
            }
        }
    }
}

// Searches for stores of kind `kind` in the methods of `type`, in the methods of `value`'s class,
// and in the functions that enclose the definition of `value`.
StoreSite search_classes(PyTypeObject* type,
                         std::string_view name,
                         PyObject* value,
                         bytecode::StoreKind kind) {
    ForeignStores stores(name, Py_TYPE(value), false, kind);
    search_definers(stores, value);
    stores.search_class(Py_TYPE(value));
    stores.search_class(type, true);
    return stores.result();
}

// Returns the call that may set the attribute: either a call with the attribute's name as an
// argument, or a setattr() call with a computed name. A computed name is considered only in methods
// of the holder's and the value's classes, in the helpers that search_helpers() finds, and in
// functions that enclose the value's definition.
StoreSite search_possible_stores(PyTypeObject* type,
                                 std::string_view name,
                                 PyObject* value,
                                 std::span<PyObject* const> modules) {
    StoreSite store = search_classes(type, name, value, bytecode::StoreKind::by_call);
    if (store.line == 0) {
        store = search_classes(type, name, value, bytecode::StoreKind::computed);
    }
    if (store.line == 0) {
        ForeignStores by_helper(name, Py_TYPE(value), false, bytecode::StoreKind::computed);
        visit_bases(type, [&](PyTypeObject* base) {
            by_helper.search_helpers(base);
            return false;
        });
        store = by_helper.result();
    }
    if (store.line == 0) {
        ForeignStores by_call(name, Py_TYPE(value), false, bytecode::StoreKind::by_call);
        for (PyObject* const module : modules) {
            by_call.search_module(module);
        }
        store = by_call.result();
    }
    store.value = ValueOrigin::unknown;  // the called function may store another value
    return store;
}

StoreSite search_outside(PyTypeObject* type,
                         std::string_view name,
                         PyObject* value,
                         std::span<PyObject* const> modules) {
    ForeignStores in_definer(name, Py_TYPE(value), true);
    search_definers(in_definer, value);
    StoreSite store = in_definer.result();
    std::vector<PyObject*> near(modules.begin(), modules.end());
    for (PyTypeObject* const end : {type, Py_TYPE(value)}) {
        PyObject* const globals = globals_of_module(name_of_type(end).module);
        if (globals != nullptr && std::ranges::find(near, globals) == near.end()) {
            near.push_back(globals);
        }
    }
    if (store.line == 0) {
        ForeignStores anywhere(name, Py_TYPE(value), true);
        for (PyObject* const module : modules) {
            anywhere.search_module(module);
        }
        store = anywhere.result();
    }
    if (store.line == 0) {
        ForeignStores imported(name, Py_TYPE(value), true);
        for (PyObject* const module : near) {
            search_imports(imported, module);
        }
        store = imported.result();
    }
    if (store.line == 0) {
        ForeignStores running(name, Py_TYPE(value));
        for (PyCodeObject* const code : running_module_code(near)) {
            running.search(code, false);
        }
        store = running.result();
    }
    if (store.line == 0 && function_of_context(type) == nullptr) {
        store = search_possible_stores(type, name, value, near);
    }
    return store.line == 0 ? StoreSite{} : store;
}

// Searches the methods of a class or the functions of a module for the line that loads an
// attribute. In the methods of a class, loads such as `self.child.name` do not count, because
// `self.child` is another object.
class LoadSearch {
  public:
    LoadSearch(std::string_view name, bool of_attributes)
        : name_(name), of_attributes_(of_attributes) {}

    void search(PyCodeObject* function) {
        visit_nested_code(function, [&](PyCodeObject* code, int /*depth*/) {
            const Py_ssize_t index = has_file(code) ? index_of_name(code, name_) : -1;
            if (index < 0) {
                return;
            }
            bytecode::visit_reads(code, index, [&](bool of_attribute, int offset) {
                if (!of_attribute || of_attributes_) {
                    note(code, offset);
                }
            });
        });
    }

    OnlyLine lines;
    model::ColumnRange columns;  // of the first load

  private:
    void note(PyCodeObject* code, int offset) {
        if (lines.code == nullptr) {
            columns = columns_at(code, offset);
        }
        lines.note(code, cyclewatch_line_at(code, offset));
    }

    std::string_view name_;
    bool of_attributes_;
};

StoreSite search_method_load(PyTypeObject* type, std::string_view name) {
    LoadSearch loads(name, false);
    visit_bases(type, [&](PyTypeObject* base) {
        visit_methods(base, [&](const Method& method) { loads.search(method.code); });
        return false;
    });
    if (loads.lines.code == nullptr) {
        loads = LoadSearch(name, true);
        visit_module_code(globals_of_module(name_of_type(type).module),
                          [&](const ModuleCode& found) {
                              if (!found.is_method) {
                                  loads.search(found.code);
                              }
                          });
    }
    StoreSite site;
    if (loads.lines.is_known()) {
        site.path = path_of(loads.lines.code);
        site.line = static_cast<std::uint32_t>(loads.lines.line);
        site.columns = loads.columns;
    }
    return site;
}

}  // namespace

template <typename Search>
const StoreSite& AttributeSites::cached(unsigned version,
                                        unsigned target,
                                        Query query,
                                        bool on_class,
                                        std::string_view name,
                                        Search search) {
    if (version == 0) {
        return latest_ = search();
    }
    if (known_.size() >= kMaxCached) {
        known_.clear();
    }
    const auto [entry, fresh] =
        known_.try_emplace(Key{version, target, query, on_class, std::string(name)});
    if (fresh) {
        entry->second = search();
    }
    return entry->second;
}

const StoreSite& AttributeSites::find(PyTypeObject* type,
                                      std::string_view name,
                                      PyTypeObject* target,
                                      bool on_class) {
    return cached(cyclewatch_type_version(type),
                  cyclewatch_type_version(target),
                  Query::store,
                  on_class,
                  name,
                  [&] { return search(type, name, target, on_class); });
}

const StoreSite& AttributeSites::find_outside(PyTypeObject* type,
                                              std::string_view name,
                                              PyObject* value,
                                              std::span<PyObject* const> modules) {
    return cached(cyclewatch_type_version(type),
                  cyclewatch_type_version(Py_TYPE(value)),
                  Query::outside_store,
                  false,
                  name,
                  [&] { return search_outside(type, name, value, modules); });
}

bool AttributeSites::puts_itself_into(std::string_view name, PyTypeObject* item) {
    const auto search = [&] {
        ForeignStores insertions(name, item, false, bytecode::StoreKind::into);
        insertions.search_class(item);
        return insertions.result();
    };
    const unsigned version = cyclewatch_type_version(item);
    return cached(version, version, Query::insertion, false, name, search).value ==
           ValueOrigin::gives_itself;
}

const StoreSite& AttributeSites::find_method_load(PyTypeObject* type, std::string_view name) {
    return cached(cyclewatch_type_version(type), 0, Query::method_load, false, name, [&] {
        return search_method_load(type, name);
    });
}

}  // namespace cyclewatch::capture
