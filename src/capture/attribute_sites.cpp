// SPDX-License-Identifier: Apache-2.0
#include "capture/attribute_sites.h"

#include "capture/class_code.h"
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/makers.h"
#include "compat/attribute_stores.h"
#include "compat/code_names.h"
#include "compat/object_layout.h"

namespace cyclewatch::capture {
namespace {

using model::ValueOrigin;

constexpr Py_ssize_t kMostEntries = 4'000;  // of a module that is searched
constexpr std::size_t kMostKnown = 4'000;

// A store in some function; no code: none was found that has a file.
struct AttributeStore {
    PyCodeObject* code = nullptr;
    std::uint32_t line = 0;
    ValueOrigin value = ValueOrigin::unknown;
    bool in_constructor = false;
};

// Where the value of a store comes from, in the code of a function that is not within another.
ValueOrigin origin_of_value(PyCodeObject* code,
                            const cyclewatch_store& store,
                            PyTypeObject* target) {
    if (store.is_call != 0) {
        const bool given_the_holder = store.variable >= 0 && store.variable < 32 &&
                                      (store.arguments >> store.variable) % 2 != 0;
        const bool made = given_the_holder || is_name_of(store.name, target);
        return made ? ValueOrigin::made : ValueOrigin::taken;
    }
    if (store.value_variable == 0 && store.variable != 0) {
        return ValueOrigin::gives_itself;
    }
    const bool is_parameter = store.value_variable >= 0 &&
                              store.value_variable < code->co_argcount + code->co_kwonlyargcount;
    return is_parameter || store.name != nullptr ? ValueOrigin::taken : ValueOrigin::unknown;
}

// The stores of one attribute in the code of one function and of those within it.
class StoreSearch {
  public:
    // `target`: the class of what the attribute refers to.
    StoreSearch(std::string_view name,
                PyCodeObject* function,
                PyTypeObject* target,
                bool is_constructor)
        : name_(name),
          target_(target),
          is_constructor_(is_constructor),
          self_(function->co_argcount > 0 ? cyclewatch_variable_name(function, 0) : nullptr) {
        look_into(function, 0);
    }

    AttributeStore on_self;       // the first on the first parameter
    AttributeStore on_other;      // the first on anything else
    bool several_others = false;  // there are more of these, on other lines

  private:
    void look_into(PyCodeObject* code, int depth) {
        const cyclewatch_attribute attribute{index_of_name(code, name_),
                                             constant_of_text(code, name_)};
        if (attribute.number >= 0 || attribute.constant != nullptr) {
            Visit visit{*this, code, depth};
            cyclewatch_visit_stores(code, attribute, Visit::call, &visit);
        }
        visit_inner_code(code, depth, [&](PyCodeObject* inner) { look_into(inner, depth + 1); });
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
        const bool is_on_self = variable != nullptr && variable == self_;
        AttributeStore& first = is_on_self ? on_self : on_other;
        if (first.code == nullptr) {
            const ValueOrigin value =
                depth > 0 ? ValueOrigin::unknown : origin_of_value(code, store, target_);
            first = {code, line, value, is_constructor_};
        } else if (!is_on_self && first.line != line) {
            several_others = true;
        }
    }

