// SPDX-License-Identifier: Apache-2.0
#include "capture/graph_builder.h"

#include <algorithm>
#include <new>

#include "base/source_path.h"
#include "capture/attribute_sites.h"
#include "capture/class_code.h"
#include "capture/class_methods.h"
#include "capture/labelers/text.h"
#include "capture/object_summary.h"
#include "capture/stored_callables.h"

namespace cyclewatch::capture {
namespace {

// True if a method in Python handles every access to an attribute of an instance.
bool overrides_attribute_access(PyTypeObject* type) {
    PyObject* const mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
        auto* const each = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
        PyObject* const method = find_in_dict(each->tp_dict, "__getattribute__");
        if (method != nullptr) {
            return PyFunction_Check(method);
        }
    }
    return false;
}

// Labelling a reference takes half a microsecond and 90 bytes, so the number of references per
// collection is limited. If a list refers to one object a million times, a few of these references
// suffice.
constexpr std::size_t kMaxReferences = 500'000;
constexpr std::size_t kMinPerObject = 16;
constexpr std::uint32_t kMaxPerPair = 16;
constexpr std::size_t kMaxItemClasses = 4;  // searched for code that fills one container
constexpr std::size_t kMaxModules = 6;      // searched for the store of one attribute

// True for an attribute that C code stores in a C object, such as the gradient of a tensor.
bool is_c_property(PyTypeObject* type, std::string_view attribute) {
    for (; type != nullptr; type = type->tp_base) {
        if (PyObject* const found = find_in_dict(type->tp_dict, attribute); found != nullptr) {
            return Py_IS_TYPE(found, &PyGetSetDescr_Type);
        }
    }
    return false;
}

// The cache of attribute sites, one per process. REQUIRES: GIL held.
AttributeSites& known_sites() {
    static AttributeSites& sites = *new AttributeSites;  // never destroyed: used until exit
    return sites;
}

// True for a class in Python with `__slots__`. A class whose instances vary in size, such as a
// subclass of tuple, cannot have further slots.
bool may_add_slots(PyTypeObject* type) {
    return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && type->tp_itemsize == 0 &&
           find_in_dict(type->tp_dict, "__slots__") != nullptr;
}

}  // namespace

struct GraphBuilder::Parts final : PartSink {
    Parts(GraphBuilder& builder, PyObject* parent) : graph_builder_(builder), parent_(parent) {}

    void add(PyObject* part, model::PartRole role) override {
        const std::uint32_t node = graph_builder_.node_of(part);
        if (node != kNotNamed && graph_builder_.parts_[node].role == model::PartRole::none) {
            graph_builder_.parts_[node] = {role, parent_};
            graph_builder_.builder_.node(static_cast<model::NodeId>(node)).role = role;
        }
    }

  private:
    GraphBuilder& graph_builder_;
    PyObject* parent_;
};

struct GraphBuilder::References final : ReferenceSink {
    References(GraphBuilder& builder, std::uint32_t from) : graph_builder_(builder), from_(from) {}

    [[nodiscard]] bool wants_values() const noexcept override { return graph_builder_.values_; }

    // Drops labels of references that tp_traverse does not visit, because the graph must not
    // contain cycles that the collector does not see.
    void add(PyObject* target,
             model::EdgeKind kind,
             std::string_view name,
             std::uint32_t index) override {
        const std::uint32_t to = graph_builder_.node_of(target);
        if (to == kNotNamed || graph_builder_.unlabelled_[to] == 0) {
            return;
        }
        --graph_builder_.unlabelled_[to];
        try {
            const model::StringId label = graph_builder_.builder_.intern(name);
            graph_builder_.builder_.add_edge(static_cast<model::NodeId>(from_),
                                             static_cast<model::NodeId>(to),
                                             {kind, label, index});
            if (finds_sites &&
                (kind == model::EdgeKind::attribute || kind == model::EdgeKind::slot)) {
                graph_builder_.find_site(from_, to, label);
            }
        } catch (const std::bad_alloc&) {
            out_of_memory_ = true;  // label_references() is noexcept
        }
    }
    [[nodiscard]] bool out_of_memory() const noexcept { return out_of_memory_; }

    bool finds_sites = true;

  private:
    GraphBuilder& graph_builder_;
    std::uint32_t from_;
    bool out_of_memory_ = false;
};

GraphBuilder::GraphBuilder(std::span<PyObject* const> objects,
                           std::size_t unreachable,
                           const Adjacency& graph,
                           std::span<const std::uint32_t> selected,
                           bool values,
                           const collector::HiddenReferences* hidden)
    : objects_(objects),
      unreachable_(unreachable),
      graph_(graph),
      selected_(selected),
      values_(values),
      hidden_(hidden),
      parts_(selected.size()),
      unlabelled_(selected.size(), 0),
      is_located_(selected.size(), true) {
    named_.reserve(selected.size());
    for (const std::uint32_t position : selected) {
        named_.push_back(objects[position]);
    }
    index_.build(named_);
}

