// SPDX-License-Identifier: Apache-2.0
// Labels the references of objects on a path. REQUIRES: GIL held. RUNS PYTHON: never. Creates no
// Python objects. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/reference_graph.h"
#include "retention/path_names.h"

namespace cyclewatch::retention {

// Whether to show dict keys that do not occur in the source code. They may be user data.
enum class Keys : std::uint8_t { shown, hidden };

// Stores the labels of a large container's references. A label without a name, such as the label of
// a tuple item, takes about 16 bytes.
class ContainerLabels {
  public:
    void reserve(std::size_t count) { unnamed_.reserve(count); }
    void add(PyObject* target, model::EdgeKind kind, std::string_view name, std::uint32_t index);
    // Must be called after the last add() and before find().
    void sort();
    [[nodiscard]] Label find(PyObject* target) const;

  private:
    struct Unnamed {
        PyObject* target;
        std::uint32_t index;
        model::EdgeKind kind;
    };
    std::vector<Unnamed> unnamed_;
    std::unordered_map<PyObject*, Label> named_;
};

// The indexes of a large list's items, sorted by the addresses of the items. Needs 4 bytes per
// item.
class ListIndexes {
  public:
    explicit ListIndexes(PyObject* list);
    // A label with the item's first index; an empty label if the item is not in the list.
    [[nodiscard]] Label find(PyObject* item) const;

  private:
    PyObject* list_;
    std::vector<std::uint32_t> sorted_;
};

// Labels references. Reads the references of a large container only once.
class Labels {
  public:
    explicit Labels(Keys keys) : keys_(keys) {}
    // `role` and `parent`: see capture::label_references().
    [[nodiscard]] Label find(PyObject* holder,
                             model::PartRole role,
                             PyObject* parent,
                             PyObject* target);

  private:
    Keys keys_;
    std::map<std::pair<PyObject*, model::PartRole>, ContainerLabels> known_;
    std::unordered_map<PyObject*, ListIndexes> lists_;
};

}  // namespace cyclewatch::retention
