// SPDX-License-Identifier: Apache-2.0
#include "collector/object_arrays.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collector/tracked_objects.h"
#include "compat/features.h"
#include "compat/frame_access.h"
#include "python/deferred_exceptions.h"
#include "python/guards.h"
#include "python/references.h"
#include "python/type_traversal.h"

namespace cyclewatch::collector {
namespace {

using model::EdgeKind;
using python::OwnedRef;
using python::steal;

// Bits of the flags of an array, from NumPy's public headers.
constexpr int kContiguousInC = 0x1;
constexpr int kContiguousInFortran = 0x2;
constexpr int kOwnsMemory = 0x4;

constexpr int kMostDimensions = 64;
constexpr int kMostNesting = 32;           // of structured types
constexpr std::size_t kMostPlaces = 1024;  // in an element
constexpr std::uint64_t kMostElements = 10'000'000;
constexpr std::size_t kMostReferences = 1'000'000;

enum Field : std::uint8_t { memory, rank, shape, base, dtype, flags, field_count };

struct Verified {
    bool is_done = false;
    PyTypeObject* array_type = nullptr;  // numpy.ndarray, which is never freed; null: not verified
    std::array<Py_ssize_t, field_count> offsets{};
    std::string failure{};
};

Verified& verified() {
    static Verified& result = *new Verified;  // not destroyed at exit, when threads may still run
    return result;
}

// `found`: the result of array_layout().
void accept(PyObject* found, Verified& result) {
    if (PyUnicode_Check(found)) {
        const char* const text = PyUnicode_AsUTF8(found);
        result.failure = text != nullptr ? text : "";
        return;
    }
    PyTypeObject* type = nullptr;
    auto& at = result.offsets;
    if (PyArg_ParseTuple(found,
                         "O!nnnnnn",
                         &PyType_Type,
                         &type,
                         &at[memory],
                         &at[rank],
                         &at[shape],
                         &at[base],
                         &at[dtype],
                         &at[flags]) != 0) {
        result.array_type = type;
    }
}

template <typename Value>
Value value_at(const void* address, std::size_t offset = 0) noexcept {
    std::array<Value, 1> value;
    std::memcpy(value.data(), static_cast<const char*>(address) + offset, sizeof(value));
    return value.front();
}

template <typename Value>
Value field_of(PyObject* array, Field field) noexcept {
    return value_at<Value>(array, static_cast<std::size_t>(verified().offsets[field]));
}

// Where an element stores references to Python objects.
struct Place {
    std::size_t offset = 0;
    std::string field;  // the index that selects the field, such as "['name']"
};

struct ElementLayout {
    std::size_t size = 0;
    std::vector<Place> places;
};

OwnedRef get(PyObject* object, const char* name) {
    return steal(PyObject_GetAttrString(object, name));
}

std::size_t size_of(PyObject* dtype) {
    const OwnedRef size = get(dtype, "itemsize");
    return size && PyLong_Check(size.get()) ? PyLong_AsSize_t(size.get()) : 0;
}

void add_places(PyObject* dtype,
                std::size_t offset,
                const std::string& field,
                int nesting,
                ElementLayout& layout);

void add_fields(PyObject* dtype,
                PyObject* names,
                std::size_t offset,
                const std::string& field,
                int nesting,
                ElementLayout& layout) {
    const OwnedRef fields = get(dtype, "fields");
    for (Py_ssize_t i = 0; fields && i < PyTuple_GET_SIZE(names); ++i) {
        PyObject* const name = PyTuple_GET_ITEM(names, i);
        const OwnedRef found = steal(PyObject_GetItem(fields.get(), name));
        const char* const text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
        if (found && PyTuple_Check(found.get()) && PyTuple_GET_SIZE(found.get()) >= 2 &&
            text != nullptr) {
            const std::size_t start = PyLong_AsSize_t(PyTuple_GET_ITEM(found.get(), 1));
            add_places(PyTuple_GET_ITEM(found.get(), 0),
                       offset + start,
                       field + "['" + text + "']",
                       nesting + 1,
                       layout);
        }
    }
}

void add_items(PyObject* subdtype,
               std::size_t offset,
               const std::string& field,
               int nesting,
               ElementLayout& layout) {
    PyObject* const item = PyTuple_GET_ITEM(subdtype, 0);
    PyObject* const shape = PyTuple_GET_ITEM(subdtype, 1);
    std::size_t count = 1;
    for (Py_ssize_t i = 0; PyTuple_Check(shape) && i < PyTuple_GET_SIZE(shape); ++i) {
        count *= PyLong_AsSize_t(PyTuple_GET_ITEM(shape, i));
    }
    const std::size_t size = size_of(item);
    for (std::size_t i = 0; i < count && layout.places.size() <= kMostPlaces; ++i) {
        add_places(item, offset + i * size, field, nesting + 1, layout);
    }
}

// Other types with references, such as StringDType, do not store objects.
bool is_object_type(PyObject* dtype) {
    const OwnedRef code = get(dtype, "char");
    return code && PyUnicode_Check(code.get()) &&
           PyUnicode_CompareWithASCIIString(code.get(), "O") == 0;
}

void add_places(PyObject* dtype,
                std::size_t offset,
                const std::string& field,
                int nesting,
                ElementLayout& layout) {
    if (nesting > kMostNesting || get(dtype, "hasobject").get() != Py_True) {
        return;
    }
    const OwnedRef subdtype = get(dtype, "subdtype");
    const OwnedRef names = get(dtype, "names");
    if (subdtype && PyTuple_Check(subdtype.get()) && PyTuple_GET_SIZE(subdtype.get()) == 2) {
        add_items(subdtype.get(), offset, field, nesting, layout);
    } else if (names && PyTuple_Check(names.get())) {
        add_fields(dtype, names.get(), offset, field, nesting, layout);
    } else if (is_object_type(dtype)) {
        layout.places.push_back({offset, field});
    }
}

ElementLayout layout_of(PyObject* dtype) {
    ElementLayout layout{.size = size_of(dtype), .places = {}};
    add_places(dtype, 0, "", 0, layout);
    const bool is_valid = PyErr_Occurred() == nullptr && layout.places.size() <= kMostPlaces;
    PyErr_Clear();
    for (const Place& place : layout.places) {
        if (!is_valid || place.offset + sizeof(PyObject*) > layout.size) {
            return {};
        }
    }
    return layout;
}

// The position in the order of `array.flat` of an element in the memory of a Fortran array.
std::uint64_t flat_index(std::uint64_t position, std::span<const Py_ssize_t> shape) noexcept {
    std::uint64_t index = 0;
    std::uint64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        std::uint64_t inner = 1;
        for (std::size_t k = 0; k < i; ++k) {
            inner *= static_cast<std::uint64_t>(shape[k]);
        }
        const auto length = static_cast<std::uint64_t>(shape[i]);
        index += position / inner % length * stride;
        stride *= length;
    }
    return index;
}

bool may_be_in_cycle(PyObject* object) noexcept {
    return object != nullptr && (PyType_IS_GC(Py_TYPE(object)) != 0 || is_array(object));
}

class ArraySearch {
  public:
    explicit ArraySearch(HiddenReferences& hidden) : hidden_(hidden) {}

