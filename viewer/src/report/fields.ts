// SPDX-License-Identifier: Apache-2.0
// The fields of a report. Written by scripts/report_fields.py.

// A process that was watched.
export interface Program {
    script: string; // Name of the script, without directory and suffix; empty if there is none.
    pid: number; // The process id.
    rank: number; // Rank in the job: of torch.distributed if the program initialized it, else the environment variable RANK; -1 if the process is not a rank.
    python_version: string; // Version of CPython: '3.11.9'.
    cyclewatch_version: string; // Version of cyclewatch.
    started_at: string; // Start time of the watch, in UTC and ISO 8601 format: '2026-01-31T12:00:00.000Z'.
    strategy: string; // How unreachable objects were found: 'ride-along' or 'heap-scan'.
    unexamined?: string; // The objects that nothing had examined when the report was written; empty if a scan or a full collection examined all objects at the end of the watch; missing if an earlier version wrote the report.
    world_size?: number; // Number of ranks of the job: of torch.distributed if the program initialized it, else the environment variable WORLD_SIZE; missing if the process is not a rank: also if a rank started it.
    host?: string; // A hash of the name of the machine, of 16 hexadecimal digits, which tells the processes of several machines apart; missing if an earlier version wrote the report.
    elapsed?: number; // Seconds from the start of the watch to the report, or to the end of the watch; missing if an earlier version wrote the report.
}

// The line of code at a location, with the lines around it.
export interface SourceExcerpt {
    first_line: number; // Number of the first line in `lines`.
    line: number; // Number of the line at the location.
    start_column: number; // The column at which the expression on `line` begins, from 1, in code points; 0 if unknown.
    end_column: number; // The column after the last character of the expression; 0 if unknown.
    lines: string[]; // The lines; at most 200 characters of a line are included.
}

// A reference of the cycle, from `holder` to `target`.
export interface Reference {
    holder: string; // The object that has the reference, such as 'mymodel.Engine' or 'function train.hook'.
    holder_path: string; // Where the holder is stored, such as 'Registry._pairs'. If the holder is a method of a container, this is where the container is stored. For the cut of a Path, the holder as the path writes it. Set only for a cut or an alternative whose holder is a container, a method of a container, an object with hooks on a cycle that no collection frees, or one of several bound methods to replace. Empty if unknown.
    references: number; // For a cut: the number of references like this one that the code at `location` stores in instances of `holder`. All of them must be cut. Otherwise 1.
    label: string; // The attribute, index, key or variable: '.callback', 'closure:self', '[3]'.
    target: string; // The object that the reference refers to.
    location: string; // 'path:line' of the code to change; empty if unknown.
    base_class: string; // The holder's base class, such as 'mylib.Module', if `location` is in a method of that base class; empty if `location` is in the holder's own class, or if unknown.
    reason: string; // Why this reference should be cut; for an alternative, the cost of cutting it; empty for other references.
    raw_path: string[]; // The references between individual Python objects that were collapsed into this one, in order.
    payload: boolean; // True if the reference is not part of the cycle: cutting it frees the memory but leaves the cycle.
    source?: SourceExcerpt; // The code at `location` of a cut or an alternative; missing if the code is not available, and for other references.
}

// A tensor owner: an object that owned device memory and was freed with the cycle. Equal owners share one entry with a `count`.
export interface Owner {
    type: string; // The type, such as 'torch.Tensor'.
    device: string; // The device: 'cuda:0', 'cpu'.
    bytes: number; // Size of the storage in bytes. For a view, this is the size of the whole storage.
    shape: string; // The dimensions, outermost first: '[1024, 1024]'; empty if the owner has no shape.
    dtype: string; // The data type, such as 'float32'; empty if the owner has none.
    path: string; // Path from the cycle to the owner: 'Node.data'. For a reachable owner, the path from the root, with [x] for indexes and for the keys of a large dict.
    count: number; // Number of equal owners.
    allocated_at: string; // 'path:line' of the code that created the owner (from tracemalloc) or allocated its memory (from torch's memory history); empty if neither source recorded the code.
    allocation_stack?: string[]; // The call stack of the allocation, innermost first, as 'path:line in function' or 'path:line'; missing if it was not recorded, see `record_history`.
}

