// SPDX-License-Identifier: Apache-2.0
#include "retention/roots.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/source_path.h"
#include "capture/labelers/text.h"
#include "compat/frame_access.h"
#include "compat/interpreter_registries.h"
#include "device/readers/plain_attributes.h"
#include "python/references.h"

namespace cyclewatch::retention {
namespace {

using capture::Utf8Text;
using model::RootKind;

constexpr int kMaxClassNesting = 4;

bool is_in_package(PyObject* globals) {
    const Utf8Text text(capture::find_in_dict(globals, "__name__"));
    constexpr std::string_view kPackage = "cyclewatch";
    const std::string_view name = text.view();
    return name == kPackage ||
           (name.starts_with(kPackage) && name.substr(kPackage.size()).starts_with('.'));
}

bool is_user_code(PyCodeObject* code) {
    return base::origin_of_path(capture::path_of(code)) == base::Origin::user;
}

bool is_user_module(PyObject* dict, std::string_view name) {
    const Utf8Text file(capture::find_in_dict(dict, "__file__"));
    return file.view().empty() ? name == "__main__"
                               : base::origin_of_path(file.view()) == base::Origin::user;
}

RootKind kind_of(cyclewatch_thread_slot slot) {
    switch (slot) {
        case CYCLEWATCH_THREAD_EXCEPTION:
            return RootKind::exception;
        case CYCLEWATCH_THREAD_CONTEXT:
            return RootKind::context_variable;
        case CYCLEWATCH_THREAD_STATE_DICT:
            return RootKind::thread_local_data;
        case CYCLEWATCH_THREAD_HOOK:
            return RootKind::interpreter;
        default:
            return RootKind::local_variable;
    }
}

// Returns a borrowed reference to a C function of an imported module; null if there is none.
PyObject* c_function(const char* module_name, const char* name) {
    PyObject* const module = capture::find_in_dict(PyImport_GetModuleDict(), module_name);
    PyObject* const function = module != nullptr && PyModule_Check(module)
                                   ? capture::find_in_dict(PyModule_GetDict(module), name)
                                   : nullptr;
    return function != nullptr && PyCFunction_Check(function) ? function : nullptr;
}

// Returns null and clears the error if the call fails.
python::OwnedRef call(PyObject* function, int argument) {
    const python::OwnedRef number = python::steal(PyLong_FromLong(argument));
    python::OwnedRef result =
        python::steal(number ? PyObject_CallOneArg(function, number.get()) : nullptr);
    PyErr_Clear();
    return result;
}

// A C type without __module__ belongs to the module "builtins".
bool is_in_module(PyTypeObject* type, std::string_view module) {
    const std::string name = capture::name_of_type(type).module;
    return name.empty() ? module == "builtins" : name == module;
}

}  // namespace

PyObject* thread_object(unsigned long identifier) {
    PyObject* const threading = capture::find_in_dict(PyImport_GetModuleDict(), "threading");
    PyObject* const threads = threading != nullptr && PyModule_Check(threading)
                                  ? capture::find_in_dict(PyModule_GetDict(threading), "_active")
                                  : nullptr;
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* thread = nullptr;
    while (threads != nullptr && PyDict_CheckExact(threads) &&
           PyDict_Next(threads, &position, &key, &thread) != 0) {
        const std::optional<std::int64_t> number = device::integer(key);
        if (number && static_cast<unsigned long>(*number) == identifier) {
            return thread;
        }
    }
    return nullptr;
}

Roots::Roots(const HeapGraph& graph,
             std::uint32_t target,
             CallerVariables caller,
             std::span<const Fixture> fixtures)
    : graph_(graph), target_(target == HeapGraph::kAbsent ? nullptr : graph.object(target)) {
    add_modules();
    add_threads(caller);
    add_fixtures(fixtures);
    add_signal_handlers();
    add_registries();
    add_torch_modes("TorchDispatchMode", "_len_torch_dispatch_stack", "_get_dispatch_stack_at");
    add_torch_modes("TorchFunctionMode", "_len_torch_function_stack", "_get_function_stack_at");
    std::ranges::stable_sort(roots_, {}, &Root::node);
}

void Roots::add(PyObject* object, Root root) {
    root.node = graph_.node_of(object);
    // References from a module or class to itself do not keep it alive.
    const bool is_target = root.is_namespace && root.owner != nullptr && root.owner == target_;
    if (root.node != HeapGraph::kAbsent && !is_target) {
        roots_.push_back(root);
    }
}

void Roots::ignore(PyObject* object) {
    const std::uint32_t node = graph_.node_of(object);
    if (node != HeapGraph::kAbsent) {
        ++ignored_[node];
    }
}

std::span<const Root> Roots::of(std::uint32_t node) const noexcept {
    const auto first = std::ranges::lower_bound(roots_, node, {}, &Root::node);
    auto last = first;
    while (last != roots_.end() && last->node == node) {
        ++last;
    }
    return {first, last};
}

Py_ssize_t Roots::anonymous(std::uint32_t node) const {
    Py_ssize_t count = graph_.unexplained(node);
    for (const Root& root : of(node)) {
        count -= root.is_namespace || root.is_stale || root.is_fixture ? 0 : 1;
    }
    const auto ignored = ignored_.find(node);
    return ignored == ignored_.end() ? count : count - static_cast<Py_ssize_t>(ignored->second);
}

struct Roots::ThreadVisit {
    Roots& roots;
    CallerVariables caller;
    const PyThreadState* own_thread;
    int caller_depth = -1;  // -1: not reached yet

