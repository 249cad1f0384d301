// SPDX-License-Identifier: Apache-2.0
// The fields of a finding and its parts. See report_fields.h.
#pragma once

#include <tuple>

#include "format/field.h"
#include "model/finding.h"

namespace cyclewatch::format {

template <>
struct Fields<model::SourceExcerpt> {
    using Self = model::SourceExcerpt;
    static constexpr const char* name = "SourceExcerpt";
    static constexpr const char* text = "The line of code at a location, with the lines around it.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(first_line, "Number of the first line in `lines`"),
        CYCLEWATCH_FIELD(line, "Number of the line at the location"),
        CYCLEWATCH_FIELD(
            start_column,
            "The column at which the expression on `line` begins, from 1, in code points",
            {.unknown = "if unknown", .python = kNotInPython}),
        CYCLEWATCH_FIELD(end_column,
                         "The column after the last character of the expression",
                         {.unknown = "if unknown", .python = kNotInPython}),
        CYCLEWATCH_FIELD(lines, "The lines; at most 200 characters of a line are included"),
    };
};

template <>
struct Fields<model::Reference> {
    using Self = model::Reference;
    static constexpr const char* name = "Reference";
    static constexpr const char* text = "A reference of the cycle, from `holder` to `target`.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(
            holder,
            "The object that has the reference, such as 'mymodel.Engine' or 'function train.hook'"),
        CYCLEWATCH_FIELD(
            holder_path,
            "Where the holder is stored, such as 'Registry._pairs'. If the holder is a method of a "
            "container, this is where the container is stored. For the cut of a Path, the holder "
            "as the path writes it. Set only for a cut or an alternative whose holder is a "
            "container, a method of a container, an object with hooks on a cycle that no "
            "collection "
            "frees, or one of several bound methods to replace.",
            {.unknown = "if unknown"}),
        CYCLEWATCH_FIELD(
            references,
            "For a cut: the number of references like this one that the code at `location` stores "
            "in instances of `holder`. All of them must be cut. Otherwise 1."),
        CYCLEWATCH_FIELD(
            label, "The attribute, index, key or variable: '.callback', 'closure:self', '[3]'"),
        CYCLEWATCH_FIELD(target, "The object that the reference refers to"),
        CYCLEWATCH_FIELD(location, "'path:line' of the code to change", {.unknown = "if unknown"}),
        CYCLEWATCH_FIELD(base_class,
                         "The holder's base class, such as 'mylib.Module', if `location` is in a "
                         "method of that base class",
                         {.unknown = "if `location` is in the holder's own class, or if unknown"}),
        CYCLEWATCH_FIELD(
            reason,
            "Why this reference should be cut; for an alternative, the cost of cutting it",
            {.unknown = "for other references"}),
        CYCLEWATCH_FIELD(raw_path,
                         "The references between individual Python objects that were collapsed "
                         "into this one, in order"),
        CYCLEWATCH_FIELD(payload,
                         "True if the reference is not part of the cycle: cutting it frees the "
                         "memory but leaves the cycle"),
        CYCLEWATCH_FIELD(source,
                         "The code at `location` of a cut or an alternative",
                         {.unknown = "if the code is not available, and for other references"}),
    };
};

template <>
struct Fields<model::OwnerSummary> {
    using Self = model::OwnerSummary;
    static constexpr const char* name = "Owner";
    static constexpr const char* text =
        "A tensor owner: an object that owned device memory and was freed with the cycle. Equal "
        "owners share one entry with a `count`.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(type, "The type, such as 'torch.Tensor'"),
        CYCLEWATCH_FIELD(device, "The device: 'cuda:0', 'cpu'"),
        CYCLEWATCH_FIELD(
            bytes,
            "Size of the storage in bytes. For a view, this is the size of the whole storage.",
            {.python = "nbytes"}),
        CYCLEWATCH_FIELD(
            shape,
            "The dimensions, outermost first: '[1024, 1024]'; empty if the owner has no shape",
            {.python = kNotInPython}),
        CYCLEWATCH_FIELD(
            dtype, "The data type, such as 'float32'", {.unknown = "if the owner has none"}),
        CYCLEWATCH_FIELD(path,
                         "Path from the cycle to the owner: 'Node.data'. For a reachable owner, "
                         "the path from the root, with [x] for indexes and for the keys of a large "
                         "dict."),
        CYCLEWATCH_FIELD(count, "Number of equal owners"),
        CYCLEWATCH_FIELD(allocated_at,
                         "'path:line' of the code that created the owner (from tracemalloc) or "
                         "allocated its memory (from torch's memory history)",
                         {.unknown = "if neither source recorded the code"}),
        CYCLEWATCH_FIELD(allocation_stack,
                         "The call stack of the allocation, innermost first, as 'path:line in "
                         "function' or 'path:line'",
                         {.unknown = "if it was not recorded, see `record_history`"}),
    };
};