model::Node GraphBuilder::describe(PyObject* object) {
    const auto known = described_.find(Py_TYPE(object));
    if (known != described_.end()) {
        return known->second;
    }
    const ObjectSummary summary = summarize(object);
    model::Node node;
    node.kind = summary.kind;
    node.name = builder_.intern(summary.name);
    node.module = builder_.intern(summary.module);
    node.location = {builder_.intern(summary.path), summary.line};
    node.supports_weakref = PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) != 0;
    node.lacks_weakref_slot = !node.supports_weakref && may_add_slots(Py_TYPE(object));
    if (node.kind == model::NodeKind::object) {
        const EndMethod end = find_end_method(Py_TYPE(object));
        node.end_method = builder_.intern(end.name);
        node.end_location = {builder_.intern(end.path), static_cast<std::uint32_t>(end.line)};
    }
    if (!differs_per_object(node.kind)) {
        described_.emplace(Py_TYPE(object), node);
    }
    return node;
}

// The location of a bound method is the line that loads the method, if that line is known.
bool GraphBuilder::locate_bound_method(PyObject* method, model::Node& node) {
    PyObject* const function = PyMethod_GET_FUNCTION(method);
    PyObject* const self = PyMethod_GET_SELF(method);
    if (function == nullptr || self == nullptr || !PyFunction_Check(function)) {
        return false;
    }
    auto* const type = PyType_Check(self) ? reinterpret_cast<PyTypeObject*>(self) : Py_TYPE(self);
    const auto* code =
        reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(unwrap_decorators(function)));
    const StoreSite& taken = known_sites().find_method_load(type, Utf8Text(code->co_name).view());
    if (taken.line != 0) {
        node.location = {builder_.intern(taken.path), taken.line, taken.columns};
    }
    return taken.line != 0;
}

bool GraphBuilder::locate_partial(PyObject* partial, model::Node& node) {
    PyObject* const function = underlying_function(partial);
    if (function == nullptr) {
        return false;
    }
    const auto [entry, fresh] = partials_.try_emplace(PyFunction_GET_CODE(function));
    if (fresh) {
        entry->second = site_of_partial(partial);
    }
    const CallableSite& site = entry->second;
    if (site.line != 0) {
        node.location = {builder_.intern(site.path), site.line};
    }
    return site.is_creation;
}

void GraphBuilder::add_node(std::uint32_t node) {
    model::Node described = describe(named_[node]);
    described.unreachable = selected_[node] < unreachable_;
    if (described.kind == model::NodeKind::bound_method) {
        is_located_[node] = locate_bound_method(named_[node], described);
    } else if (described.kind == model::NodeKind::partial) {
        is_located_[node] = locate_partial(named_[node], described);
    } else if (described.kind == model::NodeKind::builtin_function) {
        is_located_[node] = false;
    }
    described.hides_references = hides_references(named_[node]);
    if (hidden_ != nullptr && described.kind == model::NodeKind::function) {
        add_captured_function(named_[node], described);
    } else if (hidden_ != nullptr && described.kind == model::NodeKind::object) {
        described.captured_function = call_method(named_[node]);
    }
    const base::CallSite site = allocation_site(named_[node]);
    described.allocated = {builder_.intern(site.path), site.line};
    builder_.add_node(described);
}

bool GraphBuilder::hides_references(PyObject* object) const {
    return hidden_ != nullptr &&
           std::ranges::any_of(hidden_->of(object), [](const collector::HiddenReference& each) {
               return !each.is_visited;
           });
}

void GraphBuilder::add_captured_function(PyObject* function, model::Node& described) {
    PyObject* const cells = PyFunction_GET_CLOSURE(function);
    if (cells == nullptr || base::origin_of_path(summarize(function).path) == base::Origin::user) {
        return;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cells); ++i) {
        PyObject* const value = PyCell_GET(PyTuple_GET_ITEM(cells, i));
        PyObject* const captured = value == nullptr ? nullptr : underlying_function(value);
        if (captured == nullptr) {
            continue;
        }
        const ObjectSummary summary = summarize(unwrap_decorators(captured));
        if (!summary.path.empty() && base::origin_of_path(summary.path) == base::Origin::user) {
            described.captured_function = {builder_.intern(summary.path), summary.line};
            described.captured_name = builder_.intern(summary.name);
            return;
        }
    }
}

model::SourceLocation GraphBuilder::call_method(PyObject* object) {
    const MethodPlace place = find_call_method(Py_TYPE(object));
    if (place.path.empty() || base::origin_of_path(place.path) != base::Origin::user) {
        return {};
    }
    return {builder_.intern(place.path), static_cast<std::uint32_t>(place.line)};
}