    static void call(const cyclewatch_thread_reference* reference, void* arg) {
        static_cast<ThreadVisit*>(arg)->visit(*reference);
    }

    void visit(const cyclewatch_thread_reference& reference) {
        if (reference.code == nullptr) {
            Root root;
            root.kind = kind_of(reference.slot);
            root.thread = other_thread(reference);
            roots.add(reference.target, root);
            return;
        }
        if (is_in_package(reference.globals)) {
            if (caller_depth < 0 && reference.thread == own_thread) {
                roots.may_have_arguments_ = reference.called_from_c != 0;
            }
            ignore_reference(reference, false);
            return;
        }
        if (reference.thread == own_thread && caller_depth < 0) {
            caller_depth = reference.depth;
        }
        const bool is_caller = reference.thread == own_thread && reference.depth == caller_depth;
        if (is_caller && is_passed_on(reference)) {
            ignore_reference(reference, roots.may_have_arguments_);
            return;
        }
        add_frame_reference(reference);
    }

    [[nodiscard]] unsigned long other_thread(const cyclewatch_thread_reference& reference) const {
        return reference.thread == own_thread ? 0 : reference.thread->thread_id;
    }

    // True for variables and temporaries through which the caller passed the target.
    [[nodiscard]] bool is_passed_on(const cyclewatch_thread_reference& reference) const {
        return caller == CallerVariables::ignore_target &&
               (reference.slot == CYCLEWATCH_THREAD_TEMPORARY ||
                (reference.slot == CYCLEWATCH_THREAD_LOCAL && is_target(reference.target)));
    }

    [[nodiscard]] bool is_target(PyObject* value) const {
        return value == roots.target_ ||
               (PyCell_Check(value) && PyCell_GET(value) == roots.target_);
    }

    // Calling a Python function moves the arguments from the caller's stack to the function's
    // variables and leaves stale copies on the stack. Calling a C function leaves the arguments on
    // the caller's stack.
    void ignore_reference(const cyclewatch_thread_reference& reference, bool owns_arguments) {
        const bool is_left = reference.is_stale != 0 && reference.target == roots.target_;
        if (reference.slot != CYCLEWATCH_THREAD_NAMESPACE && (!is_left || owns_arguments)) {
            roots.ignore(reference.target);
        }
    }

    void add_frame_reference(const cyclewatch_thread_reference& reference) {
        Root root;
        root.kind = RootKind::local_variable;
        root.is_namespace = reference.slot == CYCLEWATCH_THREAD_NAMESPACE;
        root.is_temporary = reference.slot == CYCLEWATCH_THREAD_TEMPORARY;
        root.is_stale = reference.is_stale != 0;
        root.is_user_code = is_user_code(reference.code);
        root.owner = reference.slot == CYCLEWATCH_THREAD_LOCAL ? reference.name : nullptr;
        root.code = reference.code;
        root.globals = reference.globals;
        root.line = reference.line;
        // A temporary may have been freed, so only the target of a variable may be read.
        if (reference.slot == CYCLEWATCH_THREAD_LOCAL &&
            (!PyCell_Check(reference.target) || Py_REFCNT(reference.target) == 1)) {
            root.variable = reference.index;
            root.instruction = reference.instruction;
        }
        if (root.is_namespace) {
            add_namespace(reference, root);
        } else {
            root.thread = other_thread(reference);
            roots.add(reference.target, root);
        }
    }

