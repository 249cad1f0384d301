// SPDX-License-Identifier: Apache-2.0
// Types that the user told us of, each with a Python function that reads it:
//     reader(obj) -> {"device": "cuda:0", "nbytes": int, "data_ptr": int, "shape": ...,
//                     "dtype": ...} or None
// The one place where Python runs inside a collection, because the user asked for it.
#pragma once

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

    [[nodiscard]] bool recognises(PyTypeObject* type) const noexcept override;
    // RUNS PYTHON: the user's reader, and sys.unraisablehook the first time a reader raises an
    // Exception. Other exceptions are deferred (python/deferred_exceptions.h).
    [[nodiscard]] ReadOutcome read(PyObject* object, OwnerReading& reading) noexcept override;
    [[nodiscard]] bool runs_user_code() const noexcept override { return true; }
    [[nodiscard]] const char* name() const noexcept override { return "registered"; }

    // One sentence per reader that gave an unusable answer since the last call, once for each
    // registration.
    [[nodiscard]] std::vector<std::string> take_failures();

  private:
    struct Entry {
        python::OwnedRef type;
        python::OwnedRef reader;
    };

    // Takes it out of the table; empty if it is not there.
    [[nodiscard]] Entry take(PyTypeObject* type);
    [[nodiscard]] const Entry* nearest(PyTypeObject* type) const noexcept;
    void report_error(PyObject* reader);
    void report_answer(PyTypeObject* type, PyObject* reader, const std::string& wrong);

    std::vector<Entry> entries_;
    std::unordered_set<PyObject*> told_;  // readers that failed, while they are registered
    std::vector<std::string> failures_;
};

}  // namespace cyclewatch::device
