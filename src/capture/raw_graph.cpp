// SPDX-License-Identifier: Apache-2.0
#include "capture/raw_graph.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <string_view>

#include "base/populate.h"
#include "python/type_traversal.h"

namespace cyclewatch::capture {
namespace {

// Collects the positions of visited objects. Most references lead to the next object in the list,
// or to the most recently visited object outside the list (usually a class). Neither kind of
// reference requires a lookup.
class EdgeCollector {
  public:
    EdgeCollector(std::span<PyObject* const> objects,
                  const collector::PointerIndex& index,
                  std::vector<std::uint32_t>& targets)
        : objects_(objects), index_(index), targets_(targets) {}

    void collect(std::uint32_t position, const python::TypeTraversal& type) {
        next_ = position + 1;
        neighbor_ = next_ < objects_.size() ? objects_[next_] : nullptr;
        PyObject* const object = objects_[position];
        const auto add_target = [this](PyObject * target) __attribute__((always_inline)) {
            add(target);
        };
        if (!type.visit_directly(object, add_target)) {
            type.traverse(object, visit, this);
        } else if (type.is_plain()) {
            add(reinterpret_cast<PyObject*>(type.type()));
        }
        if (out_of_memory_) {
            throw std::bad_alloc();
        }
    }

    void add_one(PyObject* target) {
        add(target);
        if (out_of_memory_) {
            throw std::bad_alloc();
        }
    }

  private:
    // Called by tp_traverse, through which exceptions must not propagate.
    static int visit(PyObject* target, void* context) noexcept {
        auto& self = *static_cast<EdgeCollector*>(context);
        self.add(target);
        return self.out_of_memory_ ? 1 : 0;
    }

    [[gnu::always_inline]] void add(PyObject* target) noexcept {
        if (target == outsider_ || target == nullptr) {
            return;
        }
        const std::uint32_t position = target == neighbor_ ? next_ : index_.find(target);
        if (position == collector::PointerIndex::kAbsent) {
            outsider_ = target;
            return;
        }
        if (targets_.size() == targets_.capacity()) [[unlikely]] {
            make_room();
        }
        if (targets_.size() < targets_.capacity()) [[likely]] {
            targets_.push_back(position);
        }
    }

    [[gnu::noinline]] void make_room() noexcept {
        try {
            targets_.reserve(std::max<std::size_t>(targets_.capacity() * 2, 1024));
        } catch (const std::exception&) {
            out_of_memory_ = true;
        }
    }

    const std::span<PyObject* const> objects_;
    const collector::PointerIndex& index_;
    std::vector<std::uint32_t>& targets_;
    PyObject* outsider_ = nullptr;  // the last target that is not among the objects
    PyObject* neighbor_ = nullptr;  // the object after the current one
    std::uint32_t next_ = 0;        // position of `neighbor_`
    bool out_of_memory_ = false;
};

std::uint32_t hash_of(const void* pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    return static_cast<std::uint32_t>((address * 0x9e3779b97f4a7c15ULL) >> 32);
}

constexpr std::size_t kMaxNameLength = 4096;

// The Python object and the C++ object of a tensor both refer to its dict of hooks. Removing a hook
// from the dict removes it from both, so that they count as one reference.
bool is_second_of_pair(const collector::HiddenReference& reference,
                       std::span<const collector::HiddenReference> all) {
    return std::ranges::any_of(all, [&](const collector::HiddenReference& other) {
        return other.is_visited && other.target == reference.target &&
               other.name == reference.name && other.index == reference.index;
    });
}

}  // namespace

// Functions are identified by their code, and classes by their name, because the same definition
// may be executed repeatedly.
std::uint32_t kind_of(PyObject* object) {
    const std::uint32_t type = hash_of(Py_TYPE(object));
    if (PyFunction_Check(object)) {
        return type ^ hash_of(PyFunction_GET_CODE(object));
    }
    if (PyType_Check(object)) {
        const char* const text = reinterpret_cast<PyTypeObject*>(object)->tp_name;
        const std::string_view name(text, strnlen(text, kMaxNameLength));
        return type ^ static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
    }
    return type;
}

Adjacency make_raw_graph(std::span<PyObject* const> objects,
                         const collector::PointerIndex& index,
                         const collector::HiddenReferences* hidden) {
    Adjacency references;
    base::reserve_pages(references.first, objects.size() + 1);
    // Most objects have one or two references to other unreachable objects.
    base::reserve_pages(references.targets, objects.size() * 2, objects.size());
    python::TypeTraversals traversals;
    EdgeCollector edges(objects, index, references.targets);
    for (std::uint32_t position = 0; position < objects.size(); ++position) {
        __builtin_prefetch(objects[std::min<std::size_t>(position + 8, objects.size() - 1)]);
        edges.collect(position, traversals.of(Py_TYPE(objects[position])));
        if (hidden != nullptr) {
            const std::span<const collector::HiddenReference> all = hidden->of(objects[position]);
            for (const collector::HiddenReference& each : all) {
                if (!each.is_visited && !is_second_of_pair(each, all)) {
                    edges.add_one(each.target);
                }
            }
        }
        references.first.push_back(static_cast<std::uint32_t>(references.targets.size()));
    }
    return references;
}

Adjacency reversed(const Adjacency& graph) {
    // At first, the start of row n is stored at index n + 1. Filling the row advances that value to
    // the end of the row, which is the start of row n + 1.
    Adjacency reverse;
    const std::size_t nodes = graph.nodes();
    std::vector<std::uint32_t>& first = reverse.first;
    base::reserve_pages(first, nodes + 2);
    first.resize(nodes + 2);
    for (const std::uint32_t target : graph.targets) {
        ++first[target + 2];
    }
    for (std::size_t n = 2; n < first.size(); ++n) {
        first[n] += first[n - 1];
    }
    base::reserve_pages(reverse.targets, graph.targets.size());
    reverse.targets.resize(graph.targets.size());
    for (std::uint32_t from = 0; from < nodes; ++from) {
        for (const std::uint32_t target : graph.of(from)) {
            reverse.targets[first[target + 1]++] = from;
        }
    }
    first.pop_back();
    return reverse;
}

}  // namespace cyclewatch::capture