// All cycles in a merged finding that have the same signature.
export interface Variant {
    signature: string; // The signature, as in Finding.signature.
    name: string; // Short name of the object that distinguishes the variant: 'F1Score'.
    title: string; // The cycle in short: 'Engine.hook -> Engine'.
    location: string; // 'path:line' of the code to change; empty if unknown.
    occurrences: number; // Number of cycles.
    bytes: number; // Device bytes that the cycles retained, including shared bytes.
}

// A box in the diagram.
export interface PictureItem {
    text: string; // Short name.
    detail: string; // Module-qualified name or location.
    on_cycle: boolean; // True if the object is on the cycle.
    owner: boolean; // True if the object owns device memory.
    bytes: number; // Size of an owner in bytes, otherwise 0.
    allocation_stack?: string[]; // As in Owner; missing if it was not recorded.
    hides_references?: boolean; // True if the collector does not see all references of the object, such as those of an autograd node; otherwise missing.
}

// An arrow in the diagram: one reference.
export interface PictureArrow {
    from: number; // Index into `items`.
    to: number; // Index into `items`.
    label: string; // Label of the reference.
    on_cycle: boolean; // True if the reference is on the cycle.
    cut: boolean; // True if this is a reference to cut.
}

// Diagram of the cycle and of the objects that are reachable from it.
export interface Picture {
    items: PictureItem[]; // The boxes, at most 40.
    arrows: PictureArrow[]; // The arrows between the boxes, at most 150.
    omitted_items: number; // Number of objects that are reachable from the cycle but not in `items`.
}

// The occurrences of a finding in one process.
export interface ProcessOccurrences {
    process: number; // Index of the process in `Report.processes`.
    occurrences: number; // Number of cycles.
    retained_bytes: number; // Device bytes that only these cycles retained.
    first_seen: number; // Seconds from the start of that process's watch to the first occurrence.
    first_step: number; // The last step number passed to Watch.step() before the first occurrence; -1 if there was none.
}

