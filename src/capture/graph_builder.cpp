// SPDX-License-Identifier: Apache-2.0
#include "capture/graph_builder.h"

#include <algorithm>
#include <new>

#include "base/source_path.h"
#include "capture/allocation_site.h"
#include "capture/attribute_sites.h"
#include "capture/class_code.h"
#include "capture/end_method.h"
#include "capture/labelers/text.h"
#include "capture/locals_snapshot.h"
#include "capture/object_summary.h"
#include "capture/stored_callables.h"

namespace cyclewatch::capture {
namespace {

// Objects of these kinds are each described by more than their type.
bool differs_per_object(model::NodeKind kind) {
    switch (kind) {
        case model::NodeKind::function:
        case model::NodeKind::builtin_function:
        case model::NodeKind::bound_method:
        case model::NodeKind::partial:
        case model::NodeKind::frame:
        case model::NodeKind::generator:
        case model::NodeKind::coroutine:
        case model::NodeKind::async_generator:
        case model::NodeKind::traceback:
        case model::NodeKind::type:
        case model::NodeKind::module:
        case model::NodeKind::code:
            return true;
        default:
            return false;
    }
}

// Naming a reference takes half a microsecond and 90 bytes. So many in one collection; a list that
// holds one object a million times is as well told by a few of them.
constexpr std::size_t kMostReferences = 500'000;
constexpr std::size_t kFewestOfOne = 16;
constexpr std::uint32_t kMostOfOnePair = 16;
constexpr std::size_t kMostModules = 6;  // that are searched for the store of one attribute

// Of the process, like the classes. Under the GIL.
AttributeSites& known_sites() {
    static AttributeSites& sites = *new AttributeSites;  // never destroyed: collections go on
    return sites;
}

}  // namespace

struct GraphBuilder::Parts final : PartSink {
    Parts(GraphBuilder& builder, PyObject* whole) : namer_(builder), whole_(whole) {}

    void add(PyObject* part, model::PartRole role) override {
        const std::uint32_t node = namer_.node_of(part);
        if (node != kNotNamed && namer_.parts_[node].role == model::PartRole::none) {
            namer_.parts_[node] = {role, whole_};
            namer_.builder_.node(static_cast<model::NodeId>(node)).role = role;
        }
    }

  private:
    GraphBuilder& namer_;
    PyObject* whole_;
};

struct GraphBuilder::References final : ReferenceSink {
    References(GraphBuilder& builder, std::uint32_t from) : namer_(builder), from_(from) {}

    [[nodiscard]] bool wants_values() const noexcept override { return namer_.values_; }

    // A label without a reference of tp_traverse behind it is dropped: the graph must be the
    // collector's own, or cycles would appear that it does not see.
    void add(PyObject* target,
             model::EdgeKind kind,
             std::string_view name,
             std::uint32_t index) override {
        const std::uint32_t to = namer_.node_of(target);
        if (to == kNotNamed || namer_.unexplained_[to] == 0) {
            return;
        }
        --namer_.unexplained_[to];
        try {
            const model::StringId label = namer_.builder_.intern(name);
            namer_.builder_.add_edge(static_cast<model::NodeId>(from_),
                                     static_cast<model::NodeId>(to),
                                     {kind, label, index});
            if (kind == model::EdgeKind::attribute || kind == model::EdgeKind::slot) {
                namer_.find_site(from_, to, label);
            }
        } catch (const std::bad_alloc&) {
            out_of_memory_ = true;  // the labeler that calls us is noexcept
        }
    }
    [[nodiscard]] bool out_of_memory() const noexcept { return out_of_memory_; }

  private:
    GraphBuilder& namer_;
    std::uint32_t from_;
    bool out_of_memory_ = false;
};

GraphBuilder::GraphBuilder(std::span<PyObject* const> objects,
                           std::size_t unreachable,
                           const Adjacency& graph,
                           std::span<const std::uint32_t> selected,
                           bool values)
    : objects_(objects),
      unreachable_(unreachable),
      graph_(graph),
      selected_(selected),
      values_(values),
      parts_(selected.size()),
      unexplained_(selected.size(), 0),
      is_placed_(selected.size(), true) {
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

// Where its object's class takes the method; the method's own line if that is not told.
bool GraphBuilder::place_bound_method(PyObject* method, model::Node& node) {
    PyObject* const function = PyMethod_GET_FUNCTION(method);
    PyObject* const self = PyMethod_GET_SELF(method);
    if (function == nullptr || self == nullptr || !PyFunction_Check(function)) {
        return false;
    }
    auto* const type = PyType_Check(self) ? reinterpret_cast<PyTypeObject*>(self) : Py_TYPE(self);
    const auto* code =
        reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(behind_decorators(function)));
    const StoreSite& taken = known_sites().find_taken(type, Utf8Text(code->co_name).view());
    if (taken.line != 0) {
        node.location = {builder_.intern(taken.path), taken.line};
    }
    return taken.line != 0;
}

bool GraphBuilder::place_partial(PyObject* partial, model::Node& node) {
    PyObject* const function = function_behind(partial);
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
        is_placed_[node] = place_bound_method(named_[node], described);
    } else if (described.kind == model::NodeKind::partial) {
        is_placed_[node] = place_partial(named_[node], described);
    }
    const base::CallSite site = allocation_site(named_[node]);
    described.allocated = {builder_.intern(site.path), site.line};
    builder_.add_node(described);
}