    void run(std::span<PyObject* const> objects) {
        cyclewatch_visit_threads(&visit_thread, this);
        for (std::size_t i = 0; i < objects.size(); ++i) {
            prefetch_ahead(objects, i);
            PyObject* const object = objects[i];
            next_ = i + 1 < objects.size() ? objects[i + 1] : nullptr;
            type_ = reinterpret_cast<PyObject*>(Py_TYPE(object));
            traversals_.of(Py_TYPE(object)).visit<&visit>(object, this);
            if (is_array(object)) {  // an instance of a subclass
                add_references(object);
            }
            follow_pending();
        }
        follow_pending();
        if (out_of_memory_) {
            throw std::bad_alloc();
        }
    }

  private:
    // Called by tp_traverse, through which exceptions must not propagate.
    static int visit(PyObject* target, void* context) noexcept {
        auto& self = *static_cast<ArraySearch*>(context);
        // Most targets are the next object, the type of the traversed object, or None.
        if (target == self.next_ || target == self.type_ || target == Py_None) {
            return 0;
        }
        if (!may_be_in_cycle(target) || PyObject_GC_IsTracked(target) != 0) {
            return 0;
        }
        try {
            if (PyType_IS_GC(Py_TYPE(target)) == 0 ||
                (PyObject_IS_GC(target) != 0 && leads_on(target))) {
                self.enqueue(target);
            }
        } catch (const std::bad_alloc&) {
            self.out_of_memory_ = true;
        }
        return 0;
    }

