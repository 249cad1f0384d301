// SPDX-License-Identifier: Apache-2.0
#include "capture/object_summary.h"

#include <string_view>
#include <utility>

#include "capture/class_code.h"
#include "capture/labelers/text.h"
#include "compat/frame_access.h"
#include "compat/object_layout.h"
#include "python/references.h"

namespace cyclewatch::capture {
namespace {

using model::NodeKind;

constexpr std::size_t kLongestMethodName = 120;

struct ExactKind {
    PyTypeObject* type;
    NodeKind kind;
};

// Returns NodeKind::object if the type has no specific kind.
NodeKind kind_of_exact_type(PyTypeObject* type) noexcept {
    static const ExactKind table[] = {
        {&PyDict_Type, NodeKind::dict},
        {&PyList_Type, NodeKind::list},
        {&PyTuple_Type, NodeKind::tuple},
        {&PySet_Type, NodeKind::set},
        {&PyFrozenSet_Type, NodeKind::set},
        {&PyCell_Type, NodeKind::cell},
        {&PyFunction_Type, NodeKind::function},
        {&PyCFunction_Type, NodeKind::builtin_function},
        {&PyCMethod_Type, NodeKind::builtin_function},
        {&PyMethod_Type, NodeKind::bound_method},
        {&PyFrame_Type, NodeKind::frame},
        {&PyGen_Type, NodeKind::generator},
        {&PyCoro_Type, NodeKind::coroutine},
        {&PyAsyncGen_Type, NodeKind::async_generator},
        {&PyTraceBack_Type, NodeKind::traceback},
        {&PyCode_Type, NodeKind::code},
        {&PyStaticMethod_Type, NodeKind::property},
        {&PyClassMethod_Type, NodeKind::property},
        {&PyGetSetDescr_Type, NodeKind::property},
        {&PyMemberDescr_Type, NodeKind::property},
        {&PyMethodDescr_Type, NodeKind::property},
        {&PyWrapperDescr_Type, NodeKind::property},
        {&PyClassMethodDescr_Type, NodeKind::property},
    };
    for (const ExactKind& entry : table) {
        if (entry.type == type) {
            return entry.kind;
        }
    }
    return NodeKind::object;
}

// An instance of a user-defined class has the kind NodeKind::object, even if the class derives from
// a builtin container.
NodeKind kind_of(PyObject* object) noexcept {
    PyTypeObject* type = Py_TYPE(object);
    const NodeKind exact = kind_of_exact_type(type);
    if (exact != NodeKind::object) {
        return exact;
    }
    if (PyType_Check(object)) {
        return NodeKind::type;
    }
    if (PyExceptionInstance_Check(object)) {
        return NodeKind::exception;
    }
    if (PyModule_Check(object)) {
        return NodeKind::module;
    }
    if (PyWeakref_Check(object)) {
        return NodeKind::weakref;
    }
    if (has_tp_name(type, "collections.OrderedDict") ||
        has_tp_name(type, "collections.defaultdict")) {
        return NodeKind::dict;
    }
    if (has_tp_name(type, "numpy.ndarray")) {
        return NodeKind::list;
    }
    if (base_named(type, "functools.partial") != nullptr) {
        return NodeKind::partial;
    }
    return base_named(type, "property") != nullptr ? NodeKind::property : NodeKind::object;
}

using base::CallSite;

std::uint32_t as_line(long long line) noexcept {
    return line > 0 && line < UINT32_MAX ? static_cast<std::uint32_t>(line) : 0;
}

PyCodeObject* code_of_function(PyObject* function) noexcept {
    return reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
}

CallSite location_of(PyCodeObject* code, int line) {
    return {path_of(code), as_line(line)};
}

// Returns the function that `entry`, a value in a class's dict, is or wraps; null if there is none.
PyObject* method_function(PyObject* entry) noexcept {
    if (Py_IS_TYPE(entry, &PyStaticMethod_Type) || Py_IS_TYPE(entry, &PyClassMethod_Type) ||
        Py_IS_TYPE(entry, &PyProperty_Type)) {
        // In all three structs, the function is the first member: cm_callable, sm_callable,
        // prop_get.
        entry = *reinterpret_cast<PyObject**>(entry + 1);
    }
    return entry != nullptr && PyFunction_Check(entry) ? entry : nullptr;
}

// True if `code` is defined in the body of the class. Its qualified name then starts with "Class.".
bool is_written_in(std::string_view class_name, PyCodeObject* code) {
    const Utf8Text text(code->co_qualname);
    const std::string_view name = text.view();
    return name.size() > class_name.size() + 1 && name.substr(0, class_name.size()) == class_name &&
           name[class_name.size()] == '.';
}

// The location of a class is the file that contains its methods and the line given by
// __firstlineno__. If the class does not have __firstlineno__, the line of its first method is
// used.
CallSite location_of_class(PyTypeObject* type, std::string_view qualname) {
    CallSite location;
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_dict == nullptr) {
        return location;
    }
    PyCodeObject* first = nullptr;
    std::uint32_t class_line = 0;
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(type->tp_dict, &position, &key, &value) != 0) {
        if (equals_ascii(key, "__firstlineno__") && PyLong_CheckExact(value)) {
            int overflow = 0;
            class_line = as_line(PyLong_AsLongLongAndOverflow(value, &overflow));
        }
        PyObject* function = method_function(value);
        PyCodeObject* code = function == nullptr ? nullptr : code_of_function(function);
        if (code != nullptr && (first == nullptr || code->co_firstlineno < first->co_firstlineno) &&
            is_written_in(qualname, code) && has_file(code)) {
            first = code;
        }
    }
    if (first != nullptr) {
        location = location_of(first, first->co_firstlineno);
        location.line = class_line != 0 ? class_line : location.line;
    }
    return location;
}

