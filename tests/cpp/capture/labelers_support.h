// SPDX-License-Identifier: Apache-2.0
// Helpers that list the labelled references of an object.
#pragma once

#include <Python.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "capture/edge_labeler.h"

namespace cyclewatch::test {

struct NamedReference {
    std::string label;
    PyObject* target;
    std::string generic;
};

struct NamedPart {
    PyObject* part;
    model::PartRole role;
};

class ReferenceList final : public capture::ReferenceSink {
  public:
    void add(PyObject* target,
             model::EdgeKind kind,
             std::string_view name,
             std::uint32_t index) override {
        references.push_back({model::label_text(kind, name, index),
                              target,
                              model::generic_label_text(kind, name, index)});
    }
    std::vector<NamedReference> references;
};

class PartList final : public capture::PartSink {
  public:
    void add(PyObject* part, model::PartRole role) override { parts.push_back({part, role}); }
    std::vector<NamedPart> parts;
};

inline std::vector<NamedReference> references_of(PyObject* object,
                                                 model::PartRole role = model::PartRole::none,
                                                 PyObject* parent = nullptr) {
    ReferenceList list;
    capture::label_references(object, role, parent, list);
    return list.references;
}

inline std::vector<NamedPart> parts_of(PyObject* parent) {
    PartList list;
    capture::find_parts(parent, list);
    return list.parts;
}

// The labels of all references to `target`, in order, separated by spaces.
inline std::string labels_to(PyObject* target, const std::vector<NamedReference>& references) {
    std::string labels;
    for (const NamedReference& reference : references) {
        if (reference.target == target) {
            labels += (labels.empty() ? "" : " ") + reference.label;
        }
    }
    return labels;
}

inline std::string labels_between(PyObject* object, PyObject* target) {
    return labels_to(target, references_of(object));
}

// The part of `parent` with that role; null if there is none.
inline PyObject* part_in_role(PyObject* parent, model::PartRole role) {
    for (const NamedPart& part : parts_of(parent)) {
        if (part.role == role) {
            return part.part;
        }
    }
    return nullptr;
}

// The labels of the references from the part of `parent` with that role to `target`.
inline std::string labels_in_part(PyObject* parent, model::PartRole role, PyObject* target) {
    PyObject* part = part_in_role(parent, role);
    return part == nullptr ? "no such part" : labels_to(target, references_of(part, role, parent));
}

inline std::vector<PyObject*> referents_of(PyObject* object) {
    std::vector<PyObject*> referents;
    PyTypeObject* type = Py_TYPE(object);
    if (type->tp_traverse != nullptr && PyObject_IS_GC(object) != 0) {
        type->tp_traverse(
            object,
            [](PyObject* referent, void* arg) {
                static_cast<std::vector<PyObject*>*>(arg)->push_back(referent);
                return 0;
            },
            &referents);
    }
    return referents;
}

// The referents that tp_traverse visits and the labelers do not label, except exact str objects,
// which have no references.
inline std::vector<PyObject*> unnamed_referents(PyObject* object) {
    std::vector<PyObject*> unnamed = referents_of(object);
    for (const NamedReference& reference : references_of(object)) {
        const auto found = std::find(unnamed.begin(), unnamed.end(), reference.target);
        if (found != unnamed.end()) {
            unnamed.erase(found);
        }
    }
    std::erase_if(unnamed, [](PyObject* referent) { return PyUnicode_CheckExact(referent); });
    return unnamed;
}

}  // namespace cyclewatch::test
