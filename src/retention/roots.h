// SPDX-License-Identifier: Apache-2.0
// The named roots of the heap: variables of running functions, module and class attributes, and
// structures of the interpreter.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. Creates no Python objects. Results are
// valid until Python code runs. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bytecode/variable_reads.h"
#include "model/retention.h"
#include "retention/heap_graph.h"

namespace cyclewatch::retention {

struct Root {
    std::uint32_t node = 0;  // the object that it refers to
    model::RootKind kind = model::RootKind::c_code;
    // True if the node is a module, or the dict of a module, class or running code. The references
    // from the node then represent the root's variables, and the root is not used for paths to the
    // node itself.
    bool is_namespace = false;
    bool is_user_code = false;
    bool is_temporary = false;     // a value on the stack of a running function
    bool is_stale = false;         // may be outdated: counts only for unexplained references
    PyObject* owner = nullptr;     // the name of a variable; the module or class of a namespace,
                                   // null if it is not known
    PyCodeObject* code = nullptr;  // of a running function
    PyObject* globals = nullptr;
    int line = 0;
    // For a variable of a running function that no other function captures: its index, and the
    // index of the instruction that is being executed; see bytecode/variable_reads.h. Otherwise -1.
    int variable = -1;
    Py_ssize_t instruction = -1;
    // threading.get_ident() of the root's thread; 0 for the calling thread and for namespaces.
    unsigned long thread = 0;
    int signal = 0;              // for a signal handler: the signal number
    const char* mode = nullptr;  // for an active torch mode: "TorchDispatchMode" ...
    bool is_fixture = false;     // `owner` is its name
    // For an object in a registry of the interpreter: the names of the registry and of the object.
    const char* registry = nullptr;
    const char* registry_variable = nullptr;

    // True for a variable of a running function that does not read the variable again before it
    // assigns it.
    [[nodiscard]] bool is_unread() const {
        return variable >= 0 && !bytecode::is_read_again(code, variable, instruction);
    }
};

// The threading.Thread whose threading.get_ident() is `identifier`, borrowed; null if unknown.
[[nodiscard]] PyObject* thread_object(unsigned long identifier);

// The value of a pytest fixture. The fixture's name is more helpful than the path to the value.
struct Fixture {
    PyObject* value = nullptr;
    PyObject* name = nullptr;
};

// Which references from the caller's frame to ignore. The caller's frame is the innermost one
// outside this package.
enum class CallerVariables : std::uint8_t {
    count,
    ignore_target,  // the variables that refer to the target, and all temporary values
};

class Roots {
  public:
    // `target`: a node of `graph`, or HeapGraph::kAbsent.
    Roots(const HeapGraph& graph,
          std::uint32_t target,
          CallerVariables caller,
          std::span<const Fixture> fixtures = {});

    // Excludes a reference to `object` that the caller of this function owns.
    void ignore(PyObject* object);

    // Sorted by node.
    [[nodiscard]] const std::vector<Root>& all() const noexcept { return roots_; }
    // The roots that refer to `node`.
    [[nodiscard]] std::span<const Root> of(std::uint32_t node) const noexcept;
    [[nodiscard]] std::uint32_t index_of(const Root& root) const noexcept {
        return static_cast<std::uint32_t>(&root - roots_.data());
    }
    // True if an anonymous tuple or dict may contain the arguments of the current call.
    [[nodiscard]] bool may_have_arguments() const noexcept { return may_have_arguments_; }
    // The number of references to `node` that come neither from a known object nor from a thread's
    // state.
    [[nodiscard]] Py_ssize_t anonymous(std::uint32_t node) const;

  private:
    struct ThreadVisit;
    void add_threads(CallerVariables caller);
    void add_modules();
    void add_fixtures(std::span<const Fixture> fixtures);
    void add_signal_handlers();
    void add_registries();
    void add_torch_modes(const char* kind, const char* length, const char* item);
    void add_module(PyObject* name, PyObject* module);
    void add_class(PyTypeObject* type, Root root, int depth);
    void add(PyObject* object, Root root);

    const HeapGraph& graph_;
    std::vector<Root> roots_;
    std::unordered_set<std::uint32_t> namespaces_;
    PyObject* target_ = nullptr;
    bool may_have_arguments_ = false;
    std::string module_name_;  // of the module whose classes are added
    std::unordered_map<std::uint32_t, std::uint32_t> ignored_;  // references by node
};

}  // namespace cyclewatch::retention