std::string module_of_globals(PyObject* globals) {
    return std::string(Utf8Text(find_in_dict(globals, "__name__")).view());
}

// The qualified name of `code`, without the names of enclosing comprehensions. CPython 3.11
// compiles comprehensions to functions, whereas 3.12 inlines them, but a cycle's signature must be
// the same on both versions.
std::string qualified_name(PyCodeObject* code) {
    const Utf8Text text(code->co_qualname);
    std::string name(text.view());
    for (const std::string_view inlined : {"<listcomp>.", "<setcomp>.", "<dictcomp>."}) {
        std::size_t at = 0;
        while ((at = name.find(inlined, at)) != std::string::npos) {
            name.erase(at, inlined.size());
        }
    }
    return name;
}

void set_code_name(ObjectSummary& summary, PyCodeObject* code, std::string module) {
    summary.module = std::move(module);
    summary.name = summary.module.empty() ? "" : summary.module + ".";
    summary.name += qualified_name(code);
}

void set_location(ObjectSummary& summary, CallSite location) {
    summary.path = std::move(location.path);
    summary.line = location.line;
}

void summarize_function(PyObject* object, ObjectSummary& summary) {
    const auto* function = reinterpret_cast<PyFunctionObject*>(object);
    PyCodeObject* code = code_of_function(object);
    std::string module(Utf8Text(function->func_module).view());
    if (module.empty()) {
        module = module_of_globals(function->func_globals);
    }
    set_code_name(summary, code, std::move(module));
    set_location(summary, location_of(code, code->co_firstlineno));
}

// Returns false if the code is unknown. The object is then named after its type.
bool summarize_position(const cyclewatch_position& position, ObjectSummary& summary) {
    if (position.code == nullptr) {
        return false;
    }
    set_code_name(summary, position.code, module_of_globals(position.globals));
    set_location(summary, location_of(position.code, position.line));
    return true;
}

void summarize_type(PyTypeObject* type, ObjectSummary& summary) {
    const TypeName name = name_of_type(type);
    summary.name = name.full();
    summary.module = name.module;
    set_location(summary, location_of_class(type, name.qualname));
}

// A bound method is named after the undecorated function, which is usually still reachable and
// therefore not part of the graph. If types.MethodType() bound a class, the method is named after
// that class. If types.MethodType() bound any other callable, the method is named after the
// callable's class.
bool summarize_bound_method(PyObject* object, ObjectSummary& summary) {
    PyObject* const function = PyMethod_GET_FUNCTION(object);
    if (function == nullptr) {
        return false;
    }
    if (PyFunction_Check(function)) {
        summarize_function(unwrap_decorators(function), summary);
    } else {
        summarize_type(
            PyType_Check(function) ? reinterpret_cast<PyTypeObject*>(function) : Py_TYPE(function),
            summary);
    }
    return true;
}

void summarize_code(PyObject* object, ObjectSummary& summary) {
    auto* code = reinterpret_cast<PyCodeObject*>(object);
    set_code_name(summary, code, {});
    set_location(summary, location_of(code, code->co_firstlineno));
}

// The name of a builtin type's method includes the type: "list.remove".
bool summarize_builtin_function(PyObject* object, ObjectSummary& summary) {
    const auto* function = reinterpret_cast<PyCFunctionObject*>(object);
    PyObject* const self = function->m_self;
    const std::string name(std::string_view(function->m_ml->ml_name).substr(0, kLongestMethodName));
    if (self != nullptr && !PyModule_Check(self)) {
        auto* const type =
            PyType_Check(self) ? reinterpret_cast<PyTypeObject*>(self) : Py_TYPE(self);
        const TypeName owner = name_of_type(type);
        summary.module = owner.module;
        summary.name = owner.full() + "." + name;
        return true;
    }
    summary.module = Utf8Text(function->m_module).view();
    const bool is_builtin = summary.module.empty() || summary.module == "builtins";
    summary.name = is_builtin ? name : summary.module + "." + name;
    return true;
}

