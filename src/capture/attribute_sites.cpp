// SPDX-License-Identifier: Apache-2.0
#include "capture/attribute_sites.h"

#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/labelers/visit.h"
#include "compat/attribute_stores.h"
#include "compat/code_names.h"
#include "compat/object_layout.h"

namespace cyclewatch::capture {
namespace {

constexpr int kMostNested = 8;              // functions within functions, wrappers of wrappers
constexpr Py_ssize_t kMostEntries = 4'000;  // of a module that is searched
constexpr std::size_t kMostKnown = 4'000;

// A store in some function; no code: none was found.
struct AttributeStore {
    PyCodeObject* code = nullptr;
    std::uint32_t line = 0;
};

PyCodeObject* as_code(PyObject* object) noexcept {
    return PyCode_Check(object) ? reinterpret_cast<PyCodeObject*>(object) : nullptr;
}

// Index of `name` in co_names, or -1: then the code has nothing to do with such an attribute.
Py_ssize_t index_of_name(PyCodeObject* code, std::string_view name) {
    PyObject* const names = code->co_names;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
        PyObject* const candidate = PyTuple_GET_ITEM(names, i);
        const bool equal = PyUnicode_IS_COMPACT_ASCII(candidate)
                               ? equals_ascii(candidate, name)
                               : Utf8Text(candidate).view() == name;
        if (equal) {
            return i;
        }
    }
    return -1;
}

// The stores of one attribute in the code of one function and of those within it.
class StoreSearch {
  public:
    StoreSearch(std::string_view name, PyCodeObject* function)
        : name_(name),
          self_(function->co_argcount > 0 ? cyclewatch_variable_name(function, 0) : nullptr) {
        look_into(function, 0);
    }

    std::uint32_t on_self = 0;    // line of the first store on the first parameter; 0: none
    std::uint32_t on_other = 0;   // of the first on anything else
    bool several_others = false;  // there are more of these, on other lines

  private:
    void look_into(PyCodeObject* code, int depth) {
        const Py_ssize_t index = index_of_name(code, name_);
        if (index >= 0) {
            Visit visit{*this, code, depth};
            cyclewatch_visit_stores(code, index, Visit::call, &visit);
        }
        PyObject* const constants = code->co_consts;
        for (Py_ssize_t i = 0; depth < kMostNested && i < PyTuple_GET_SIZE(constants); ++i) {
            if (PyCodeObject* inner = as_code(PyTuple_GET_ITEM(constants, i)); inner != nullptr) {
                look_into(inner, depth + 1);
            }
        }
    }

    struct Visit {
        StoreSearch& search;
        PyCodeObject* code;
        int depth;
        static int call(const cyclewatch_store* store, void* arg) noexcept {
            auto& visit = *static_cast<Visit*>(arg);
            if (store->constant == 0) {
                visit.search.note(visit.code, visit.depth, *store);
            }
            return 0;
        }
    };

    void note(PyCodeObject* code, int depth, const cyclewatch_store& store) noexcept {
        // In a function within the method, `self` is the method's only as a free variable: its own
        // first parameter may be the instance of a class that is defined there.
        if (depth > 0 && store.variable == 0 && code->co_argcount > 0) {
            return;
        }
        PyObject* const variable =
            store.variable < 0 ? nullptr : cyclewatch_variable_name(code, store.variable);
        const auto line = static_cast<std::uint32_t>(cyclewatch_line_at(code, store.offset));
        if (variable != nullptr && variable == self_) {
            on_self = on_self == 0 ? line : on_self;
            return;
        }
        several_others = several_others || (on_other != 0 && on_other != line);
        on_other = on_other == 0 ? line : on_other;
    }

    std::string_view name_;
    PyObject* self_;
};

// Calls visit(code) for every function that `entry` of a class or module stands for: as it is, or
// inside descriptors and wrappers.
template <typename Visit>
void visit_functions(PyObject* entry, Visit& visit, int depth = 0) {
    if (entry == nullptr || depth > kMostNested) {
        return;
    }
    if (PyFunction_Check(entry)) {
        visit(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(entry)));
    } else if (Py_IS_TYPE(entry, &PyStaticMethod_Type) || Py_IS_TYPE(entry, &PyClassMethod_Type)) {
        visit_functions(find_member(entry, "__func__"), visit, depth + 1);
        return;
    } else if (Py_IS_TYPE(entry, &PyProperty_Type)) {
        for (const char* part : {"fget", "fset", "fdel"}) {
            visit_functions(find_member(entry, part), visit, depth + 1);
        }
        return;
    } else if (PyType_Check(entry)) {
        return;
    }
    // functools.wraps, lru_cache; functools.cached_property and its kind.
    for (const char* attribute : {"__wrapped__", "func"}) {
        if (PyObject* inner = find_attribute(entry, attribute); inner != nullptr) {
            visit_functions(inner, visit, depth + 1);
        }
    }
}

// A function of a class, and the entry of the class's dict that it was found in.
struct Method {
    PyObject* name;
    PyObject* entry;
    PyCodeObject* code;

    // True if the first parameter is the class (`of_class`) or an instance of it.
    [[nodiscard]] bool gets_self(bool of_class) const noexcept {
        return !Py_IS_TYPE(entry, &PyStaticMethod_Type) &&
               of_class == (Py_IS_TYPE(entry, &PyClassMethod_Type) ||
                            equals_ascii(name, "__init_subclass__"));
    }
};

