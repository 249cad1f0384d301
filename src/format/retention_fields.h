// SPDX-License-Identifier: Apache-2.0
// The fields of reachable owners and of the paths to them. See report_fields.h.
#pragma once

#include <tuple>

#include "format/field.h"
#include "model/retention.h"

namespace cyclewatch::format {

template <>
struct Fields<model::PathRoot> {
    using Self = model::PathRoot;
    static constexpr const char* name = "PathRoot";
    static constexpr const char* text =
        "The start of a Path, such as a variable or a module. It keeps the path's first object "
        "alive.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(kind,
                         "'local variable', 'module global', 'class attribute', 'context "
                         "variable', 'thread local', 'exception', 'interpreter' or 'C code'"),
        CYCLEWATCH_FIELD(text,
                         "The name: 'train() local model', or 'thread gpu-0: train() local model' "
                         "if the root belongs to another thread"),
        CYCLEWATCH_FIELD(location,
                         "'path:line' if the root is a local variable of a running function",
                         {.unknown = "for other roots"}),
    };
};

template <>
struct Fields<model::RetentionPath> {
    using Self = model::RetentionPath;
    static constexpr const char* name = "Path";
    static constexpr const char* text = "The references from a root to an object.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(root, "The start of the path"),
        CYCLEWATCH_FIELD(
            references,
            "The references in order; the last one refers to the object. Attribute dicts, closures "
            "and the dicts of an ``nn.Module`` are not shown as separate objects."),
        CYCLEWATCH_FIELD(cut,
                         "The reference to remove",
                         {.unknown = "if the program cannot remove any reference of the path"}),
        CYCLEWATCH_FIELD(
            cut_frees,
            "Whether removing `cut`, or following `remedy`, frees the object: at once, or at the "
            "next collection if the "
            "object is part of a cycle. False if another path does not contain `cut`. Also False "
            "if C++ objects, such as an autograd graph, may refer to the object."),
        CYCLEWATCH_FIELD(
            remedy,
            "How to remove `cut`, such as 'set `model.cache` to None (train.py:12) once it is no "
            "longer "
            "used'. If only the program knows whether it needs the value, the text states this "
            "condition",
            {.unknown = "if that is not known"}),
        CYCLEWATCH_FIELD(
            text, "The path, written as Python code on one line", {.python = kNotInPython}),
    };
};

template <>
struct Fields<model::LiveOwner> {
    using Self = model::LiveOwner;
    static constexpr const char* name = "LiveOwner";
    static constexpr const char* text =
        "A group of reachable tensors, such as the weights of all layers. The tensors have the "
        "same type, device, shape, dtype and category, and equivalent paths.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(
            process, "Index of the process in `Report.processes`", {.python = kNotInPython}),
        CYCLEWATCH_FIELD(owner,
                         "One of the tensors; `count` is the number of storages",
                         {.python = kNotInPython}),
        CYCLEWATCH_FIELD(
            bytes, "Size of all storages in bytes, counting each once", {.python = "nbytes"}),
        CYCLEWATCH_FIELD(category,
                         "'parameter', 'buffer' (registered with a torch module), 'gradient', "
                         "'optimizer state', 'saved for backward' (held by an autograd graph), "
                         "'activation', 'held by C++' (only C++ code that "
                         "cannot be examined refers to them) or 'other'"),
        CYCLEWATCH_FIELD(
            held_by, "One or two paths to one of the tensors, as returned by :func:`why_alive`"),
    };
};

template <>
struct Fields<model::GrowingOwner> {
    using Self = model::GrowingOwner;
    static constexpr const char* name = "GrowingOwner";
    static constexpr const char* text =
        "A group of reachable tensors whose total memory use is growing. The tensors have the same "
        "type, device, shape and dtype, and equivalent paths.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(process, "Index of the process in `Report.processes`"),
        CYCLEWATCH_FIELD(owner,
                         "One of the tensors; `count` is the number of storages",
                         {.python = kNotInPython}),
        CYCLEWATCH_FIELD(
            bytes, "Size of all storages in bytes, counting each once", {.python = "nbytes"}),
        CYCLEWATCH_FIELD(held_by,
                         "The path to one of the tensors, in the format of :func:`why_alive`",
                         {.unknown = "if unknown"}),
        CYCLEWATCH_FIELD(rate, "Additional bytes per `unit`"),
        CYCLEWATCH_FIELD(unit, "'step' (a call to Watch.step()), or 'second' for `cyclewatch run`"),
        CYCLEWATCH_FIELD(until_full,
                         "The number of steps or seconds (see `unit`) until the device is full at "
                         "this rate, if nothing else is allocated",
                         {.unknown = "if the device's capacity is not known", .none = -1}),
        CYCLEWATCH_FIELD(census_bytes,
                         "The total size in bytes in each of the latest censuses (at most six), "
                         "oldest first. The last size is the current one."),
        CYCLEWATCH_FIELD(graph_nodes,
                         "The number of nodes of the autograd graphs that the tensors keep alive. "
                         "The memory of the nodes is not included in the size and the rate.",
                         {.unknown = "if that number is not growing"}),
        CYCLEWATCH_FIELD(
            graph_nodes_rate, "Additional nodes per `unit`", {.unknown = "if `graph_nodes` is"}),
        CYCLEWATCH_FIELD(keeps_graph,
                         "True if the tensors are stored together with the autograd graph that "
                         "computed them",
                         {.unknown = "if they are not"}),
        CYCLEWATCH_FIELD(remedy, "How to stop the growth", {.unknown = "if that is not known"}),
    };
};

}  // namespace cyclewatch::format