// A module is identified by its own name, not by its type name "module".
bool summarize_module(PyObject* object, ObjectSummary& summary) {
    summary.name = module_of_globals(PyModule_GetDict(object));
    summary.module = summary.name;
    return !summary.name.empty();
}

bool summarize_by_content(PyObject* object, ObjectSummary& summary) {
    switch (summary.kind) {
        case NodeKind::function:
            summarize_function(object, summary);
            return true;
        case NodeKind::bound_method:
            return summarize_bound_method(object, summary);
        case NodeKind::builtin_function:
            return summarize_builtin_function(object, summary);
        case NodeKind::code:
            summarize_code(object, summary);
            return true;
        case NodeKind::module:
            return summarize_module(object, summary);
        case NodeKind::type:
            summarize_type(reinterpret_cast<PyTypeObject*>(object), summary);
            return true;
        case NodeKind::frame:
            return summarize_position(cyclewatch_frame_position(object), summary);
        case NodeKind::generator:
        case NodeKind::coroutine:
        case NodeKind::async_generator:
            return summarize_position(cyclewatch_generator_position(object), summary);
        default:
            return false;
    }
}

// `call`: a (file name, line) tuple.
base::CallSite site_of(PyObject* call) {
    if (PyTuple_CheckExact(call) == 0 || PyTuple_GET_SIZE(call) != 2 ||
        PyLong_CheckExact(PyTuple_GET_ITEM(call, 1)) == 0) {
        return {};
    }
    const long line = PyLong_AsLong(PyTuple_GET_ITEM(call, 1));
    if (line <= 0) {
        PyErr_Clear();  // OverflowError
        return {};
    }
    return {std::string(Utf8Text(PyTuple_GET_ITEM(call, 0)).view()),
            static_cast<std::uint32_t>(line)};
}

// Calls visit(base::CallSite) for the frames that allocated `object`, innermost first, until it
// returns false.
template <typename Visit>
void visit_allocation(PyObject* object, Visit&& visit) {
    const python::OwnedRef traceback = python::steal(cyclewatch_allocation_traceback(object));
    if (!traceback || PyTuple_CheckExact(traceback.get()) == 0) {
        return;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(traceback.get()); ++i) {
        if (!visit(site_of(PyTuple_GET_ITEM(traceback.get(), i)))) {
            return;
        }
    }
}

}  // namespace

ObjectSummary summarize(PyObject* object) {
    ObjectSummary summary;
    summary.kind = kind_of(object);
    if (summarize_by_content(object, summary)) {
        return summary;
    }
    summarize_type(Py_TYPE(object), summary);
    if (summary.kind == NodeKind::traceback) {
        const cyclewatch_position position = cyclewatch_traceback_position(object);
        if (position.code != nullptr) {
            set_location(summary, location_of(position.code, position.line));
        }
    }
    return summary;
}

ObjectSummary summarize_code_of(PyCodeObject* code, std::string module) {
    ObjectSummary summary;
    summary.kind = NodeKind::code;
    set_code_name(summary, code, std::move(module));
    set_location(summary, location_of(code, code->co_firstlineno));
    return summary;
}

std::string type_name(PyTypeObject* type) {
    return name_of_type(type).full();
}

bool differs_per_object(model::NodeKind kind) noexcept {
    switch (kind) {
        case model::NodeKind::function:
        case model::NodeKind::builtin_function:
        case model::NodeKind::bound_method:
        case model::NodeKind::partial:
        case model::NodeKind::frame:
        case model::NodeKind::generator:
        case model::NodeKind::coroutine:
        case model::NodeKind::async_generator:
        case model::NodeKind::traceback:
        case model::NodeKind::type:
        case model::NodeKind::module:
        case model::NodeKind::code:
            return true;
        default:
            return false;
    }
}

std::vector<base::CallSite> allocation_stack(PyObject* object) {
    std::vector<base::CallSite> stack;
    visit_allocation(object, [&](base::CallSite site) {
        stack.push_back(std::move(site));
        return true;
    });
    return stack;
}

base::CallSite allocation_site(PyObject* object) {
    base::CallChoice choice;
    visit_allocation(object, [&](base::CallSite site) { return choice.offer(std::move(site)); });
    return choice.take();
}

}  // namespace cyclewatch::capture
