// SPDX-License-Identifier: Apache-2.0
#include "python/layout_check.h"

#include <Python.h>

#include <string>
#include <string_view>
#include <utility>

#include "compat/features.h"
#include "compat/frame_access.h"
#include "compat/object_layout.h"
#include "python/forced_unwind.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::python {
namespace {

constexpr const char* kSamples = R"(
class Sample: pass

one, two = [], []

plain = Sample()
plain.first = one
plain.second = two

opened = Sample()
opened.first = one
opened_dict = opened.__dict__

def fail(held):
    raise ValueError

def catches(held):
    try:
        fail(held)
    except ValueError as error:
        error.__context__ = None  # the exception that the program is handling
        yield error.__traceback__.tb_next.tb_frame

# A suspended generator does not refer to the frames of the callers, as a function would.
catching = catches(one)
frame = next(catching)
fail_line = fail.__code__.co_firstlineno + 1

def steps(held):
    for item in (held, two):
        yield item

def delegates(inner):
    yield from inner

waiting = steps(one)
next(waiting)
waiting_line = steps.__code__.co_firstlineno + 2
inner = steps(one)
delegating = delegates(inner)
next(delegating)
)";

// The sample objects by name.
class Samples {
  public:
    // Throws Interrupted if the samples cannot be created.
    Samples() : names_(steal(PyDict_New())) {
        const OwnedRef code = steal(Py_CompileString(kSamples, "<string>", Py_file_input));
        if (!names_ || !code ||
            PyDict_SetItemString(names_.get(), "__builtins__", PyEval_GetBuiltins()) != 0) {
            fail();
        }
        const auto run = [this, &code] {
            return PyEval_EvalCode(code.get(), names_.get(), names_.get());
        };
        if (!steal(let_others_run(run))) {
            fail();
        }
    }
    Samples(const Samples&) = delete;
    Samples& operator=(const Samples&) = delete;
    ~Samples() { clear(); }

    // Borrowed. Throws Interrupted if there is no such sample or no memory.
    [[nodiscard]] PyObject* get(const char* name) const {
        const OwnedRef key = steal(PyUnicode_FromString(name));
        PyObject* const found = key ? PyDict_GetItemWithError(names_.get(), key.get()) : nullptr;
        if (found == nullptr) {
            throw Interrupted();
        }
        return found;
    }
    [[nodiscard]] int line(const char* name) const {
        return static_cast<int>(PyLong_AsLong(get(name)));
    }

  private:
    [[noreturn]] void fail() {
        clear();
        throw Interrupted();
    }

    // Keeps a pending error.
    void clear() {
        if (!names_) {
            return;
        }
        if constexpr (CYCLEWATCH_FUNCTIONS_WAIT_FOR_THE_COLLECTOR) {
            static_cast<void>(names_.release());
            return;
        }
        const ErrorStash stash;
        // The class is leaked deliberately, because it is part of a reference cycle that the
        // program's next collection would otherwise count.
        static_cast<void>(borrow(PyDict_GetItemString(names_.get(), "Sample")).release());
        PyDict_Clear(names_.get());
    }

    OwnedRef names_;
};

struct Expected {
    const char* name;
    PyObject* value;
    int found = 0;
};

bool is_text(PyObject* text, const char* name) {
    return text != nullptr && PyUnicode_CompareWithASCIIString(text, name) == 0;
}

int find_attribute(PyObject* name, PyObject* value, void* arg) {
    auto* expected = static_cast<Expected*>(arg);
    expected->found += value == expected->value && is_text(name, expected->name);
    return 0;
}

bool attribute_is_seen(PyObject* object, const char* name, PyObject* value) {
    Expected expected{name, value};
    cyclewatch_visit_attribute_values(object, find_attribute, &expected);
    return expected.found == 1;
}

bool attribute_values_work(const Samples& samples) {
    PyObject* plain = samples.get("plain");
    return attribute_is_seen(plain, "first", samples.get("one")) &&
           attribute_is_seen(plain, "second", samples.get("two")) &&
           cyclewatch_existing_dict(plain) == nullptr;
}

bool instance_dicts_work(const Samples& samples) {
    return cyclewatch_existing_dict(samples.get("opened")) == samples.get("opened_dict");
}

int find_in_frame(const cyclewatch_frame_reference* reference, void* arg) {
    auto* expected = static_cast<Expected*>(arg);
    const bool fits =
        reference->slot == CYCLEWATCH_SLOT_LOCAL
            ? is_text(reference->name, expected->name)
            : reference->member != nullptr && std::string_view(reference->member) == expected->name;
    expected->found += fits && reference->target == expected->value;
    return 0;
}

bool frames_work(const Samples& samples) {
    Expected local{"held", samples.get("one")};
    cyclewatch_visit_frame(samples.get("frame"), find_in_frame, &local);
    return local.found == 1 &&
           cyclewatch_frame_position(samples.get("frame")).line == samples.line("fail_line");
}

bool generators_work(const Samples& samples) {
    Expected local{"held", samples.get("one")};
    cyclewatch_visit_generator(samples.get("waiting"), find_in_frame, &local);
    Expected delegate{"yield_from", samples.get("inner")};
    cyclewatch_visit_generator(samples.get("delegating"), find_in_frame, &delegate);
    Expected no_delegate{"yield_from", samples.get("one")};
    cyclewatch_visit_generator(samples.get("waiting"), find_in_frame, &no_delegate);
    return local.found == 1 && delegate.found == 1 && no_delegate.found == 0 &&
           cyclewatch_generator_position(samples.get("waiting")).line ==
               samples.line("waiting_line");
}

bool layouts_work(const Samples& samples) {
    return attribute_values_work(samples) && instance_dicts_work(samples) && frames_work(samples) &&
           generators_work(samples);
}

std::string version_text() {
    return std::string(Py_GetVersion(), std::string_view(Py_GetVersion()).find(' '));
}

// If this module was built for another minor version, even reading the sample objects is unsafe.
bool same_minor_version() {
#if CYCLEWATCH_LAYOUTS_KNOWN
    return (Py_Version >> 16) == CYCLEWATCH_BUILT_FOR_MINOR;
#else
    return false;
#endif
}

std::string run_checks() {
    constexpr const char* kConsequence = ": findings do not name attributes, frames or generators.";
    if (!same_minor_version()) {
        return "cyclewatch does not know the object layouts of CPython " + version_text() +
               kConsequence;
    }
    return layouts_work(Samples())
               ? ""
               : "CPython " + version_text() + " has unexpected object layouts" + kConsequence;
}

}  // namespace

const std::string& check_layouts() {
    // Guarded by the GIL. The checks run Python code, so another thread may call this function in
    // the meantime. With a static initializer, the two threads would deadlock: the other thread
    // would hold the GIL and wait for the initializer, and this thread would wait for the GIL. If
    // both threads run the checks, only the first result is stored.
    static std::string failure;
    static bool done = false;
    if (!done) {
        cyclewatch_layouts_failed = 0;
        std::string result = run_checks();
        if (!done) {
            failure = std::move(result);
            done = true;
        }
        cyclewatch_layouts_failed = !failure.empty();
    }
    return failure;
}

}  // namespace cyclewatch::python