// A reference cycle that kept device memory alive. Cycles with the same signature are grouped into one finding.
export interface Finding {
    signature: string; // Identifies the cycle: 'cw1-' and 16 hexadecimal digits. The same in every run and on every rank and machine.
    pattern: string; // Id of the matching Pattern, or 'unknown'.
    title: string; // The cycle in short: 'Engine.hook -> Engine'.
    remedy: string; // Names the references to cut, in a few words.
    advice: string; // How to change the code, in one or two sentences; empty if unknown.
    cost: string; // A disadvantage of the change, without a final period; empty if unknown.
    status: "new" | "known" | "library" | "benign" | "ignored"; // 'new', 'known' (listed in the baseline), 'library' (only a change of a library can fix it), 'benign' (an intentional cycle) or 'ignored' (by configuration). Only new findings fail checks.
    status_reason: string; // Why the finding has its status; empty for a new finding.
    collected: "yes" | "not yet" | "never" | "uncollectable"; // Whether a collection has freed the memory: 'yes', 'not yet' (a scan found it), 'never' (frozen by gc.freeze(), so no collection frees it) or 'uncollectable' (the cycle leads through C++ or a NumPy array, so no collection frees it; see never_freed()).
    uncollected_bytes?: number; // Device bytes that scans have found and that still exist; missing if there are none.
    retained_bytes: number; // Retained size: device bytes that only this cycle kept alive, summed over all occurrences, counting each storage once.
    shared_bytes: number; // Device bytes that other cycles or objects also kept alive.
    shared_with: number; // Number of other findings that share `shared_bytes`. The shared bytes are freed once this finding and all of the others are fixed. 0 if only objects outside all cycles share them.
    attributed_bytes: number; // `retained_bytes` plus the shared bytes that are assigned to this finding. The sum over all findings counts each storage once.
    unowned_bytes?: number; // Device bytes that were freed with the cycles and that no tensor explains, most likely saved for backward; before a collection, the bytes that a scan found in the autograd graphs of these tensors; 0 if this was not measured; missing if no tensor of the cycles has an autograd graph.
    occurrences: number; // Number of cycles found.
    largest_bytes: number; // `retained_bytes` of the largest occurrence.
    byte_seconds: number; // Upper bound on the product of the retained bytes and the number of seconds for which they were unreachable, summed over all occurrences.
    cycle: Reference[]; // The references of the cycle, in order; the last one refers to the first holder. In a cycle of more than 200 references, the middle entry represents several, and its label is '... N more ...'.
    cut: Reference[]; // The references whose removal breaks the cycle or frees its memory; usually a single reference.
    omitted_cuts: number; // Number of kinds of references that must also be cut but were omitted, because the list would be too long.
    tie: boolean; // True if the first reference to cut is not clearly better than `alternatives[0]`: the evidence for both references is about equally strong.
    freed_share: number; // The fraction of the largest occurrence's retained bytes that is freed if all references to cut are removed. 0 if unknown, or if another cycle also retains the memory.
    alternatives: Reference[]; // Other references that could be cut instead of the first, best first.
    owners: Owner[]; // The tensor owners that the cycle retained, largest first.
    omitted_owners: number; // Number of owners omitted from `owners`.
    variants: Variant[]; // One entry for each signature that was merged into this finding, including `signature`, largest first. Empty if there is only one signature.
    omitted_variants: number; // Number of signatures omitted from `variants`.
    picture: Picture; // The diagram that to_svg() draws.
    first_seen: number; // Seconds from the start of the watch to the first occurrence. In a merged report, this is the earliest time in any process.
    last_seen: number; // Seconds from the start of the watch to the last occurrence. In a merged report, this is the latest time in any process.
    dead_for_at_most: number; // The longest time, in seconds, that the memory may have been unreachable before it was freed.
    first_collection: number; // `Collection.number` of the collection or scan with the first occurrence.
    collections: number; // Number of collections with at least one occurrence.
    scans?: number; // Number of scans with at least one occurrence. A scan frees nothing. Missing in files of earlier versions.
    by_process: ProcessOccurrences[]; // The occurrences in each process, in the order of `Report.processes`.
    verdict: "" | "bug" | "accepted" | "unclear"; // The reviewer's verdict: 'bug', 'accepted', 'unclear', or '' if there is none.
    note: string; // The reviewer's note; may be empty.
}

// Memory in use on one device before and after a collection.
export interface DeviceMemory {
    device: string; // The device: 'cuda:0', 'cpu'.
    used_before: number; // Bytes in use before the collection freed the unreachable objects.
    used_after: number; // Bytes in use at the end of the collection.
    total: number; // Capacity of the device in bytes; 0 if unknown.
    source: "torch" | "cuda" | "process"; // Where the numbers come from: 'torch' (allocated by torch), 'cuda' (all used memory of the device) or 'process' (resident set size of the process).
    unowned_bytes?: number; // Bytes that the collection freed in addition to the memory of tensors, most likely saved for backward; missing if torch's allocator measured less than 1 MiB, or nothing.
}

// The occurrences of one finding in one collection.
export interface FindingPart {
    signature: string; // Signature of the finding.
    occurrences: number; // Number of cycles that were unreachable.
    retained_bytes: number; // Device bytes attributed to these cycles. The sum over all findings counts each storage once.
}

