// SPDX-License-Identifier: Apache-2.0
#include "retention/single_action.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "capture/labelers/text.h"
#include "device/readers/plain_attributes.h"
#include "retention/parts.h"

namespace cyclewatch::retention {
namespace {

using capture::Utf8Text;

// True if the action removes the reference from the first to the second object.
using Removes = std::function<bool(std::uint32_t, std::uint32_t)>;

// True if the action removes the root.
using RemovesRoot = std::function<bool(const Root&)>;

PyObject* namespace_of(const char* name) {
    PyObject* const module = capture::find_in_dict(PyImport_GetModuleDict(), name);
    return module != nullptr && PyModule_Check(module) ? PyModule_GetDict(module) : nullptr;
}

// Searches backwards from the end of `path`. True if all ways to a root contain a reference that
// the action removes, or begin at a root that it removes.
bool removes_all(const HeapGraph& graph,
                 const Roots& roots,
                 std::uint32_t target,
                 const RemovesRoot& removes_root,
                 const Removes& removes) {
    constexpr std::size_t kMostObjects = 10'000;
    std::unordered_set<std::uint32_t> seen{target};
    std::vector<std::uint32_t> pending{target};
    while (!pending.empty() && seen.size() < kMostObjects) {
        const std::uint32_t node = pending.back();
        pending.pop_back();
        Py_ssize_t unknown = roots.anonymous(node);
        for (const Root& root : roots.of(node)) {
            const bool is_removed = removes_root(root);
            if (!root.is_stale && !is_removed) {
                return false;
            }
            unknown -= root.is_stale && is_removed ? 1 : 0;
        }
        if (unknown > 0) {
            return false;
        }
        for (const std::uint32_t holder : graph.holders(node)) {
            if (!removes(holder, node) && seen.insert(holder).second) {
                pending.push_back(holder);
            }
        }
    }
    return pending.empty();
}

bool removes_no_root(const Root& /*root*/) {
    return false;
}

unsigned long thread_of(const Roots& roots, const RawPath& path) {
    return path.root == kAnonymous ? 0 : roots.all()[path.root].thread;
}

// True for an object of IPython, and for a dict that only such objects refer to.
bool is_of_ipython(const HeapGraph& graph, std::uint32_t node, int depth = 0) {
    constexpr int kMostDicts = 2;
    if (PyDict_Check(graph.object(node))) {
        const std::span<const std::uint32_t> holders = graph.holders(node);
        return depth < kMostDicts && !holders.empty() &&
               std::ranges::all_of(holders, [&](std::uint32_t holder) {
                   return is_of_ipython(graph, holder, depth + 1);
               });
    }
    const std::string module = capture::name_of_type(Py_TYPE(graph.object(node))).module;
    return module.starts_with("IPython.") || module.starts_with("ipykernel.");
}

// The namespace of IPython's cells; null if IPython does not run.
PyObject* cells() {
    PyObject* const dict = namespace_of("__main__");
    PyObject* const outputs = dict == nullptr ? nullptr : capture::find_in_dict(dict, "_oh");
    return outputs != nullptr && PyDict_CheckExact(outputs) ? dict : nullptr;
}

// The variables of an output: `_`, `__`, `___` and `_12`.
bool is_output_name(std::string_view name) {
    const std::size_t end = std::min(name.find_first_not_of('_'), name.size());
    const std::string_view rest = name.substr(end);
    return end > 0 && (rest.empty() ? end <= 3 : end == 1) &&
           std::ranges::all_of(rest, [](char c) { return Py_ISDIGIT(c) != 0; });
}

// A variable of IPython for the output `value`, preferably one that later outputs do not change;
// "" if there is none, or if another variable also refers to the value.
std::string output_variable(PyObject* dict, PyObject* value) {
    std::string variable;
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* each = nullptr;
    while (PyDict_Next(dict, &position, &key, &each) != 0) {
        if (each != value) {
            continue;
        }
        const std::string name(Utf8Text(key).view());
        if (!is_output_name(name)) {
            return {};
        }
        if (variable.empty() || name.back() != '_') {
            variable = name;
        }
    }
    return variable;
}

bool has_value(PyObject* dict, PyObject* value) {
    Py_ssize_t position = 0;
    PyObject* each = nullptr;
    while (PyDict_Next(dict, &position, nullptr, &each) != 0) {
        if (each == value) {
            return true;
        }
    }
    return false;
}

std::string deletion_of_output(const HeapGraph& graph, const Roots& roots, const RawPath& path) {
    PyObject* const dict = cells();
    if (dict == nullptr) {
        return {};
    }
    PyObject* const outputs = capture::find_in_dict(dict, "_oh");
    const auto output = std::ranges::find_if(path.nodes, [&](std::uint32_t node) {
        return graph.object(node) != outputs && has_value(outputs, graph.object(node));
    });
    if (output == path.nodes.end()) {
        return {};
    }
    const std::string variable = output_variable(dict, graph.object(*output));
    const bool removes =
        removes_all(graph,
                    roots,
                    path.nodes.back(),
                    removes_no_root,
                    [&](std::uint32_t holder, std::uint32_t node) {
                        PyObject* const from = graph.object(holder);
                        return node == *output &&
                               (from == outputs || from == dict || is_of_ipython(graph, holder));
                    });
    return variable.empty() || !removes
               ? ""
               : "run `%xdel " + variable +
                     "` in a cell, because IPython keeps an output in `Out`, `_`, `__`, `___` and "
                     "a numbered variable";
}

// The last exception of an interactive prompt, and its tracebacks.
std::unordered_set<PyObject*> last_exception(PyObject* of_sys) {
    std::unordered_set<PyObject*> objects;
    const auto add_tracebacks = [&objects](PyObject* traceback) {
        while (traceback != nullptr && PyTraceBack_Check(traceback) &&
               objects.insert(traceback).second) {
            traceback = reinterpret_cast<PyObject*>(
                reinterpret_cast<PyTracebackObject*>(traceback)->tb_next);
        }
    };
    for (const char* const name : {"last_value", "last_exc"}) {
        PyObject* const exception = capture::find_in_dict(of_sys, name);
        if (exception != nullptr && PyExceptionInstance_Check(exception)) {
            objects.insert(exception);
            add_tracebacks(reinterpret_cast<PyBaseExceptionObject*>(exception)->traceback);
        }
    }
    add_tracebacks(capture::find_in_dict(of_sys, "last_traceback"));
    return objects;
}

std::string deletion_of_exception(const HeapGraph& graph, const Roots& roots, const RawPath& path) {
    PyObject* const of_sys = namespace_of("sys");
    if (of_sys == nullptr) {
        return {};
    }
    const std::unordered_set<PyObject*> last = last_exception(of_sys);
    const bool is_on_path = std::ranges::any_of(
        path.nodes, [&](std::uint32_t node) { return last.contains(graph.object(node)); });
    const auto removes = [&](std::uint32_t holder, std::uint32_t node) {
        return last.contains(graph.object(node)) &&
               (graph.object(holder) == of_sys || is_of_ipython(graph, holder));
    };
    if (!is_on_path || !removes_all(graph, roots, path.nodes.back(), removes_no_root, removes)) {
        return {};
    }
    if (cells() != nullptr) {
        return "run `1/0` in a cell, because IPython keeps the last exception in "
               "`sys.last_value`, `sys.last_traceback` and its traceback printer";
    }
    std::string names;
    for (const char* const name : {"last_exc", "last_value", "last_traceback"}) {
        if (capture::find_in_dict(of_sys, name) != nullptr) {
            names += std::string(names.empty() ? "" : ", ") + "sys." + name;
        }
    }
    return "run `del " + names + "`, because an interactive prompt keeps the last exception";
}

bool is_dict_of(const HeapGraph& graph, std::uint32_t node, PyObject* object) {
    const std::span<const std::uint32_t> holders = graph.holders(node);
    return PyDict_Check(graph.object(node)) && holders.size() == 1 &&
           graph.object(holders.front()) == object;
}

// A thread refers to its arguments until its call ends, and is itself kept by `threading`.
std::string end_of_thread(const HeapGraph& graph,
                          const Roots& roots,
                          const RawPath& path,
                          const std::string& action) {
    const unsigned long number = thread_of(roots, path);
    if (number == 0) {
        return {};
    }
    PyObject* const thread = thread_object(number);
    PyObject* const of_threading = namespace_of("threading");
    PyObject* const active =
        of_threading == nullptr ? nullptr : capture::find_in_dict(of_threading, "_active");
    const auto removes = [&](std::uint32_t holder, std::uint32_t node) {
        PyObject* const from = graph.object(holder);
        PyObject* const to = graph.object(node);
        if (thread == nullptr || to != thread) {
            constexpr std::array<const char*, 3> kUntilEnd{"_target", "_args", "_kwargs"};
            return thread != nullptr && std::ranges::any_of(kUntilEnd, [&](const char* name) {
                       return device::instance_attribute(thread, name) == to &&
                              (from == thread || is_dict_of(graph, holder, thread));
                   });
        }
        return from == active || (PyMethod_Check(from) && PyMethod_GET_SELF(from) == thread &&
                                  graph.holders(holder).empty());
    };
    const auto is_of_thread = [number](const Root& root) { return root.thread == number; };
    return removes_all(graph, roots, path.nodes.back(), is_of_thread, removes) ? action : "";
}

// True if `hooks` is a dict of the hooks of a module.
bool is_dict_of_hooks(const HeapGraph& graph, std::uint32_t hooks) {
    const auto has_role = [&](std::uint32_t owner, std::uint32_t from) {
        return role_in(graph.object(owner),
                       graph.object(from),
                       model::PartRole::none,
                       graph.object(hooks)) == model::PartRole::nn_hooks;
    };
    return PyDict_Check(graph.object(hooks)) &&
           std::ranges::any_of(graph.holders(hooks), [&](std::uint32_t holder) {
               return has_role(holder, holder) ||
                      (PyDict_Check(graph.object(holder)) &&
                       std::ranges::any_of(graph.holders(holder), [&](std::uint32_t owner) {
                           return has_role(owner, holder);
                       }));
           });
}

}  // namespace

bool hooks_hold_all(const HeapGraph& graph, const Roots& roots, const RawPath& path) {
    return removes_all(
        graph, roots, path.nodes.back(), removes_no_root, [&](std::uint32_t holder, std::uint32_t) {
            return is_dict_of_hooks(graph, holder);
        });
}

bool owner_holds_all(const HeapGraph& graph,
                     const Roots& roots,
                     const RawPath& path,
                     PyObject* owner) {
    const auto is_of_owner = [&](std::uint32_t holder) {
        return graph.object(holder) == owner || is_dict_of(graph, holder, owner);
    };
    const auto removes = [&](std::uint32_t holder, std::uint32_t node) {
        const std::span<const std::uint32_t> holders = graph.holders(holder);
        return node != path.nodes.front() &&
               (is_of_owner(holder) ||
                (!holders.empty() && std::ranges::all_of(holders, is_of_owner)));
    };
    return removes_all(graph, roots, path.nodes.back(), removes_no_root, removes);
}

std::set<std::string> settable_variables(const HeapGraph& graph,
                                         const Roots& roots,
                                         const RawPath& path) {
    std::set<std::string> names;
    if (thread_of(roots, path) == 0) {
        return names;
    }
    const Root& first = roots.all()[path.root];
    const auto is_settable = [&](const Root& root) {
        if (root.thread != first.thread || root.is_stale) {
            return root.thread == first.thread;
        }
        const bool is_of_call = root.code == first.code && root.is_user_code && root.is_unread();
        if (is_of_call) {
            names.emplace(Utf8Text(root.owner).view());
        }
        return is_of_call;
    };
    const auto removes_nothing = [](std::uint32_t, std::uint32_t) { return false; };
    if (!removes_all(graph, roots, path.nodes.back(), is_settable, removes_nothing)) {
        names.clear();
    }
    return names;
}

std::string single_action(const HeapGraph& graph,
                          const Roots& roots,
                          const RawPath& path,
                          const std::string& thread_action) {
    std::string action = end_of_thread(graph, roots, path, thread_action);
    if (action.empty()) {
        action = deletion_of_output(graph, roots, path);
    }
    return action.empty() ? deletion_of_exception(graph, roots, path) : action;
}

}  // namespace cyclewatch::retention
