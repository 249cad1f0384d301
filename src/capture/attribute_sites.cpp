// SPDX-License-Identifier: Apache-2.0
#include "capture/attribute_sites.h"

#include "capture/class_code.h"
#include "capture/creator_search.h"
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/store_search.h"
#include "capture/stored_callables.h"
#include "compat/attribute_stores.h"
#include "compat/code_names.h"
#include "compat/object_layout.h"

namespace cyclewatch::capture {
namespace {

using model::ValueOrigin;

constexpr std::size_t kMostKnown = 4'000;

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
            const StoreSearch search(name, method.code, target);
            if (!has_file(method.code)) {
                if (search.on_self.code != nullptr) {
                    generated = {nullptr, 0, search.on_self.value};
                }
                return;
            }
            if (search.on_self.code != nullptr && method.gets_self(on_class)) {
                AttributeStore& store = equals_ascii(method.name, "__init__") ? in_init : on_self;
                store = store.code == nullptr ? search.on_self : store;
                store.on_self = true;
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

AttributeStore find_in_target(PyTypeObject* /*type*/, std::string_view name, PyTypeObject* target) {
    ForeignStores stores(name, target);
    visit_bases(target, [&](PyTypeObject* base) {
        stores.look_into_methods(base);
        return false;
    });
    return stores.result();
}

AttributeStore find_in_module(PyTypeObject* type, std::string_view name, PyTypeObject* target) {
    ForeignStores stores(name, target);
    visit_module_code(globals_of_module(name_of_type(type).module), [&](const ModuleCode& found) {
        stores.look_into(found.code, found.is_method);
    });
    AttributeStore store = stores.result();
    // The method may be of any class of the module: whose object it is, is not known.
    if (store.value == ValueOrigin::gives_itself) {
        store.value = ValueOrigin::taken;
    }
    return store;
}

StoreSite found_at(const AttributeStore& store) {
    StoreSite site;
    if (store.code != nullptr) {
        site.path = Utf8Text(store.code->co_filename).view();
        site.line = store.line;
    }
    site.value = store.value;
    site.by_holder = store.on_self;
    return site;
}

StoreSite search(PyTypeObject* type, std::string_view name, PyTypeObject* target, bool on_class) {
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
    StoreSite site = found_at(store.code == nullptr ? known : store);
    if (!on_class) {
        site.holder_made_by_target = creates(target, type);
    }
    return site;
}

StoreSite search_outside(std::string_view name,
                         PyObject* value,
                         std::span<PyObject* const> modules) {
    ForeignStores in_definer(name, Py_TYPE(value), true);
    if (PyObject* const function = function_behind(value)) {
        auto* const inner = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
        visit_module_code(globals_behind(function), [&](const ModuleCode& found) {
            if (found.code != inner && contains_code(found.code, inner)) {
                in_definer.look_into(found.code, found.is_method);
            }
        });
    }
    AttributeStore store = in_definer.result();
    if (store.code == nullptr) {
        ForeignStores anywhere(name, Py_TYPE(value), true);
        for (PyObject* const module : modules) {
            visit_module_code(module, [&](const ModuleCode& found) {
                anywhere.look_into(found.code, found.is_method);
            });
        }
        store = anywhere.result();
    }
    return store.code == nullptr ? StoreSite{} : found_at(store);
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
    // Methods are left out: they take those of their own objects.
    void look_into_functions(PyObject* globals) {
        visit_module_code(globals, [&](const ModuleCode& found) {
            if (!found.is_method && has_file(found.code)) {
                look_into(found.code);
            }
        });
    }
    [[nodiscard]] AttributeStore only_one() const { return several_ ? AttributeStore{} : found_; }
    [[nodiscard]] bool is_empty() const noexcept { return found_.code == nullptr; }

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

StoreSite search_taken(PyTypeObject* type, std::string_view name) {
    ReadSearch reads(name);
    visit_bases(type, [&](PyTypeObject* base) {
        visit_methods(base, [&](const Method& method) {
            if (has_file(method.code)) {
                reads.look_into(method.code);
            }
        });
        return false;
    });
    if (reads.is_empty()) {
        reads.look_into_functions(globals_of_module(name_of_type(type).module));
    }
    return found_at(reads.only_one());
}

}  // namespace

template <typename Search>
const StoreSite& AttributeSites::remember(unsigned version,
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

const StoreSite& AttributeSites::find(PyTypeObject* type,
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

const StoreSite& AttributeSites::find_outside(PyTypeObject* type,
                                              std::string_view name,
                                              PyObject* value,
                                              std::span<PyObject* const> modules) {
    return remember(cyclewatch_type_version(type),
                    cyclewatch_type_version(Py_TYPE(value)),
                    What::stored_outside,
                    false,
                    name,
                    [&] { return search_outside(name, value, modules); });
}

const StoreSite& AttributeSites::find_taken(PyTypeObject* type, std::string_view name) {
    return remember(cyclewatch_type_version(type), 0, What::taken, false, name, [&] {
        return search_taken(type, name);
    });
}

}  // namespace cyclewatch::capture
