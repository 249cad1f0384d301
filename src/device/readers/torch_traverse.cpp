// SPDX-License-Identifier: Apache-2.0
#include "device/readers/torch_traverse.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace cyclewatch::device {
namespace {

struct Referents {
    std::vector<PyObject*> objects{};
    bool out_of_memory = false;

    static int visit(PyObject* target, void* context) noexcept {
        auto& self = *static_cast<Referents*>(context);
        try {
            self.objects.push_back(target);
        } catch (const std::bad_alloc&) {
            self.out_of_memory = true;
        }
        return 0;
    }
};

std::vector<PyObject*> referents_of(PyObject* object) {
    Referents referents;
    if (Py_TYPE(object)->tp_traverse != nullptr) {
        Py_TYPE(object)->tp_traverse(object, &Referents::visit, &referents);
    }
    if (referents.out_of_memory) {
        throw std::bad_alloc();
    }
    return std::move(referents.objects);
}

}  // namespace

void mark_visited(collector::HiddenReferences& hidden) {
    std::vector<PyObject*> visited;
    const PyObject* holder = nullptr;
    for (collector::HiddenReference& reference : hidden.references) {
        if (reference.holder != holder) {
            holder = reference.holder;
            visited = referents_of(reference.holder);
        }
        const auto found = std::ranges::find(visited, reference.target);
        if (found != visited.end()) {
            reference.is_visited = true;
            *found = nullptr;
        }
    }
}

void uncount_hooks_of_leaves(collector::HiddenReferences& hidden) {
    for (const collector::HiddenReference& reference : hidden.references) {
        if (reference.name != "variable" || reference.is_visited) {
            continue;
        }
        const std::vector<PyObject*> of_leaf = referents_of(reference.target);
        for (PyObject* const visited : referents_of(reference.holder)) {
            const bool is_own = std::ranges::any_of(
                hidden.of(reference.holder),
                [&](const collector::HiddenReference& own) { return own.target == visited; });
            if (!is_own && PyDict_Check(visited) && std::ranges::count(of_leaf, visited) > 0) {
                hidden.counts.emplace_back(visited, 1);
            }
        }
    }
}

}  // namespace cyclewatch::device
