// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/labelers/visit.h"
#include "compat/getter_fields.h"
#include "compat/native_members.h"
#include "compat/object_layout.h"

namespace cyclewatch::capture {
namespace {

using model::EdgeKind;

constexpr std::size_t kMaxCandidates = 48;

// A named, pointer-sized word of an object. The word may be a reference.
struct Candidate {
    PyObject* target;
    const char* name;
    Py_ssize_t offset;
    bool used;
};

// The pointer-sized words of an object that have names. A name is used only if tp_traverse visits
// the referent. This excludes borrowed members and words that have another meaning in this Python
// version.
class Candidates {
  public:
    // True if the word at `offset` has a name.
    [[nodiscard]] bool has(Py_ssize_t offset) const noexcept {
        for (std::size_t i = 0; i < size_; ++i) {
            if (items_[i].offset == offset) {
                return true;
            }
        }
        return false;
    }

    void add(PyObject* target, const char* name, Py_ssize_t offset) noexcept {
        // If a word has two names, such as __func__ and __wrapped__ of a staticmethod, the first
        // name is used.
        if (!has(offset) && size_ < items_.size()) {
            items_[size_++] = {target, name, offset, false};
        }
    }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    // Marks the next unused word that refers to `target` as used and returns its name; null if
    // there is none.
    const char* take(const PyObject* target) noexcept {
        for (std::size_t i = 0; i < size_; ++i) {
            if (items_[i].target == target && !items_[i].used) {
                items_[i].used = true;
                return items_[i].name;
            }
        }
        return nullptr;
    }

    // Returns the name of the last word that refers to `target`, whether used or not; null if there
    // is none. Needed because the tp_traverse of a C++ object may visit one referent several times.
    [[nodiscard]] const char* last(const PyObject* target) const noexcept {
        const char* name = nullptr;
        for (std::size_t i = 0; i < size_; ++i) {
            name = items_[i].target == target ? items_[i].name : name;
        }
        return name;
    }

  private:
    std::array<Candidate, kMaxCandidates> items_;
    std::size_t size_ = 0;
};

// `word` has the same meaning as cyclewatch_native_member::word. Words outside the object are
// ignored.
void add_word(Candidates& candidates,
              PyObject* object,
              const PyTypeObject* type,
              std::size_t word,
              const char* name) {
    const std::size_t index = cyclewatch_index_of_word(word);
    if (index >= static_cast<std::size_t>(type->tp_basicsize) / sizeof(PyObject*)) {
        return;
    }
    PyObject* target = reinterpret_cast<PyObject**>(object)[index];
    if (target != nullptr && name != nullptr) {
        candidates.add(target, name, static_cast<Py_ssize_t>(index * sizeof(PyObject*)));
    }
}

void add_native_words(Candidates& candidates, PyObject* object, const PyTypeObject* type) {
    std::size_t count = 0;
    const cyclewatch_native_member* members = cyclewatch_native_members_of(type->tp_name, &count);
    for (std::size_t i = 0; i < count; ++i) {
        add_word(candidates, object, type, members[i].word, members[i].name);
    }
}

void gather(Candidates& candidates, PyObject* object) {
    for (PyTypeObject* type = Py_TYPE(object); type != nullptr && type != &PyBaseObject_Type;
         type = type->tp_base) {
        if (cyclewatch_type_has_slots(type) != 0) {
            continue;  // labelled by label_instance()
        }
        visit_members(type, object, [&](const char* name, PyObject* value, Py_ssize_t offset) {
            if (std::strcmp(name, "__dict__") != 0) {
                candidates.add(value, name, offset);
            }
        });
        add_native_words(candidates, object, type);
    }
}

// True if the object's own struct may contain references that another labeler labels, such as the
// elements of a small set.
bool has_items(PyObject* object) noexcept {
    if (PyDict_Check(object) || PyList_Check(object) || PyAnySet_Check(object) ||
        PyExceptionInstance_Check(object)) {
        return true;
    }
    return ordered_container_base(Py_TYPE(object)) != nullptr;
}

// The unnamed pointer-sized fields that C types add to the structs of their bases. These fields are
// never dereferenced, only compared with the referents that tp_traverse visits.
class UnnamedFields {
  public:
    UnnamedFields(const Candidates& named, PyObject* object) : named_(named), object_(object) {
        if (has_items(object)) {
            return;
        }
        for (PyTypeObject* type = Py_TYPE(object); type != nullptr && type != &PyBaseObject_Type;
             type = type->tp_base) {
            if (adds_fields(type)) {
                begin_ = type->tp_base->tp_basicsize;
                end_ = std::max(end_, type->tp_basicsize);
            }
        }
        begin_ = (begin_ + kWord - 1) / kWord * kWord;
    }

    [[nodiscard]] bool empty() const noexcept { return end_ < begin_ + kWord; }