void GraphBuilder::add_edges(std::uint32_t node) {
    const std::span<const std::uint32_t> targets = graph_.of(selected_[node]);
    std::size_t taken = 0;
    for (const std::uint32_t target : targets) {
        const std::uint32_t to = node_of(objects_[target]);
        if (to == kNotNamed || unexplained_[to] == kMostOfOnePair) {
            continue;
        }
        if (taken >= most_of_one_ && named_to_[to] >= kFewestOfOne) {
            ++omitted_references_;
            continue;
        }
        ++taken;
        if (!named_to_.empty()) {
            ++named_to_[to];
        }
        ++unexplained_[to];
    }
    References references(*this, node);
    label_references(named_[node], parts_[node].role, parts_[node].whole, references);
    if (references.out_of_memory()) {
        throw std::bad_alloc();
    }
    for (const std::uint32_t target : targets) {
        const std::uint32_t to = node_of(objects_[target]);
        if (to != kNotNamed && unexplained_[to] > 0) {
            --unexplained_[to];
            builder_.add_edge(static_cast<model::NodeId>(node), static_cast<model::NodeId>(to), {});
        }
    }
}

void GraphBuilder::find_site(std::uint32_t from, std::uint32_t to, model::StringId attribute) {
    PyObject* const whole = parts_[from].whole != nullptr ? parts_[from].whole : named_[from];
    const bool on_class = PyType_Check(whole) != 0;
    auto* const type = on_class ? reinterpret_cast<PyTypeObject*>(whole) : Py_TYPE(whole);
    const std::uint32_t holder = node_of(whole);
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
    // A bound method or partial that no line is known to make was made for the one that stores it,
    // unless that was handed it.
    const Site& site = entry->second;
    if (!is_placed_[to] && site.is_of_value && site.location.line != 0) {
        builder_.node(static_cast<model::NodeId>(to)).location = site.location;
        is_placed_[to] = true;
    }
}

GraphBuilder::Site GraphBuilder::add_site(std::uint32_t from,
                                          std::uint32_t to,
                                          model::StringId attribute,
                                          bool on_class) {
    PyObject* const whole = parts_[from].whole != nullptr ? parts_[from].whole : named_[from];
    auto* const type = on_class ? reinterpret_cast<PyTypeObject*>(whole) : Py_TYPE(whole);
    StoreSite site =
        known_sites().find(type, builder_.text(attribute), Py_TYPE(named_[to]), on_class);
    if (!on_class && site.line == 0 && site.value == model::ValueOrigin::unknown) {
        const bool made = site.holder_made_by_target;
        site = known_sites().find_outside(
            type, builder_.text(attribute), named_[to], modules_around(from));
        site.holder_made_by_target = made;
    }
    const model::SourceLocation location{builder_.intern(site.path), site.line};
    if (site.is_known()) {
        const model::StringId holder =
            builder_.node(static_cast<model::NodeId>(node_of(whole))).name;
        builder_.add_attribute_site(
            {holder, attribute, on_class, site.value, site.holder_made_by_target, location});
    }
    const bool is_of_value = (!site.by_holder || site.value == model::ValueOrigin::made) &&
                             base::origin_of_path(site.path) != base::Origin::standard_library;
    return {location, is_of_value};
}

// The modules of what `node` refers to: whoever puts one thing on an object puts others there, too.
std::vector<PyObject*> GraphBuilder::modules_around(std::uint32_t node) const {
    std::vector<PyObject*> modules;
    for (const std::uint32_t target : graph_.of(selected_[node])) {
        PyObject* const globals = globals_behind(objects_[target]);
        if (globals != nullptr && std::ranges::find(modules, globals) == modules.end()) {
            modules.push_back(globals);
        }
        if (modules.size() == kMostModules) {
            break;
        }
    }
    return modules;
}

void GraphBuilder::note_locals(std::uint32_t node) {
    if (!PyDict_CheckExact(named_[node]) || parts_[node].role != model::PartRole::none) {
        return;
    }
    if (const std::optional<ObjectSummary> function = function_of_locals(named_[node])) {
        model::Node& described = builder_.node(static_cast<model::NodeId>(node));
        described.name = builder_.intern(function->name);
        described.module = builder_.intern(function->module);
        described.location = {builder_.intern(function->path), function->line};
        described.locals_snapshot = true;
    }
}

// The same number from each object, so that none goes without, and some to each, so that what only
// one of them leads to is not lost.
void GraphBuilder::limit_references() {
    if (graph_.targets.size() <= kMostReferences) {
        return;
    }
    std::size_t references = 0;
    for (const std::uint32_t position : selected_) {
        references += static_cast<std::size_t>(std::ranges::count_if(
            graph_.of(position),
            [this](std::uint32_t target) { return node_of(objects_[target]) != kNotNamed; }));
    }
    if (references > kMostReferences) {
        most_of_one_ = std::max(kFewestOfOne, kMostReferences / selected_.size());
        named_to_.assign(selected_.size(), 0);
    }
}

model::ReferenceGraph GraphBuilder::name_all() {
    limit_references();
    const auto nodes = static_cast<std::uint32_t>(named_.size());
    for (std::uint32_t node = 0; node < nodes; ++node) {
        add_node(node);
    }
    for (PyObject* const object : named_) {
        Parts parts(*this, object);
        find_parts(object, parts);
    }
    for (std::uint32_t node = 0; node < nodes; ++node) {
        note_locals(node);
        add_edges(node);
    }
    return builder_.finish();
}

}  // namespace cyclewatch::capture