    std::string_view name_;
    PyTypeObject* target_;
    bool is_constructor_;
    PyObject* self_;
};

// In the class's own methods: in __init__ before any other, on `self` before any other object. Code
// without a file, such as a dataclass's, has no place to tell, but says where the value comes from.
AttributeStore find_in_class(PyTypeObject* type,
                             std::string_view name,
                             PyTypeObject* target,
                             bool on_class) {
    AttributeStore generated;
    AttributeStore in_init;
    AttributeStore on_self;
    AttributeStore on_other;
    bool several_others = false;
    visit_bases(type, [&](PyTypeObject* base) {
        visit_methods(base, [&](const Method& method) {
            const StoreSearch search(name, method.code, target, method.is_constructor());
            if (!has_file(method.code)) {
                if (search.on_self.code != nullptr) {
                    generated = {nullptr, 0, search.on_self.value, search.on_self.in_constructor};
                }
                return;
            }
            if (search.on_self.code != nullptr && method.gets_self(on_class)) {
                AttributeStore& store = equals_ascii(method.name, "__init__") ? in_init : on_self;
                store = store.code == nullptr ? search.on_self : store;
            }
            if (search.on_other.code != nullptr) {
                several_others =
                    several_others || search.several_others ||
                    (on_other.code != nullptr && on_other.line != search.on_other.line);
                on_other = search.on_other;
            }
        });
        return in_init.code != nullptr;
    });
    if (in_init.code != nullptr) {
        return in_init;
    }
    const AttributeStore& store = on_self.code != nullptr || several_others ? on_self : on_other;
    return store.code != nullptr ? store : generated;
}

// Stores on objects of another class than the code's own. Of several it could be any: then no place
// is told, but that none of them made the value for its holder still is.
class ForeignStores {
  public:
    ForeignStores(std::string_view name, PyTypeObject* target) : name_(name), target_(target) {}

    void look_into(PyCodeObject* code, bool is_method, bool is_constructor) {
        if (!has_file(code)) {
            return;
        }
        const StoreSearch search(name_, code, target_, is_constructor);
        note(search.on_other, search.several_others);
        if (!is_method) {  // its first parameter is like any other
            note(search.on_self, false);
        }
    }
    void look_into_methods(PyTypeObject* type) {
        visit_methods(type, [&](const Method& method) {
            look_into(method.code, true, method.is_constructor());
        });
    }
    [[nodiscard]] AttributeStore result() const {
        AttributeStore result = several_ ? AttributeStore{} : found_;
        if (found_.code != nullptr) {
            result.value = by_itself_ ? ValueOrigin::gives_itself : ValueOrigin::taken;
            result.in_constructor = in_constructor_;
        }
        return result;
    }

  private:
    void note(const AttributeStore& store, bool several) {
        if (store.code == nullptr) {
            return;
        }
        several_ = several_ || several || (found_.code != nullptr && found_.line != store.line);
        found_ = store;
        if (store.value == ValueOrigin::gives_itself) {
            by_itself_ = true;
            in_constructor_ = store.in_constructor;
        }
    }

    std::string_view name_;
    PyTypeObject* target_;
    AttributeStore found_;
    bool several_ = false;
    bool by_itself_ = false;  // a method stores its own object
    bool in_constructor_ = false;
};

AttributeStore find_in_target(PyTypeObject* /*type*/, std::string_view name, PyTypeObject* target) {
    ForeignStores stores(name, target);
    visit_bases(target, [&](PyTypeObject* base) {
        stores.look_into_methods(base);
        return false;
    });
    return stores.result();
}

AttributeStore find_in_module(PyTypeObject* type, std::string_view name, PyTypeObject* target) {
    const std::string module_name = name_of_type(type).module;
    PyObject* const module = find_in_dict(PyImport_GetModuleDict(), module_name);
    PyObject* const names =
        module != nullptr && PyModule_Check(module) ? PyModule_GetDict(module) : nullptr;
    if (names == nullptr || PyDict_GET_SIZE(names) > kMostEntries) {
        return {};
    }
    ForeignStores stores(name, target);
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(names, &position, &key, &value) != 0) {
        if (PyFunction_Check(value) && PyFunction_GET_GLOBALS(value) == names) {
            const auto as_function = [&](PyCodeObject* code) {
                stores.look_into(code, false, false);
            };
            visit_functions(value, as_function);
        } else if (PyType_Check(value) &&
                   name_of_type(reinterpret_cast<PyTypeObject*>(value)).module == module_name) {
            stores.look_into_methods(reinterpret_cast<PyTypeObject*>(value));
        }
    }
    AttributeStore store = stores.result();
    // The method may be of any class of the module: whose object it is, is not known.
    if (store.value == ValueOrigin::gives_itself) {
        store.value = ValueOrigin::taken;
    }
    return store;
}

AttributeSite found_at(const AttributeStore& store) {
    AttributeSite site;
    if (store.code != nullptr) {
        site.path = Utf8Text(store.code->co_filename).view();
        site.line = store.line;
    }
    site.value = store.value;
    site.in_constructor = store.in_constructor;
    return site;
}

AttributeSite search(PyTypeObject* type,
                     std::string_view name,
                     PyTypeObject* target,
                     bool on_class) {
    AttributeStore known = find_in_class(type, name, target, on_class);
    AttributeStore store = known;
    // A class's own attributes stand in its body, and a dataclass's are stored by code without a
    // place: both have the class's.
    const bool has_place_of_class = on_class || known.value != ValueOrigin::unknown;
    for (const auto& find_further : {find_in_target, find_in_module}) {
        if (store.code == nullptr && !has_place_of_class) {
            store = find_further(type, name, target);
            known = known.value == ValueOrigin::unknown ? store : known;
        }
    }
    AttributeSite site = found_at(store.code == nullptr ? known : store);
    if (!on_class) {
        site.holder_made = how_made(type, target);
    }
    return site;
}

// The lines of a class's methods, and of the functions within them, that read an attribute.
class ReadSearch {
  public:
    explicit ReadSearch(std::string_view name) : name_(name) {}