    // Labels the next unused field that refers to `target`: as an attribute if a getter returns the
    // field, otherwise by its offset. Returns false if there is no such field.
    bool label(PyObject* target, ReferenceSink& sink) {
        const Py_ssize_t offset = take(target);
        if (offset == 0) {
            return false;
        }
        if (const char* name = cyclewatch_name_of_field(Py_TYPE(object_), offset)) {
            sink.add(target, EdgeKind::attribute, name, 0);
        } else {
            sink.add(target, EdgeKind::field, {}, static_cast<std::uint32_t>(offset));
        }
        return true;
    }

  private:
    static constexpr auto kWord = static_cast<Py_ssize_t>(sizeof(PyObject*));

    // False for the struct of a Python class, in which every field has a name.
    static bool adds_fields(PyTypeObject* type) noexcept {
        if (type->tp_base == nullptr || cyclewatch_type_has_slots(type) != 0) {
            return false;
        }
        const Py_ssize_t begin = type->tp_base->tp_basicsize;
        Py_ssize_t known = 0;  // bytes for __dict__ and __weakref__
        for (const Py_ssize_t offset : {type->tp_dictoffset, type->tp_weaklistoffset}) {
            known += offset >= begin && offset < type->tp_basicsize ? kWord : 0;
        }
        return type->tp_basicsize - begin - known >= kWord;
    }

    // Marks the next unused word that refers to `target` as used and returns its offset; 0 if there
    // is none.
    Py_ssize_t take(const PyObject* target) {
        for (Py_ssize_t offset = begin_; offset + kWord <= end_; offset += kWord) {
            if (word_at(offset) == target && !named_.has(offset) && !is_used(offset)) {
                used_.push_back(offset);
                return offset;
            }
        }
        return 0;
    }

    [[nodiscard]] const PyObject* word_at(Py_ssize_t offset) const noexcept {
        return *reinterpret_cast<PyObject* const*>(reinterpret_cast<const char*>(object_) + offset);
    }
    [[nodiscard]] bool is_used(Py_ssize_t offset) const {
        return std::find(used_.begin(), used_.end(), offset) != used_.end();
    }

    const Candidates& named_;
    PyObject* object_;
    Py_ssize_t begin_ = 0;
    Py_ssize_t end_ = 0;
    std::vector<Py_ssize_t> used_;
};

// Labels the items of a functools.lru_cache. The tp_traverse of functools.lru_cache visits three
// objects for each cached call: the key, the result and the type of the linked-list node.
void label_cached_results(PyTypeObject* type,
                          PyObject* object,
                          Candidates& candidates,
                          ReferenceSink& sink) {
    const PyObject* named_already = cyclewatch_existing_dict(object);
    std::size_t position = 0;
    bool type_is_pending = true;
    traverse_as(type, object, [&](PyObject* referent) {
        if (type_is_pending && referent == reinterpret_cast<PyObject*>(Py_TYPE(object))) {
            type_is_pending = false;
            return;
        }
        if (referent == named_already) {
            return;
        }
        const char* name = candidates.take(referent);
        name = name == nullptr ? candidates.last(referent) : name;
        if (name != nullptr) {
            add_member(sink, referent, name);
            return;
        }
        const bool is_key = position++ % 2 == 0;
        if (is_key) {
            sink.add(referent, EdgeKind::dict_key, {}, 0);
        } else {
            add_member(sink, referent, "cached_result");
        }
    });
}

}  // namespace

void label_members(PyObject* object, ReferenceSink& sink) {
    Candidates candidates;
    gather(candidates, object);
    PyTypeObject* type = Py_TYPE(object);
    if (PyTypeObject* cache = base_named(type, "functools._lru_cache_wrapper")) {
        label_cached_results(cache, object, candidates, sink);
        return;
    }
    if (is_torch_autograd_node(type)) {
        traverse_as(type, object, [&](PyObject* referent) { add_member(sink, referent, "hooks"); });
        return;
    }
    UnnamedFields unnamed(candidates, object);
    if (candidates.empty() && unnamed.empty()) {
        return;
    }
    const PyObject* const dict = cyclewatch_existing_dict(object);  // see label_instance()
    traverse_as(type, object, [&](PyObject* referent) {
        if (const char* name = candidates.take(referent)) {
            add_member(sink, referent, name);
        } else if (referent == dict || unnamed.label(referent, sink)) {
            return;
        } else if (const char* last = candidates.last(referent)) {
            add_member(sink, referent, last);
        }
    });
}

PyObject* find_member(PyObject* object, std::string_view name) {
    PyObject* found = nullptr;
    for (PyTypeObject* type = Py_TYPE(object); type != nullptr; type = type->tp_base) {
        if (cyclewatch_type_has_slots(type) != 0) {
            continue;
        }
        visit_members(type, object, [&](const char* member, PyObject* value, Py_ssize_t) {
            if (found == nullptr && name == member) {
                found = value;
            }
        });
    }
    return found;
}

}  // namespace cyclewatch::capture