// A garbage collection, or a scan, that found unreachable tensor owners or freed those of earlier scans.
export interface Collection {
    process: number; // Index of the process in `Report.processes`.
    number: number; // Position among all collections since the start of the watch, counted from 1.
    generation: number; // The generation, as in `gc.callbacks`.
    scan: boolean; // True for a scan, which finds unreachable objects but frees nothing.
    started_at: number; // Seconds from the start of the watch to the start of the collection.
    duration: number; // Duration of the collection in seconds, including the time spent in the watch.
    own_seconds: number; // The part of `duration` that was spent in the watch, in seconds.
    dead_for_at_most: number; // Upper bound on the number of seconds for which the memory was unreachable: the time since the last collection that would have freed it.
    unreachable: number; // Number of objects that the collector found unreachable.
    owners: number; // Number of unreachable tensor owners, except those of earlier scans.
    released_bytes: number; // Device bytes that the collection freed, or that the scan found, counting each storage once.
    step: number; // The last step number passed to Watch.step() before the collection; -1 if there was none.
    device_memory: DeviceMemory[]; // Memory in use on the devices of the unreachable owners; empty if unknown or if the watch had exceeded its budget.
    findings: FindingPart[]; // Up to 16 findings of this collection, largest first.
    note: string; // Why the results of this collection are incomplete; empty if they are complete.
}

// A group of reachable tensors whose total memory use is growing. The tensors have the same type, device, shape and dtype, and equivalent paths.
export interface GrowingOwner {
    process: number; // Index of the process in `Report.processes`.
    owner: Owner; // One of the tensors; `count` is the number of storages.
    bytes: number; // Size of all storages in bytes, counting each once.
    held_by: string; // The path to one of the tensors, in the format of :func:`why_alive`; empty if unknown.
    rate: number; // Additional bytes per `unit`.
    unit: "step" | "second"; // 'step' (a call to Watch.step()), or 'second' for `cyclewatch run`.
    until_full: number; // The number of steps or seconds (see `unit`) until the device is full at this rate, if nothing else is allocated; -1 if the device's capacity is not known.
    census_bytes: number[]; // The total size in bytes in each of the latest censuses (at most six), oldest first. The last size is the current one.
    graph_nodes?: number; // The number of nodes of the autograd graphs that the tensors keep alive. The memory of the nodes is not included in the size and the rate. Missing if that number is not growing.
    graph_nodes_rate?: number; // Additional nodes per `unit`; missing if `graph_nodes` is.
    keeps_graph?: boolean; // True if the tensors are stored together with the autograd graph that computed them; missing if they are not.
    remedy?: string; // How to stop the growth; missing if that is not known.
}

// The start of a Path, such as a variable or a module. It keeps the path's first object alive.
export interface PathRoot {
    kind: "local variable" | "module global" | "class attribute" | "context variable" | "thread local" | "exception" | "interpreter" | "C code"; // 'local variable', 'module global', 'class attribute', 'context variable', 'thread local', 'exception', 'interpreter' or 'C code'.
    text: string; // The name: 'train() local model', or 'thread gpu-0: train() local model' if the root belongs to another thread.
    location: string; // 'path:line' if the root is a local variable of a running function; empty for other roots.
}

// The references from a root to an object.
export interface Path {
    root: PathRoot; // The start of the path.
    references: Reference[]; // The references in order; the last one refers to the object. Attribute dicts, closures and the dicts of an ``nn.Module`` are not shown as separate objects.
    cut?: Reference; // The reference to remove; missing if the program cannot remove any reference of the path.
    cut_frees: boolean; // Whether removing `cut`, or following `remedy`, frees the object: at once, or at the next collection if the object is part of a cycle. False if another path does not contain `cut`. Also False if C++ objects, such as an autograd graph, may refer to the object.
    remedy?: string; // How to remove `cut`, such as 'set `model.cache` to None (train.py:12) once it is no longer used'. If only the program knows whether it needs the value, the text states this condition; missing if that is not known.
    text: string; // The path, written as Python code on one line.
}