    static void visit_thread(const cyclewatch_thread_reference* reference, void* context) {
        if (reference->is_stale == 0) {
            visit(reference->target, context);
        }
    }

    // Most untracked containers contain only strings and numbers.
    static bool leads_on(PyObject* container) noexcept {
        bool leads = false;
        const auto look = [](PyObject* target, void* found) noexcept {
            *static_cast<bool*>(found) |= may_be_in_cycle(target);
            return 0;
        };
        python::TypeTraversal(Py_TYPE(container)).traverse(container, look, &leads);
        return leads;
    }

    void enqueue(PyObject* object) {
        if (is_array(object) && field_of<PyObject*>(object, base) == nullptr &&
            element_layout(object).places.empty()) {
            return;  // an array of numbers
        }
        if (seen_.insert(object).second) {
            pending_.push_back(object);
        }
    }

    void follow_pending() {
        while (!pending_.empty()) {
            PyObject* const object = pending_.back();
            pending_.pop_back();
            const std::size_t before = hidden_.references.size();
            if (is_array(object)) {
                add_references(object);
            } else {
                python::TypeTraversal(Py_TYPE(object)).visit<&visit>(object, this);
            }
            if (!is_array(object) || hidden_.references.size() > before) {
                hidden_.untracked.push_back(object);
            }
        }
    }

    const ElementLayout& element_layout(PyObject* array) {
        auto* const type = field_of<PyObject*>(array, dtype);
        const auto [known, is_new] = layouts_.try_emplace(type);
        if (is_new) {
            known->second = layout_of(type);
        }
        return known->second;
    }

    void add_references(PyObject* array) {
        auto* const owner = field_of<PyObject*>(array, base);
        if (may_be_in_cycle(owner)) {
            add(array, owner, EdgeKind::member, "base", 0);
        }
        const ElementLayout& layout = element_layout(array);
        const int bits = field_of<int>(array, flags);
        const int dimensions = field_of<int>(array, rank);
        const bool is_contiguous = (bits & (kContiguousInC | kContiguousInFortran)) != 0;
        if (!layout.places.empty() && (bits & kOwnsMemory) != 0 && is_contiguous &&
            dimensions >= 0 && dimensions <= kMostDimensions) {
            add_elements(
                array,
                layout,
                {field_of<Py_ssize_t*>(array, shape), static_cast<std::size_t>(dimensions)},
                (bits & kContiguousInC) != 0);
        }
    }

    void add_elements(PyObject* array,
                      const ElementLayout& layout,
                      std::span<const Py_ssize_t> lengths,
                      bool in_c_order) {
        std::uint64_t count = 1;
        for (const Py_ssize_t length : lengths) {
            count *= static_cast<std::uint64_t>(length);
        }
        if (count > kMostElements - elements_) {
            return;
        }
        elements_ += count;
        const auto* element = field_of<const char*>(array, memory);
        for (std::uint64_t i = 0; i < count; ++i, element += layout.size) {
            for (const Place& place : layout.places) {
                auto* const target = value_at<PyObject*>(element, place.offset);
                if (!may_be_in_cycle(target)) {
                    continue;
                }
                const std::uint64_t index = in_c_order ? i : flat_index(i, lengths);
                add_element(array, target, place.field, lengths.size(), index);
            }
        }
    }

