// SPDX-License-Identifier: Apache-2.0
// The reader for types that the user has registered, each with a Python function that reads
// instances. No other reader runs Python code in a collection. The function has this interface:
//     reader(obj) -> {"device": "cuda:0", "nbytes": int, "data_ptr": int, "shape": ...,
//                     "dtype": ...} or None
#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "device/owner_reader.h"
#include "python/references.h"

namespace cyclewatch::device {

// REQUIRES (every method): GIL held.
class RegisteredReader final : public OwnerReader {
  public:
    void add(PyTypeObject* type, PyObject* reader);
    bool remove(PyTypeObject* type);
    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
    // True if instances of a registered type have no GC header, so the collector does not list
    // them.
    [[nodiscard]] bool has_untracked_type() const noexcept {
        return std::ranges::any_of(entries_, [](const Entry& entry) {
            return PyType_IS_GC(reinterpret_cast<PyTypeObject*>(entry.type.get())) == 0;
        });
    }

    [[nodiscard]] bool recognises(PyTypeObject* type) const noexcept override;
    // RUNS PYTHON: the user's reader, and sys.unraisablehook the first time the reader raises an
    // Exception or returns an invalid result. Other exceptions are deferred
    // (python/deferred_exceptions.h).
    [[nodiscard]] ReadOutcome read(PyObject* object, OwnerReading& reading) noexcept override;
    [[nodiscard]] bool runs_user_code() const noexcept override { return true; }
    [[nodiscard]] bool reads_claims() const noexcept override { return true; }

  private:
    struct Entry {
        python::OwnedRef type;
        python::OwnedRef reader;
    };

    // Removes and returns the entry of `type`; empty if there is none.
    [[nodiscard]] Entry take(PyTypeObject* type);
    // The entry of the first registered class in the MRO of `type`, or null.
    [[nodiscard]] const Entry* nearest(PyTypeObject* type) const noexcept;
    // Clears the exception, which is passed to sys.unraisablehook once per registration.
    void report_error(PyObject* reader);

    std::vector<Entry> entries_;
    std::unordered_set<PyObject*> reported_;  // registered readers whose failure was reported
};

}  // namespace cyclewatch::device