// A group of reachable tensors, such as the weights of all layers. The tensors have the same type, device, shape, dtype and category, and equivalent paths.
export interface LiveOwner {
    process: number; // Index of the process in `Report.processes`.
    owner: Owner; // One of the tensors; `count` is the number of storages.
    bytes: number; // Size of all storages in bytes, counting each once.
    category: "parameter" | "buffer" | "gradient" | "optimizer state" | "saved for backward" | "activation" | "held by C++" | "other"; // 'parameter', 'buffer' (registered with a torch module), 'gradient', 'optimizer state', 'saved for backward' (held by an autograd graph), 'activation', 'held by C++' (only C++ code that cannot be examined refers to them) or 'other'.
    held_by: Path[]; // One or two paths to one of the tensors, as returned by :func:`why_alive`.
}

// What the memory of a CUDA device was used for, in bytes. The values of all attributes except `collection` add up to `DeviceRecord.total`.
export interface MemoryBreakdown {
    collection: number; // `Collection.number` of the collection before which the memory was divided in this way.
    live: number; // Allocated by torch, without `dead`.
    dead: number; // Used by unreachable tensors.
    torch_cache: number; // Reserved by torch's allocator but not allocated.
    pool_used: number; // Allocated with `cudaMallocAsync()` by other libraries than torch.
    pool_cache: number; // Reserved for `cudaMallocAsync()` but not allocated.
    graphs: number; // Reserved for allocations in captured graphs.
    other: number; // Everything else in use: CUDA contexts, allocations by other libraries, and other processes.
    free: number; // Not in use.
}

// A CUDA device that contained unreachable tensors.
export interface DeviceRecord {
    process: number; // Index of the process in `Report.processes`.
    device: string; // The device: 'cuda:0'.
    name: string; // The device's name: 'NVIDIA H100 80GB HBM3'.
    uuid: string; // The UUID without the prefix that nvidia-smi prints; empty if unknown.
    pci_id: string; // The PCI id: '0000:65:00.0'.
    total: number; // Capacity in bytes.
    runtime_version: number; // Version of the CUDA runtime: 13000 for CUDA 13.0; 0 if the program uses only the driver API.
    driver_version: number; // The newest CUDA version that the driver supports: 13010 for CUDA 13.1.
    error: string; // Name of the CUDA error that was pending before a collection: 'cudaErrorIllegalAddress'; empty if there was none.
    memory?: MemoryBreakdown; // What the memory was used for before the collection that freed the most; missing if unknown.
    memory_now?: MemoryBreakdown; // What the memory was used for when the report was created or the watch stopped. `dead` is 0: tensors that became unreachable after the last collection are part of `live`. Missing if unknown.
}

// When the latest census of a process was taken.
export interface CensusTime {
    process: number; // Index of the process in `Report.processes`.
    at: number; // Seconds from the start of the watch to the census.
    step: number; // The last step number passed to Watch.step() before the census; -1 if there was none.
}

// One use of the memory of a device.
export interface MemoryLine {
    kind: string; // The use in a word that does not change between versions: 'dead', 'parameter', 'cached'.
    use: string; // In words: 'dead in 2 cycles (a collection frees them)'.
    bytes: number; // The size. Negative for tensors that are not resident, for example because they have not been written to.
}

// What the memory in use on a device was used for, as returned by :func:`memory`.
export interface MemoryAccount {
    process: number; // Index of the process in `Report.processes`.
    device: string; // The device: 'cuda:0', 'cpu'.
    occasion: "request" | "out of memory" | "end"; // Why it was measured: 'request' (a call to :func:`memory`), 'out of memory' or 'end' (of the program).
    at: number; // Seconds from the start of the watch to the measurement.
    step: number; // The last step number passed to Watch.step() before the measurement; -1 if there was none.
    in_use: number; // The bytes in use; the sum of `lines`.
    total: number; // The capacity of the device or the limit of the process, in bytes; 0 if unknown.
    source: string; // How `in_use` was measured, such as 'resident memory'.
    peak: number; // The most bytes that torch had allocated at one time or, for the CPU, the largest resident memory; 0 if unknown.
    headline: string; // The verdict: the bytes in use, what most of them are, and what to do next.
    lines: MemoryLine[]; // What the memory was used for.
    signatures: string[]; // The signatures of the findings for the dead cycles, which are not necessarily part of the report.
    holders: LiveOwner[]; // The largest groups of reachable tensors, largest first.
    notes: string[]; // Sentences that describe what was not examined, such as large autograd graphs.
}