void GraphBuilder::add_parts(PyObject* object) {
    Parts parts(*this, object);
    find_parts(object, parts);
    if (hidden_ == nullptr) {
        return;
    }
    for (const collector::HiddenReference& each : hidden_->of(object)) {
        if (each.kind == model::EdgeKind::hook) {
            parts.add(each.target, model::PartRole::nn_hooks);
        }
    }
}

// The label of the hooks in a dict that a C++ object refers to; "" for any other object. The
// labelers do not know in which of its lists an autograd node keeps the dict.
std::string_view GraphBuilder::kind_of_hooks(std::uint32_t node) const {
    if (hidden_ == nullptr || parts_[node].role != model::PartRole::nn_hooks ||
        !PyDict_Check(named_[node])) {
        return {};
    }
    for (const collector::HiddenReference& each : hidden_->of(parts_[node].parent)) {
        if (each.target == named_[node] && each.kind == model::EdgeKind::hook) {
            return each.name;
        }
    }
    return {};
}

void GraphBuilder::add_edges(std::uint32_t node) {
    const std::span<const std::uint32_t> targets = graph_.of(selected_[node]);
    std::size_t taken = 0;
    for (const std::uint32_t target : targets) {
        const std::uint32_t to = node_of(objects_[target]);
        if (to == kNotNamed || unlabelled_[to] == kMaxPerPair) {
            continue;
        }
        if (taken >= max_per_object_ && named_to_[to] >= kMinPerObject) {
            ++omitted_references_;
            continue;
        }
        ++taken;
        if (!named_to_.empty()) {
            ++named_to_[to];
        }
        ++unlabelled_[to];
    }
    References references(*this, node);
    if (const std::string_view hook = kind_of_hooks(node); !hook.empty()) {
        label_hooks(named_[node], hook, references);
    } else {
        label_references(named_[node], parts_[node].role, parts_[node].parent, references);
    }
    if (hidden_ != nullptr) {
        references.finds_sites = false;  // C++ code has stored them, such as a gradient
        for (const collector::HiddenReference& each : hidden_->of(named_[node])) {
            references.add(each.target, each.kind, each.name, each.index);
        }
    }
    if (references.out_of_memory()) {
        throw std::bad_alloc();
    }
    for (const std::uint32_t target : targets) {
        const std::uint32_t to = node_of(objects_[target]);
        if (to != kNotNamed && unlabelled_[to] > 0) {
            --unlabelled_[to];
            builder_.add_edge(static_cast<model::NodeId>(node), static_cast<model::NodeId>(to), {});
        }
    }
}

void GraphBuilder::find_site(std::uint32_t from, std::uint32_t to, model::StringId attribute) {
    PyObject* const parent = parts_[from].parent != nullptr ? parts_[from].parent : named_[from];
    const bool on_class = PyType_Check(parent) != 0;
    auto* const type = on_class ? reinterpret_cast<PyTypeObject*>(parent) : Py_TYPE(parent);
    const std::uint32_t holder = node_of(parent);
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || holder == kNotNamed) {
        return;
    }
    const model::StringId name = builder_.node(static_cast<model::NodeId>(holder)).name;
    const std::uint64_t key = (std::uint64_t{on_class} << 63) |
                              (std::uint64_t{index_of(name)} << 32) | index_of(attribute);
    const auto [entry, fresh] = sites_.try_emplace(key);
    if (fresh) {
        entry->second = add_site(from, to, attribute, on_class);
    }
    // If the line that creates a callable is unknown, use the line that stores the callable, unless
    // the callable was passed in. Built-in methods are assumed not to be passed in, because they
    // rarely are.
    const Site& site = entry->second;
    const bool creates_value = site.creates_value || PyCFunction_Check(named_[to]) != 0;
    if (!is_located_[to] && creates_value && site.location.line != 0) {
        builder_.node(static_cast<model::NodeId>(to)).location = site.location;
        is_located_[to] = true;
    }
}

