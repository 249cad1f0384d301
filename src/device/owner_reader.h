// SPDX-License-Identifier: Apache-2.0
// The interface of readers. A reader determines which types of a library own device memory, and
// which memory an instance owns. Readers run inside a collection on unreachable objects, and
// outside of collections on any object.
//
// Rules for every reader (docs/design/collector.md explains them):
//   REQUIRES: GIL held. RUNS PYTHON: no user code; only C getters of the library.
//   Must not create a GC object that refers to the object being read.
//   Must not leave a Python error set.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "collector/unreachable_set.h"
#include "device/torch_layout.h"

namespace cyclewatch::device {

// A weak reference to a storage, queried after the collection.
class WeakStorage {
  public:
    virtual ~WeakStorage() = default;
    // True if the memory was freed. REQUIRES: GIL held, after the collection has freed its objects.
    // RUNS PYTHON: no user code.
    [[nodiscard]] virtual bool released() noexcept = 0;
};

// A library object to which no Python code refers. Several readings may list it.
struct UnsharedObject {
    const PyObject* object = nullptr;   // identifies it; may be dangling
    std::int64_t known_references = 0;  // number of references to the storage that it accounts for
};

struct OwnerReading {
    std::string device;         // "cuda:0", "cpu"
    std::uint64_t bytes = 0;    // of the whole storage, not of the view; watch/owner_readings.h
                                // counts memory that overlaps other storages once
    bool is_covered = false;    // all of its memory is counted with other storages
    std::uint64_t storage = 0;  // identifies a living storage (data pointer or handle): equal for
                                // all views of a storage on a device
    bool has_address = true;    // false: `storage` is not an address on the device
    std::string shape;          // "[2, 3]"; may be empty
    std::string dtype;          // "float32"; may be empty
    std::string note;           // added to the type: "committed"; usually empty
    int left_objects = 0;       // GC objects that the reader created and that live as long as the
                                // storage
    std::string part;           // for an element of `parts`: its label (".grad"); "" for a shard
    bool is_shard = false;      // a storage of an array that has several, all of the same kind
    std::unique_ptr<WeakStorage> weak_storage;  // null: the storage is freed with its owners
    // Set by count_references(). The storage dies with its owners if the owners account for all
    // references to the storage.
    std::uint64_t storage_references = 0;  // 0: unknown
    std::int64_t known_references = 0;
    PyObject* base = nullptr;  // borrowed; if it dies too, it accounts for one more reference
    // Objects that may refer to the storage and that are referenced only by the library.
    std::vector<UnsharedObject> unshared;
    // The result of operations that require grad: it also keeps the tensors that they saved for
    // backward, which may have no Python object.
    bool has_graph = false;
    bool goes_with_storage = false;   // the owner dies if and only if the storage does
    std::vector<OwnerReading> parts;  // storages that die with the owner and that only
                                      // its library can reach
};

enum class ReadOutcome : std::uint8_t {
    owns,          // `reading` is filled
    owns_nothing,  // a fake, meta, empty or wrapper tensor
    failed,        // skipped and counted; logged once per reader
};

// A reference that the library holds and that is invisible to the collector.
struct LibraryReference {
    const char* attribute = "";  // the attribute that returns the target
    bool removable = false;      // by assigning None to the attribute
    PyObject* target = nullptr;  // borrowed; alive as long as the holder
    // The library's references to one target share a single reference to the target's Python
    // object. If all of the library's references are known, exactly one of them has this flag.
    bool completes = false;
    bool is_small_view = false;  // the holder is a view of at most half of the target
};

struct OwnerReference {
    PyObject* holder = nullptr;  // borrowed, like the target
    LibraryReference reference;
};

// The computation graphs that were not read.
struct UnreadGraphs {
    enum class Reason : std::uint8_t {
        none,           // all graphs were read
        hidden,         // the library does not show what it saved in them
        backward,       // another thread runs a backward pass
        too_many_nodes  // in these graphs, or in one that was read earlier
    };
    Reason reason = Reason::none;
    // The owners of the graphs, if there are too many nodes: those of the largest graph if it has
    // most of the nodes. Borrowed.
    std::unordered_set<PyObject*> holders;
};

// What a computation graph keeps alive, or the object of a node of the graph.
struct GraphTarget {
    python::OwnedRef object;
    PyObject* source = nullptr;  // borrowed: the first object that led to it; null if unknown
    bool is_used = false;        // something else than the library may hold the source
};

class OwnerReader {
  public:
    virtual ~OwnerReader() = default;
    // True if instances of `type` may own device memory. Determined from the MRO.
    [[nodiscard]] virtual bool recognises(PyTypeObject* type) const noexcept = 0;
    [[nodiscard]] virtual ReadOutcome read(PyObject* object, OwnerReading& reading) noexcept = 0;
    // Number of references to `object` that the library holds and that are invisible to the
    // collector. If all other references come from dying objects, `object` may die too; a check
    // after the collection shows whether it died.
    [[nodiscard]] virtual Py_ssize_t hidden_references(PyObject* /*object*/) noexcept { return 0; }
    // Appends the references from `object` that are stored inside the library and readable as
    // attributes. Reading them may cause the library to create the targets.
    virtual void add_references(PyObject* /*object*/,
                                std::vector<LibraryReference>& /*references*/) {}
    // Appends references from `owners` to the objects that their computation graphs keep alive. May
    // cause the library to create objects for the nodes of the graphs; these objects live as long
    // as the nodes.
    virtual void add_graph_references(std::span<PyObject* const> /*owners*/,
                                      std::vector<OwnerReference>& /*references*/) {}
    // Appends the objects that the computation graphs among `objects` keep alive: the graphs of
    // owners, those whose nodes are among `objects`, and tensors saved in lists. An object may be
    // appended several times. May cause the library to create objects, as above. Adds to `unread`
    // what was left out. May throw std::bad_alloc.
    virtual void add_graph_targets(std::span<PyObject* const> /*objects*/,
                                   std::vector<GraphTarget>& /*targets*/,
                                   UnreadGraphs& /*unread*/) {}
    // Adds the references that the library stores in C++, of all of its objects among `objects` and
    // of the objects that these references lead to, as far as `layout` allows. May cause the
    // library to create Python objects, which live as long as their C++ objects. May throw
    // std::bad_alloc. RUNS PYTHON: no user code. REQUIRES: automatic collection is paused.
    virtual void add_hidden_references(std::span<PyObject* const> /*objects*/,
                                       const TorchLayout& /*layout*/,
                                       collector::HiddenReferences& /*hidden*/) {}
    // For each of `owners`, the number of nodes of its autograd graph that are not in the graph of
    // an earlier one. Empty if the library has no graphs. May create objects, as above. May throw
    // std::bad_alloc.
    [[nodiscard]] virtual std::vector<std::size_t> graph_sizes(
        std::span<PyObject* const> /*owners*/) {
        return {};
    }
    // Number of references to `object` that the library holds, including references that
    // add_references() cannot find; negative if unknown.
    [[nodiscard]] virtual Py_ssize_t library_holders(PyObject* /*object*/) noexcept { return -1; }
    // Counts the references to the memory, because the collector cannot see these references.
    // Called after read(). RUNS PYTHON: no user code.
    virtual void count_references(PyObject* /*object*/, OwnerReading& /*reading*/) noexcept {}
    // True if read() runs user code, which may invalidate every borrowed reference.
    [[nodiscard]] virtual bool runs_user_code() const noexcept { return false; }
    // True if the device, size and address are claims of the object or of user code, which CUDA may
    // contradict (device/claim_check.h).
    [[nodiscard]] virtual bool reads_claims() const noexcept { return false; }
};

}  // namespace cyclewatch::device