    void look_into(PyCodeObject* code, int depth = 0) {
        const Py_ssize_t index = index_of_name(code, name_);
        if (index >= 0) {
            Visit visit{*this, code};
            cyclewatch_visit_reads(code, index, Visit::call, &visit);
        }
        visit_inner_code(code, depth, [&](PyCodeObject* inner) { look_into(inner, depth + 1); });
    }
    [[nodiscard]] AttributeStore only_one() const { return several_ ? AttributeStore{} : found_; }

  private:
    struct Visit {
        ReadSearch& search;
        PyCodeObject* code;
        static int call(int offset, void* arg) noexcept {
            auto& visit = *static_cast<Visit*>(arg);
            const auto line = static_cast<std::uint32_t>(cyclewatch_line_at(visit.code, offset));
            AttributeStore& found = visit.search.found_;
            visit.search.several_ =
                visit.search.several_ || (found.code != nullptr && found.line != line);
            found = {visit.code, line};
            return 0;
        }
    };

    std::string_view name_;
    AttributeStore found_;
    bool several_ = false;
};

AttributeSite search_taken(PyTypeObject* type, std::string_view name) {
    ReadSearch reads(name);
    visit_bases(type, [&](PyTypeObject* base) {
        visit_methods(base, [&](const Method& method) {
            if (has_file(method.code)) {
                reads.look_into(method.code);
            }
        });
        return false;
    });
    return found_at(reads.only_one());
}

}  // namespace

template <typename Search>
const AttributeSite& AttributeSites::remember(unsigned version,
                                              unsigned target,
                                              What what,
                                              bool on_class,
                                              std::string_view name,
                                              Search search) {
    if (version == 0) {
        return latest_ = search();
    }
    if (known_.size() >= kMostKnown) {
        known_.clear();
    }
    const auto [entry, fresh] =
        known_.try_emplace(Key{version, target, what, on_class, std::string(name)});
    if (fresh) {
        entry->second = search();
    }
    return entry->second;
}

const AttributeSite& AttributeSites::find(PyTypeObject* type,
                                          std::string_view name,
                                          PyTypeObject* target,
                                          bool on_class) {
    return remember(cyclewatch_type_version(type),
                    cyclewatch_type_version(target),
                    What::stored,
                    on_class,
                    name,
                    [&] { return search(type, name, target, on_class); });
}

const AttributeSite& AttributeSites::find_taken(PyTypeObject* type, std::string_view name) {
    return remember(cyclewatch_type_version(type), 0, What::taken, false, name, [&] {
        return search_taken(type, name);
    });
}

}  // namespace cyclewatch::capture