    // The globals of code that exec() runs may belong to a module that is not in sys.modules.
    void add_namespace(const cyclewatch_thread_reference& reference, Root root) {
        const std::uint32_t node = roots.graph_.node_of(reference.target);
        if (node == HeapGraph::kAbsent || !roots.namespaces_.insert(node).second) {
            return;
        }
        const Utf8Text name(capture::find_in_dict(reference.target, "__name__"));
        if (reference.target == reference.globals && !name.view().empty()) {
            root.kind = RootKind::module_global;
            root.code = nullptr;
        }
        roots.add(reference.target, root);
    }
};

void Roots::add_threads(CallerVariables caller) {
    ThreadVisit visit{*this, caller, PyThreadState_Get()};
    cyclewatch_visit_threads(&ThreadVisit::call, &visit);
}

// The value of a fixture is a node of the graph, because a pytest object refers to the value.
void Roots::add_fixtures(std::span<const Fixture> fixtures) {
    for (const Fixture& fixture : fixtures) {
        Root root;
        root.kind = RootKind::interpreter;
        root.owner = fixture.name;
        root.is_fixture = true;
        add(fixture.value, root);
    }
}

// signal.getsignal() does not run user code or create objects.
void Roots::add_signal_handlers() {
    constexpr int kLastSignal = 64;
    PyObject* const getter = c_function("_signal", "getsignal");
    if (getter == nullptr) {
        return;
    }
    for (int number = 1; number <= kLastSignal; ++number) {
        const python::OwnedRef handler = call(getter, number);
        if (!handler) {
            return;
        }
        Root root;
        root.kind = RootKind::interpreter;
        root.signal = number;
        add(handler.get(), root);
    }
}

// atexit._ncallbacks() does not run user code or create objects that the collector tracks.
void Roots::add_registries() {
    PyObject* const counter = c_function("atexit", "_ncallbacks");
    const python::OwnedRef count =
        python::steal(counter != nullptr ? PyObject_CallNoArgs(counter) : nullptr);
    const Py_ssize_t callbacks =
        count && PyLong_Check(count.get()) ? PyLong_AsSsize_t(count.get()) : -1;
    PyErr_Clear();
    const auto visit = [](const cyclewatch_registry* registry, PyObject* target, void* arg) {
        Roots& roots = *static_cast<Roots*>(arg);
        const std::uint32_t node = roots.graph_.node_of(target);
        if (node == HeapGraph::kAbsent) {
            return;
        }
        PyObject* const object = roots.graph_.object(node);
        if (registry->type == nullptr || Py_IS_TYPE(object, registry->type)) {
            Root root;
            root.kind = RootKind::interpreter;
            root.registry = registry->name;
            root.registry_variable = registry->variable;
            roots.add(object, root);
        }
    };
    cyclewatch_visit_registries(callbacks, visit, this);
}

// Adds the active torch modes of this thread. The torch functions called here do not run user code
// or create objects.
void Roots::add_torch_modes(const char* kind, const char* length, const char* item) {
    PyObject* const get_length = c_function("torch._C", length);
    PyObject* const get_item = c_function("torch._C", item);
    if (get_length == nullptr || get_item == nullptr) {
        return;
    }
    const python::OwnedRef count = python::steal(PyObject_CallNoArgs(get_length));
    const long modes = count && PyLong_Check(count.get()) ? PyLong_AsLong(count.get()) : 0;
    PyErr_Clear();
    for (int index = 0; index < modes; ++index) {
        const python::OwnedRef mode = call(get_item, index);
        if (!mode) {
            return;
        }
        Root root;
        root.kind = RootKind::interpreter;
        root.mode = kind;
        add(mode.get(), root);
    }
}

void Roots::add_modules() {
    PyObject* const modules = PyImport_GetModuleDict();
    Py_ssize_t position = 0;
    PyObject* name = nullptr;
    PyObject* module = nullptr;
    while (modules != nullptr && PyDict_Next(modules, &position, &name, &module) != 0) {
        if (PyModule_Check(module)) {
            add_module(name, module);
        }
    }
}

void Roots::add_module(PyObject* name, PyObject* module) {
    PyObject* const dict = PyModule_GetDict(module);
    if (dict == nullptr || is_in_package(dict)) {
        return;
    }
    const std::uint32_t node = graph_.node_of(dict);
    if (node == HeapGraph::kAbsent || !namespaces_.insert(node).second) {
        return;  // __mp_main__ is another name of __main__
    }
    const Utf8Text text(name);
    module_name_ = Utf8Text(capture::find_in_dict(dict, "__name__")).view();
    Root root;
    root.kind = RootKind::module_global;
    root.is_namespace = true;
    root.is_user_code = is_user_module(dict, text.view());
    root.owner = module;
    add(dict, root);
    add(module, root);

    Py_ssize_t position = 0;
    PyObject* attribute = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(dict, &position, &attribute, &value) != 0) {
        if (PyType_Check(value)) {
            root.kind = RootKind::class_attribute;
            add_class(reinterpret_cast<PyTypeObject*>(value), root, 0);
        }
    }
}

// Adds only classes that the module itself defines, because an imported class may be bound to an
// attribute with a different name.
void Roots::add_class(PyTypeObject* type, Root root, int depth) {
    PyObject* const dict = type->tp_dict;
    const std::uint32_t node = graph_.node_of(dict);
    if (node == HeapGraph::kAbsent || depth > kMaxClassNesting ||
        !is_in_module(type, module_name_) || !namespaces_.insert(node).second) {
        return;
    }
    root.owner = reinterpret_cast<PyObject*>(type);
    add(dict, root);
    Py_ssize_t position = 0;
    PyObject* attribute = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(dict, &position, &attribute, &value) != 0) {
        if (PyType_Check(value)) {
            add_class(reinterpret_cast<PyTypeObject*>(value), root, depth + 1);
        }
    }
}

}  // namespace cyclewatch::retention