GraphBuilder::Site GraphBuilder::add_site(std::uint32_t from,
                                          std::uint32_t to,
                                          model::StringId attribute,
                                          bool on_class) {
    PyObject* const parent = parts_[from].parent != nullptr ? parts_[from].parent : named_[from];
    auto* const type = on_class ? reinterpret_cast<PyTypeObject*>(parent) : Py_TYPE(parent);
    StoreSite site =
        known_sites().find(type, builder_.text(attribute), Py_TYPE(named_[to]), on_class);
    // Only a search for never freed memory shows references in C++ objects as attributes. A
    // function of the library that stores the attribute, too, such as Tensor.__deepcopy__(), did
    // not do it.
    const bool is_in_c = hidden_ != nullptr && is_c_property(type, builder_.text(attribute));
    const auto is_by_library = [&site] {
        return base::origin_of_path(site.path) != base::Origin::user;
    };
    site = is_in_c && is_by_library() ? StoreSite{} : site;
    if (!on_class && site.line == 0 && site.value == model::ValueOrigin::unknown) {
        const bool made = site.holder_made_by_target;
        site = known_sites().find_outside(
            type, builder_.text(attribute), named_[to], modules_around(from));
        site = is_in_c && is_by_library() ? StoreSite{} : site;
        site.holder_made_by_target = made;
    }
    if (!on_class && items_put_themselves(to, builder_.text(attribute))) {
        site.value = model::ValueOrigin::gives_itself;
    }
    const model::SourceLocation location{builder_.intern(site.path), site.line, site.columns};
    if (site.is_known()) {
        const model::StringId holder =
            builder_.node(static_cast<model::NodeId>(node_of(parent))).name;
        builder_.add_attribute_site({holder,
                                     attribute,
                                     on_class,
                                     site.value,
                                     site.holder_made_by_target,
                                     location,
                                     builder_.intern(site.base),
                                     site.is_generated,
                                     overrides_attribute_access(type),
                                     site.in_dict});
    }
    const bool creates_value = (!site.by_holder || site.value == model::ValueOrigin::made) &&
                               base::origin_of_path(site.path) != base::Origin::standard_library;
    return {location, creates_value};
}

// `node` is the value of `attribute`. Returns true if `node` is a container and the class of one of
// its items has a method that adds `self` to this container.
bool GraphBuilder::items_put_themselves(std::uint32_t node, std::string_view attribute) const {
    PyTypeObject* last = nullptr;
    std::size_t classes = 0;
    if (PyType_HasFeature(Py_TYPE(named_[node]), Py_TPFLAGS_HEAPTYPE)) {
        return false;
    }
    for (const std::uint32_t target : graph_.of(selected_[node])) {
        PyTypeObject* const type = Py_TYPE(objects_[target]);
        if (type == last || !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
            continue;
        }
        if (known_sites().puts_itself_into(attribute, type)) {
            return true;
        }
        last = type;
        if (++classes == kMaxItemClasses) {
            break;
        }
    }
    return false;
}

// The modules that define the referents of `node` or the classes of these referents. If functions
// of a module store one attribute of an object, functions of the same module often store its other
// attributes, too.
std::vector<PyObject*> GraphBuilder::modules_around(std::uint32_t node) const {
    std::vector<PyObject*> modules;
    for (const std::uint32_t target : graph_.of(selected_[node])) {
        PyObject* const globals = globals_of(objects_[target]);
        if (globals != nullptr && std::ranges::find(modules, globals) == modules.end()) {
            modules.push_back(globals);
        }
        if (modules.size() == kMaxModules) {
            break;
        }
    }
    return modules;
}

void GraphBuilder::note_locals(std::uint32_t node) {
    if (!PyDict_CheckExact(named_[node]) || parts_[node].role != model::PartRole::none) {
        return;
    }
    const std::optional<ObjectSummary> function =
        snapshots_.function_of(named_[node], modules_around(node));
    if (function) {
        model::Node& described = builder_.node(static_cast<model::NodeId>(node));
        described.name = builder_.intern(function->name);
        described.module = builder_.intern(function->module);
        described.location = {builder_.intern(function->path), function->line};
        described.locals_snapshot = true;
    }
}

// Limits the references from each object, not only their total number, so that every object keeps
// some of its references. The first kMinPerObject references to an object are never dropped.
void GraphBuilder::limit_references() {
    if (graph_.targets.size() <= kMaxReferences) {
        return;
    }
    std::size_t references = 0;
    for (const std::uint32_t position : selected_) {
        references += static_cast<std::size_t>(std::ranges::count_if(
            graph_.of(position),
            [this](std::uint32_t target) { return node_of(objects_[target]) != kNotNamed; }));
    }
    if (references > kMaxReferences) {
        max_per_object_ = std::max(kMinPerObject, kMaxReferences / selected_.size());
        named_to_.assign(selected_.size(), 0);
    }
}

model::ReferenceGraph GraphBuilder::build() {
    limit_references();
    const auto nodes = static_cast<std::uint32_t>(named_.size());
    for (std::uint32_t node = 0; node < nodes; ++node) {
        add_node(node);
    }
    for (PyObject* const object : named_) {
        add_parts(object);
    }
    for (std::uint32_t node = 0; node < nodes; ++node) {
        note_locals(node);
        add_edges(node);
    }
    for (std::uint32_t node = 0; node < nodes; ++node) {
        model::Node& described = builder_.node(static_cast<model::NodeId>(node));
        if (!is_located_[node] && described.kind == model::NodeKind::bound_method) {
            described.location.line = 0;  // any code may have created it
        }
    }
    return builder_.finish();
}

}  // namespace cyclewatch::capture
