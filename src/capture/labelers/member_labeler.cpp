// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "capture/labelers/labelers.h"
#include "capture/labelers/visit.h"
#include "compat/native_members.h"
#include "compat/object_layout.h"

namespace cyclewatch::capture {
namespace {

using model::EdgeKind;

constexpr std::size_t kMaxCandidates = 48;

// A word of the object that may hold a reference, and what it would be called.
struct Candidate {
    PyObject* target;
    const char* name;
    Py_ssize_t offset;
    bool used;
};

// Gathers what an object's words are called and names what tp_traverse confirms: a member that
// is borrowed, or a word that means something else in this version, is never visited.
class Candidates {
  public:
    void add(PyObject* target, const char* name, Py_ssize_t offset) noexcept {
        // One word, one name: __wrapped__ of a staticmethod is its __func__ again.
        for (std::size_t i = 0; i < size_; ++i) {
            if (items_[i].offset == offset) {
                return;
            }
        }
        if (size_ < items_.size()) {
            items_[size_++] = {target, name, offset, false};
        }
    }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    // The name of the next unused word that holds `target`; of the last one where all are used
    // (an object in C++ may visit one referent on behalf of several holders); null for none.
    const char* take(const PyObject* target) noexcept {
        const char* last = nullptr;
        for (std::size_t i = 0; i < size_; ++i) {
            if (items_[i].target != target) {
                continue;
            }
            last = items_[i].name;
            if (!items_[i].used) {
                items_[i].used = true;
                break;
            }
        }
        return last;
    }

  private:
    std::array<Candidate, kMaxCandidates> items_;
    std::size_t size_ = 0;
};

// `word` as in cyclewatch_native_member; nothing if it is behind the end of the object.
void add_word(Candidates& candidates,
              PyObject* object,
              const PyTypeObject* type,
              std::size_t word,
              const char* name) {
    const std::size_t place = cyclewatch_place_of_word(word);
    if (place >= static_cast<std::size_t>(type->tp_basicsize) / sizeof(PyObject*)) {
        return;
    }
    PyObject* target = reinterpret_cast<PyObject**>(object)[place];
    if (target != nullptr && name != nullptr) {
        candidates.add(target, name, static_cast<Py_ssize_t>(place * sizeof(PyObject*)));
    }
}

void add_torch_words(Candidates& candidates, PyObject* object, const PyTypeObject* type) {
    if (!is_torch_struct(type->tp_name)) {
        return;
    }
    const auto words = static_cast<std::size_t>(type->tp_basicsize) / sizeof(PyObject*);
    for (std::size_t word = 2; word < words; ++word) {
        add_word(candidates, object, type, word, torch_word_name(type->tp_name, word));
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
            continue;  // label_instance() names them
        }
        visit_members(type, object, [&](const char* name, PyObject* value, Py_ssize_t offset) {
            if (std::strcmp(name, "__dict__") != 0) {
                candidates.add(value, name, offset);
            }
        });
        add_native_words(candidates, object, type);
        add_torch_words(candidates, object, type);
    }
}

// functools.lru_cache visits, per cached call, the key, the result and the link's type.
void label_cached_results(PyTypeObject* type,
                          PyObject* object,
                          Candidates& candidates,
                          ReferenceSink& sink) {
    const PyObject* named_already = cyclewatch_existing_dict(object);
    std::size_t position = 0;
    bool type_is_due = true;
    traverse_as(type, object, [&](PyObject* referent) {
        if (type_is_due && referent == reinterpret_cast<PyObject*>(Py_TYPE(object))) {
            type_is_due = false;
            return;
        }
        if (referent == named_already) {
            return;
        }
        const char* name = candidates.take(referent);
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

PyTypeObject* base_named(PyTypeObject* type, const char* name) noexcept {
    for (; type != nullptr; type = type->tp_base) {
        if (std::strcmp(type->tp_name, name) == 0) {
            return type;
        }
    }
    return nullptr;
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
    if (candidates.empty()) {
        return;
    }
    traverse_as(type, object, [&](PyObject* referent) {
        const char* name = candidates.take(referent);
        if (name != nullptr) {
            add_member(sink, referent, name);
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