// The bytes of the reachable tensors on a device in a census, by category.
export interface CategorySizes {
    step: number; // The last step number passed to Watch.step() before the census; -1 if there was none.
    at: number; // Seconds from the start of the watch to the census.
    parameter: number; // Parameters.
    gradient: number; // Gradients.
    optimizer_state: number; // State of optimizers.
    saved_for_backward: number; // Tensors held by autograd graphs.
    activation: number; // Tensors computed from a tensor that requires a gradient.
    other: number; // Other tensors, including those that only C++ code holds.
}

// The memory in use on a device in the steps of a process, in columns. For a long run, the columns are a sample: the steps are divided into groups of equal size, and each entry is the step of its group with the most memory in use. Of steps that take less than a few milliseconds, only some are recorded.
export interface MemorySteps {
    process: number; // Index of the process in `Report.processes`.
    device: string; // The device: 'cuda:0', 'cpu'.
    steps: number[]; // The numbers passed to Watch.step().
    times: number[]; // Seconds from the start of the watch to the step.
    in_use: number[]; // Bytes reserved by torch's allocator or, for the CPU, resident memory.
    allocated: number[]; // Bytes allocated by torch's allocator; 0 for the CPU.
    peak?: number[]; // The most bytes that torch had allocated at one time, since the start or ``torch.cuda.reset_peak_memory_stats()``; missing for the CPU.
    dead: number[]; // Bytes of unreachable tensors that scans had found.
    censuses: CategorySizes[]; // The sizes by category, exact, in the censuses.
}

// The time that the collections of a process took in each step, in columns, with an entry for each step in which a collection ran. If the program starts to count again, the steps before are left out.
export interface CollectionSteps {
    process: number; // Index of the process in `Report.processes`.
    first_step: number; // The first number passed to Watch.step().
    last_step: number; // The last number passed to Watch.step().
    elapsed: number; // Seconds from the start of the first step to the start of the last.
    every: number; // The columns are a sample of one in this number of steps, which is the same on all ranks. 1 if all steps are included.
    shorter_than: number; // Steps in which the collections took less than this number of seconds are left out; 0 if none are.
    steps: number[]; // The numbers passed to Watch.step().
    seconds: number[]; // Seconds that the collections took, including the time spent in the watch.
    freed_bytes: number[]; // Device bytes that the collections freed on the watched devices.
}

// The memory in use on a device over the time of a process, in columns, sampled about ten times a second. For a run of more than a minute, each entry covers several samples.
export interface MemorySamples {
    process: number; // Index of the process in `Report.processes`.
    device: string; // The device: 'cuda:0', 'cpu'.
    source: string; // What is counted: 'allocated by torch', 'allocated with malloc()' or, if the program uses another allocator, 'resident memory'.
    times: number[]; // Seconds from the start of the watch to the first sample of the entry.
    lowest: number[]; // The smallest number of bytes among the samples of the entry.
    highest: number[]; // The largest number of bytes among the samples of the entry.
}

// Storages on a CUDA device that have the same size, and the same finding or equivalent paths.
export interface StorageAddresses {
    device: string; // The device: 'cuda:0'.
    bytes: number; // Size of each storage in bytes.
    at: number; // Seconds from the start of the watch to the search or census that found the storages; if `freed`, to when they were found to be freed.
    freed: boolean; // True if the storages were unreachable and have been freed.
    signature: string; // The signature of the finding, which may be that of a Variant; empty for reachable storages.
    category: string; // As in LiveOwner, for reachable storages; otherwise empty.
    addresses: number[]; // The addresses on the device.
    paths: string[]; // For each address, the path to the reachable owner, as Path.text; empty if the storages are unreachable.
}