    // Labels the reference with the expression that returns the element.
    void add_element(PyObject* array,
                     PyObject* target,
                     const std::string& field,
                     std::size_t dimensions,
                     std::uint64_t index) {
        const auto at = static_cast<std::uint32_t>(index);
        if (dimensions == 1 && field.empty()) {
            add(array, target, EdgeKind::index, "", at);
        } else {
            add(array, target, EdgeKind::member_item, field + (dimensions == 1 ? "" : ".flat"), at);
        }
    }

    void add(
        PyObject* array, PyObject* target, EdgeKind kind, std::string name, std::uint32_t index) {
        if (++references_ <= kMostReferences) {
            hidden_.references.push_back({array, target, kind, std::move(name), index});
            visit(target, this);
        }
    }

    HiddenReferences& hidden_;
    python::TypeTraversals traversals_;
    PyObject* next_ = nullptr;  // the object after the one that is traversed
    PyObject* type_ = nullptr;  // of the object that is traversed
    std::unordered_map<PyObject*, ElementLayout> layouts_;  // by dtype
    std::unordered_set<PyObject*> seen_;
    std::vector<PyObject*> pending_;
    std::uint64_t elements_ = 0;  // that were read
    std::size_t references_ = 0;
    bool out_of_memory_ = false;
};

}  // namespace

void verify_arrays() noexcept {
    if (CYCLEWATCH_HAS_NO_GIL || verified().is_done) {
        return;
    }
    const python::ErrorStash stash;
    // A process to which the extension was attached has no package, and must get none.
    PyObject* const modules = PyImport_GetModuleDict();
    if (PyDict_GetItemString(modules, "numpy") == nullptr ||
        PyDict_GetItemString(modules, "cyclewatch") == nullptr) {
        return;
    }
    const python::TracingPause untraced;
    const OwnedRef module = steal(PyImport_ImportModule("cyclewatch.proofs.numpy_layout"));
    const OwnedRef found =
        steal(module ? PyObject_CallMethod(module.get(), "array_layout", nullptr) : nullptr);
    if (found && found.get() != Py_None) {  // None: NumPy is being imported
        verified().is_done = true;
        accept(found.get(), verified());
    }
    if (PyErr_Occurred() != nullptr && python::defer_exception()) {
        python::raise_deferred();  // for example, KeyboardInterrupt
    }
}

const std::string& array_failure() noexcept {
    return verified().failure;
}

bool is_array(PyObject* object) noexcept {
    PyTypeObject* const type = verified().array_type;
    return type != nullptr && PyObject_TypeCheck(object, type) != 0;
}

void add_array_references(std::span<PyObject* const> objects, HiddenReferences& hidden) {
    hidden.has_arrays = true;
    if (verified().array_type == nullptr) {
        return;
    }
    const python::ErrorStash stash;
    const python::GcPause pause;
    const python::YoungCountGuard young_count;
    HiddenReferences found;
    ArraySearch(found).run(objects);
    // A cycle contains at least one object that the collector tracks.
    const bool may_be_in_cycle = std::ranges::any_of(
        found.references,
        [](const HiddenReference& each) { return PyType_IS_GC(Py_TYPE(each.target)) != 0; });
    if (!may_be_in_cycle) {
        return;
    }
    std::ranges::move(found.references, std::back_inserter(hidden.references));
    std::ranges::move(found.untracked, std::back_inserter(hidden.untracked));
    hidden.sort();
}

}  // namespace cyclewatch::collector