template <>
struct Fields<model::Picture::Item> {
    using Self = model::Picture::Item;
    static constexpr const char* name = "PictureItem";
    static constexpr const char* text = "A box in the diagram.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(text, "Short name"),
        CYCLEWATCH_FIELD(detail, "Module-qualified name or location"),
        CYCLEWATCH_FIELD(on_cycle, "True if the object is on the cycle"),
        CYCLEWATCH_FIELD(owner, "True if the object owns device memory"),
        CYCLEWATCH_FIELD(bytes, "Size of an owner in bytes, otherwise 0"),
        CYCLEWATCH_FIELD(allocation_stack, "As in Owner", {.unknown = "if it was not recorded"}),
        CYCLEWATCH_FIELD(hides_references,
                         "True if the collector does not see all references of the object, such as "
                         "those of an autograd node; otherwise missing"),
    };
};

template <>
struct Fields<model::Picture::Arrow> {
    using Self = model::Picture::Arrow;
    static constexpr const char* name = "PictureArrow";
    static constexpr const char* text = "An arrow in the diagram: one reference.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(from, "Index into `items`"),
        CYCLEWATCH_FIELD(to, "Index into `items`"),
        CYCLEWATCH_FIELD(label, "Label of the reference"),
        CYCLEWATCH_FIELD(on_cycle, "True if the reference is on the cycle"),
        CYCLEWATCH_FIELD(cut, "True if this is a reference to cut"),
    };
};

template <>
struct Fields<model::Picture> {
    using Self = model::Picture;
    static constexpr const char* name = "Picture";
    static constexpr const char* text =
        "Diagram of the cycle and of the objects that are reachable from it.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(items, "The boxes, at most 40"),
        CYCLEWATCH_FIELD(arrows, "The arrows between the boxes, at most 150"),
        CYCLEWATCH_FIELD(omitted_items,
                         "Number of objects that are reachable from the cycle but not in `items`"),
    };
};

template <>
struct Fields<model::ProcessOccurrences> {
    using Self = model::ProcessOccurrences;
    static constexpr const char* name = "ProcessOccurrences";
    static constexpr const char* text = "The occurrences of a finding in one process.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(process, "Index of the process in `Report.processes`"),
        CYCLEWATCH_FIELD(occurrences, "Number of cycles"),
        CYCLEWATCH_FIELD(retained_bytes, "Device bytes that only these cycles retained"),
        CYCLEWATCH_FIELD(first_seen,
                         "Seconds from the start of that process's watch to the first occurrence"),
        CYCLEWATCH_FIELD(first_step,
                         "The last step number passed to Watch.step() before the first occurrence",
                         {.unknown = "if there was none", .none = -1}),
    };
};

template <>
struct Fields<model::Variant> {
    using Self = model::Variant;
    static constexpr const char* name = "Variant";
    static constexpr const char* text =
        "All cycles in a merged finding that have the same signature.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(signature, "The signature, as in Finding.signature"),
        CYCLEWATCH_FIELD(name,
                         "Short name of the object that distinguishes the variant: 'F1Score'"),
        CYCLEWATCH_FIELD(title, "The cycle in short: 'Engine.hook -> Engine'"),
        CYCLEWATCH_FIELD(location, "'path:line' of the code to change", {.unknown = "if unknown"}),
        CYCLEWATCH_FIELD(occurrences, "Number of cycles"),
        CYCLEWATCH_FIELD(bytes, "Device bytes that the cycles retained, including shared bytes"),
    };
};