// All collections of one generation; in a merged report, of all processes.
export interface GenerationTotals {
    generation: number; // The generation, as in `gc.callbacks`.
    collections: number; // Number of collections.
    seconds: number; // Total time of the collections in seconds, excluding the time spent in the watch.
    share: number; // `seconds` divided by the duration of the watch.
    examined: number; // Number of objects that the collections examined; 0 before CPython 3.15, which counts them.
    reclaimed: number; // Number of objects that the collections freed.
    freeing: number; // Number of collections that freed device memory.
    freeing_seconds: number; // The part of `seconds` that was spent in collections that freed device memory.
    freed_bytes: number; // Device bytes that the collections freed on the watched devices, counting each storage once.
}

// Statistics of a watch; in a merged report, of all processes.
export interface Stats {
    collections: number; // Number of collections.
    scans: number; // Number of scans without a collection.
    unreachable: number; // Number of unreachable objects.
    owners: number; // Number of unreachable tensor owners.
    suspected_bytes?: number; // Size of the storages in bytes that the last search for never freed memory found, but that are reported only if further searches find them; missing if there are none.
    findings: number; // Number of distinct findings.
    seconds: number; // Seconds spent in the watch during collections, scans and censuses.
    collection_seconds: number; // Total time of all collections in seconds, including the time spent in the watch.
    elapsed: number; // Seconds since the start of the watch.
    skipped: Record<string, number>; // The number of omissions, by reason.
    generations: GenerationTotals[]; // The totals of all collections by generation, youngest first. Scans are not included.
}

// The result of a watch.
export interface Report {
    processes: Program[]; // The watched processes. In a merged report, they are ordered by rank, then pid. Never empty.
    devices: string[]; // The watched devices, as passed by the user.
    findings: Finding[]; // The findings, sorted by `retained_bytes + shared_bytes`, largest first.
    retained_bytes: number; // Device bytes of all unreachable tensor owners, counting each storage once.
    collections: Collection[]; // The collections and scans that found tensor owners, ordered by process and time. For a long run, the list is a sample: the collections are divided into groups of equal size, and each entry is the collection that freed the most memory in its group.
    omitted_collections: number; // Number of collections and scans that found tensor owners but are not listed.
    growing?: GrowingOwner[]; // Groups of tensors whose memory use rose at 3 or more of the last 5 censuses, fastest-growing first; at most 100 for each process; missing if the watch took no census.
    live_owners?: LiveOwner[]; // The largest groups of reachable tensors in the last census or when `cyclewatch attach` ran, largest first; at most 100 for each process; missing if there was neither.
    device_records?: DeviceRecord[]; // The CUDA devices that contained unreachable tensors, ordered by process and device; missing if CUDA was not in use or could not be queried.
    censuses?: CensusTime[]; // When `growing` and `live_owners` were recorded, one entry for each process that took a census; missing if there was no census.
    memory?: MemoryAccount[]; // What the memory in use was used for when the program called :func:`memory`, ran out of memory or ended; for each process, the latest account of each device and occasion. If the reports of more than 16 processes are merged, without `holders`. Missing if no account was recorded.
    memory_steps?: MemorySteps[]; // The memory in use in the steps of the program, by process and device; missing if the program did not call Watch.step().
    collection_steps?: CollectionSteps[]; // The time that collections took in the steps of the program, by process; missing if the program did not call Watch.step().
    memory_samples?: MemorySamples[]; // The memory in use over time, by process and device, sampled while a watch with report files was active; missing if there are too few samples for a chart.
    addresses?: StorageAddresses[]; // The addresses of storages on CUDA devices, for ``cyclewatch snapshot --owners``: for each process, at most 1,000 of reachable owners, the largest first, 1,000 of unreachable owners and the last 1,000 that were freed; missing if there are none, and if the report covers several processes.
    missing_ranks?: number[]; // Ranks of the job of which a merged report has no data, because they wrote or sent no report, or none that can be read, in ascending order; missing if no rank is missing.
    stats: Stats; // Statistics of the watch when the report was created.
    notes: string[]; // Sentences that describe which data was truncated or skipped.
}