template <typename Visit>
void visit_methods(PyTypeObject* type, Visit&& visit) {
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_dict == nullptr) {
        return;
    }
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(type->tp_dict, &position, &key, &value) != 0) {
        const auto as_method = [&](PyCodeObject* code) { visit(Method{key, value, code}); };
        visit_functions(value, as_method);
    }
}

// The classes of `type`'s MRO, `type` first, until visit(class) returns true.
template <typename Visit>
void visit_bases(PyTypeObject* type, Visit&& visit) {
    PyObject* const mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
        PyObject* const base = PyTuple_GET_ITEM(mro, i);
        if (PyType_Check(base) && visit(reinterpret_cast<PyTypeObject*>(base))) {
            return;
        }
    }
}

// In the class's own methods: in __init__ before any other, on `self` before any other object.
AttributeStore find_in_class(PyTypeObject* type, std::string_view name, bool on_class) {
    AttributeStore in_init;
    AttributeStore on_self;
    AttributeStore on_other;
    bool several_others = false;
    visit_bases(type, [&](PyTypeObject* base) {
        visit_methods(base, [&](const Method& method) {
            if (!has_file(method.code)) {
                return;
            }
            const StoreSearch search(name, method.code);
            if (search.on_self != 0 && method.gets_self(on_class)) {
                AttributeStore& store = equals_ascii(method.name, "__init__") ? in_init : on_self;
                store = store.code == nullptr ? AttributeStore{method.code, search.on_self} : store;
            }
            if (search.on_other != 0) {
                several_others = several_others || search.several_others ||
                                 (on_other.code != nullptr && on_other.line != search.on_other);
                on_other = {method.code, search.on_other};
            }
        });
        return in_init.code != nullptr;
    });
    if (in_init.code != nullptr) {
        return in_init;
    }
    return on_self.code != nullptr || several_others ? on_self : on_other;
}

// Stores on objects of another class than the code's own. Of several it could be any: then none.
class ForeignStores {
  public:
    explicit ForeignStores(std::string_view name) : name_(name) {}

    void look_into(PyCodeObject* code, bool is_method) {
        if (!has_file(code)) {
            return;
        }
        const StoreSearch search(name_, code);
        note(code, search.on_other, search.several_others);
        if (!is_method) {  // its first parameter is like any other
            note(code, search.on_self, false);
        }
    }
    void look_into_methods(PyTypeObject* type) {
        visit_methods(type, [&](const Method& method) { look_into(method.code, true); });
    }
    [[nodiscard]] AttributeStore only_one() const { return several_ ? AttributeStore{} : found_; }

  private:
    void note(PyCodeObject* code, std::uint32_t line, bool several) {
        if (line == 0) {
            return;
        }
        several_ = several_ || several || (found_.code != nullptr && found_.line != line);
        found_ = {code, line};
    }

    std::string_view name_;
    AttributeStore found_;
    bool several_ = false;
};

AttributeStore find_in_target(PyTypeObject* target, std::string_view name) {
    ForeignStores stores(name);
    visit_bases(target, [&](PyTypeObject* base) {
        stores.look_into_methods(base);
        return false;
    });
    return stores.only_one();
}

AttributeStore find_in_module(PyTypeObject* type, std::string_view name) {
    const std::string module_name = name_of_type(type).module;
    PyObject* const module = find_in_dict(PyImport_GetModuleDict(), module_name);
    PyObject* const names =
        module != nullptr && PyModule_Check(module) ? PyModule_GetDict(module) : nullptr;
    if (names == nullptr || PyDict_GET_SIZE(names) > kMostEntries) {
        return {};
    }
    ForeignStores stores(name);
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(names, &position, &key, &value) != 0) {
        if (PyFunction_Check(value) && PyFunction_GET_GLOBALS(value) == names) {
            const auto as_function = [&](PyCodeObject* code) { stores.look_into(code, false); };
            visit_functions(value, as_function);
        } else if (PyType_Check(value) &&
                   name_of_type(reinterpret_cast<PyTypeObject*>(value)).module == module_name) {
            stores.look_into_methods(reinterpret_cast<PyTypeObject*>(value));
        }
    }
    return stores.only_one();
}

AttributeSite search(PyTypeObject* type,
                     std::string_view name,
                     PyTypeObject* target,
                     bool on_class) {
    AttributeStore store = find_in_class(type, name, on_class);
    if (store.code == nullptr) {
        store = find_in_target(target, name);
    }
    if (store.code == nullptr) {
        store = find_in_module(type, name);
    }
    if (store.code == nullptr) {
        return {};
    }
    return {std::string(Utf8Text(store.code->co_filename).view()), store.line};
}

}  // namespace

const AttributeSite& AttributeSites::find(PyTypeObject* type,
                                          std::string_view name,
                                          PyTypeObject* target,
                                          bool on_class) {
    const unsigned version = cyclewatch_type_version(type);
    if (version == 0) {
        return latest_ = search(type, name, target, on_class);
    }
    if (known_.size() >= kMostKnown) {
        known_.clear();
    }
    const auto [entry, fresh] = known_.try_emplace(
        Key{version, cyclewatch_type_version(target), on_class, std::string(name)});
    if (fresh) {
        entry->second = search(type, name, target, on_class);
    }
    return entry->second;
}

}  // namespace cyclewatch::capture