template <>
struct Fields<model::Finding> {
    using Self = model::Finding;
    static constexpr const char* name = "Finding";
    static constexpr const char* text =
        "A reference cycle that kept device memory alive. Cycles with the same signature are "
        "grouped into one finding.";
    static constexpr auto list = std::tuple{
        CYCLEWATCH_FIELD(signature,
                         "Identifies the cycle: 'cw1-' and 16 hexadecimal digits. The same in "
                         "every run and on every rank and machine."),
        CYCLEWATCH_FIELD(pattern, "Id of the matching Pattern, or 'unknown'"),
        CYCLEWATCH_FIELD(title, "The cycle in short: 'Engine.hook -> Engine'"),
        CYCLEWATCH_FIELD(remedy, "Names the references to cut, in a few words"),
        CYCLEWATCH_FIELD(advice,
                         "How to change the code, in one or two sentences; empty if unknown"),
        CYCLEWATCH_FIELD(cost,
                         "A disadvantage of the change, without a final period; empty if unknown"),
        CYCLEWATCH_FIELD(status,
                         "'new', 'known' (listed in the baseline), 'library' (only a change of a "
                         "library can fix it), 'benign' (an intentional cycle) or 'ignored' (by "
                         "configuration). Only new findings fail checks."),
        CYCLEWATCH_FIELD(status_reason, "Why the finding has its status; empty for a new finding"),
        CYCLEWATCH_FIELD(collected,
                         "Whether a collection has freed the memory: 'yes', 'not yet' (a scan "
                         "found it), 'never' (frozen by gc.freeze(), so no collection frees it) or "
                         "'uncollectable' (the cycle leads through C++ or a NumPy array, so no "
                         "collection frees it; see never_freed())"),
        CYCLEWATCH_FIELD(uncollected_bytes,
                         "Device bytes that scans have found and that still exist",
                         {.unknown = "if there are none"}),
        CYCLEWATCH_FIELD(retained_bytes,
                         "Retained size: device bytes that only this cycle kept alive, summed over "
                         "all occurrences, counting each storage once"),
        CYCLEWATCH_FIELD(shared_bytes, "Device bytes that other cycles or objects also kept alive"),
        CYCLEWATCH_FIELD(shared_with,
                         "Number of other findings that share `shared_bytes`. The shared bytes are "
                         "freed once this finding and all of the others are fixed. 0 if only "
                         "objects outside all cycles share them."),
        CYCLEWATCH_FIELD(attributed_bytes,
                         "`retained_bytes` plus the shared bytes that are assigned to this "
                         "finding. The sum over all findings counts each storage once."),
        CYCLEWATCH_FIELD(
            unowned_bytes,
            "Device bytes that were freed with the cycles and that no tensor explains, "
            "most likely saved for backward; before a collection, the bytes that a scan found in "
            "the autograd graphs of these tensors; 0 if this was not measured",
            {.unknown = "if no tensor of the cycles has an autograd graph"}),
        CYCLEWATCH_FIELD(occurrences, "Number of cycles found"),
        CYCLEWATCH_FIELD(largest_bytes, "`retained_bytes` of the largest occurrence"),
        CYCLEWATCH_FIELD(byte_seconds,
                         "Upper bound on the product of the retained bytes and the number of "
                         "seconds for which they were unreachable, summed over all occurrences"),
        CYCLEWATCH_FIELD(cycle,
                         "The references of the cycle, in order; the last one refers to the first "
                         "holder. In a cycle of more than 200 references, the middle entry "
                         "represents several, and its label is '... N more ...'."),
        CYCLEWATCH_FIELD(cut,
                         "The references whose removal breaks the cycle or frees its memory; "
                         "usually a single reference",
                         {.python = kNotInPython}),
        CYCLEWATCH_FIELD(omitted_cuts,
                         "Number of kinds of references that must also be cut but were omitted, "
                         "because the list would be too long"),
        CYCLEWATCH_FIELD(
            tie,
            "True if the first reference to cut is not clearly better than `alternatives[0]`: the "
            "evidence for both references is about equally strong"),
        CYCLEWATCH_FIELD(freed_share,
                         "The fraction of the largest occurrence's retained bytes that is freed if "
                         "all references to cut are removed. 0 if unknown, or if another cycle "
                         "also retains the memory."),
        CYCLEWATCH_FIELD(alternatives,
                         "Other references that could be cut instead of the first, best first"),
        CYCLEWATCH_FIELD(owners, "The tensor owners that the cycle retained, largest first"),
        CYCLEWATCH_FIELD(omitted_owners, "Number of owners omitted from `owners`"),
        CYCLEWATCH_FIELD(
            variants,
            "One entry for each signature that was merged into this finding, including "
            "`signature`, largest first. Empty if there is only one signature."),
        CYCLEWATCH_FIELD(omitted_variants,
                         "Number of signatures omitted from `variants`",
                         {.python = kNotInPython}),
        CYCLEWATCH_FIELD(picture, "The diagram that to_svg() draws", {.python = kNotInPython}),
        CYCLEWATCH_FIELD(first_seen,
                         "Seconds from the start of the watch to the first occurrence. In a merged "
                         "report, this is the earliest time in any process."),
        CYCLEWATCH_FIELD(last_seen,
                         "Seconds from the start of the watch to the last occurrence. In a merged "
                         "report, this is the latest time in any process."),
        CYCLEWATCH_FIELD(dead_for_at_most,
                         "The longest time, in seconds, that the memory may have been unreachable "
                         "before it was freed"),
        CYCLEWATCH_FIELD(first_collection,
                         "`Collection.number` of the collection or scan with the first occurrence"),
        CYCLEWATCH_FIELD(collections, "Number of collections with at least one occurrence"),
        CYCLEWATCH_FIELD(scans,
                         "Number of scans with at least one occurrence. A scan frees nothing. "
                         "Missing in files of earlier versions."),
        CYCLEWATCH_FIELD(by_process,
                         "The occurrences in each process, in the order of `Report.processes`"),
        CYCLEWATCH_FIELD(
            verdict,
            "The reviewer's verdict: 'bug', 'accepted', 'unclear', or '' if there is none"),
        CYCLEWATCH_FIELD(note, "The reviewer's note; may be empty"),
    };
};

}  // namespace cyclewatch::format
