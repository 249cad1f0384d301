# SPDX-License-Identifier: Apache-2.0
"""The checks that run.py runs, and what docs/gpu.md says about each of them."""

import dataclasses

NOT_APPLICABLE = "not applicable"
# The variable with the settings of torch's CUDA allocator. Newer versions of torch prefer
# PYTORCH_ALLOC_CONF, but also read this one.
ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"


@dataclasses.dataclass(frozen=True)
class Check:
    """One program that run.py runs as `PROGRAM FUNCTION cuda`."""

    program: str
    function: str
    requirement: str
    on_cpu: str = NOT_APPLICABLE  # what the test suite checks without a device
    variant: str = ""
    limit: float = 60  # seconds
    alone: bool = False  # measures time or the memory of the whole device
    environment: dict = dataclasses.field(default_factory=dict)

    @property
    def name(self):
        """The name in tables, unique."""
        return f"{self.function} ({self.variant})" if self.variant else self.function

    def command(self, folder, device="cuda"):
        """The arguments for the interpreter; `folder` contains this file."""
        return [str(folder / self.program), self.function, device]


def allocator(options):
    """The environment that configures torch's CUDA allocator."""
    return {ALLOCATOR: options}


EXPANDABLE = {
    "variant": "expandable segments",
    "environment": allocator("expandable_segments:True"),
}
ASYNC = {"variant": "cudaMallocAsync", "environment": allocator("backend:cudaMallocAsync")}
STATES = {
    "untouched": "before any CUDA call of the process",
    "loaded": "with the driver loaded but not initialized",
    "initialized": "after `cuInit()`",
    "context": "with a current primary context",
    "forked": "in a child of a process with a context",
    "hidden": "with all devices hidden by `CUDA_VISIBLE_DEVICES`",
}
EFFECTS = "what each CUDA query returns, and whether it loads the driver or creates a context"

PROBES = [
    Check("probes/states.py", f"state_{state}", f"{EFFECTS}, {when}", limit=120)
    for state, when in STATES.items()
] + [
    Check(
        "probes/capture.py",
        "queries_in_captures",
        "each query in each capture mode, bare and guarded, also from another thread: the guarded "
        "query succeeds, the capture survives, and the graph computes the right numbers",
        limit=90,
    ),
    Check(
        "probes/errors.py",
        "last_errors",
        "a guarded query keeps the program's last error and removes its own",
    ),
    Check(
        "probes/errors.py",
        "thread_without_a_context",
        "a thread that has not used the device has no context; asking the driver creates none",
        variant="probe",
    ),
    Check("probes/memory.py", "ranges", "each tensor is inside one allocation of the driver"),
    Check("probes/memory.py", "ranges", "the same", **EXPANDABLE),
    Check("probes/memory.py", "ranges", "the same", **ASYNC),
    Check(
        "probes/memory.py",
        "composition",
        "the memory in use is the sum of torch's memory, the pool of `cudaMallocAsync` and a rest; "
        "`nvidia-smi` shows the same total",
        alone=True,
    ),
    Check(
        "probes/memory.py",
        "cupy_pools",
        "the pool that CuPy uses is visible through another copy of the runtime",
        alone=True,
    ),
    Check(
        "probes/timing.py",
        "query_times",
        "the time of each query while the device is idle and while it works",
        alone=True,
    ),
    Check(
        "probes/timing.py",
        "first_call_into_a_runtime",
        "the first query of a runtime that nobody has used keeps the thread's context",
        alone=True,
    ),
]

WATCHES = [
    Check(
        "checks.py",
        "exact_bytes",
        "the retained bytes equal the decrease of `torch.cuda.memory_allocated()`; views count "
        "once, surviving storages do not count",
        "the same, without comparing with the allocator",
    ),
    Check(
        "checks.py",
        "odd_sizes",
        "the report contains the sizes of storages; the allocator frees the sizes rounded up to "
        "blocks",
        "storages only",
    ),
    Check(
        "queries.py",
        "memory_with_torch",
        "the samples before and after a collection equal torch's counters, and the total equals "
        "that of `torch.cuda.mem_get_info()` and `nvidia-smi`",
        "the samples exist",
    ),
    Check(
        "queries.py",
        "scans",
        "the dead and the reachable bytes add up to `torch.cuda.memory_allocated()`",
        "the dead bytes are exact",
    ),
    Check(
        "queries.py",
        "unused_device",
        "a watch, a scan and a report do not initialize CUDA; a child that is forked afterwards "
        "can use the device",
        "with a CPU build of torch",
    ),
    Check(
        "queries.py",
        "fork_after_use",
        "a forked child collects without calling CUDA, and the parent continues",
        "the same",
    ),
    Check(
        "queries.py",
        "last_error",
        "a watch keeps the program's pending error and leaves none of its own",
    ),
    Check(
        "queries.py",
        "device_lost",
        "cycles are reported after a kernel has failed; the error stays pending",
    ),
    Check(
        "queries.py",
        "thread_without_a_context",
        "a collection on a thread that has not used the device reports the cycles",
        "the same",
    ),
    Check(
        "queries.py",
        "automatic_devices",
        '`devices="auto"` selects the device, before and after its first use',
        "selects the CPU",
    ),
    Check(
        "checks.py",
        "capture",
        "after a collection during a stream capture, in each capture mode, the graph is complete, "
        "replays, and computes the same result",
    ),
    Check(
        "queries.py",
        "capture_and_other_thread",
        "the same with the collection on another thread",
    ),
    Check(
        "checks.py",
        "streams",
        "tensors are found if their cycles are freed while several streams use the tensors",
    ),
    Check(
        "checks.py",
        "autograd_threads",
        "collections run on autograd's threads",
        "on the caller's thread",
    ),
    Check(
        "checks.py",
        "out_of_memory",
        "the program gets the error, the cycles that retained memory are found, and no error stays "
        "pending",
        "with the CPU's allocator",
    ),
    Check(
        "checks.py",
        "out_of_memory_report",
        "the bytes in use in the report equal the bytes that torch's allocator has allocated, and "
        "the dead bytes equal the bytes that the cycles retain",
        "the dead bytes",
    ),
    Check(
        "checks.py",
        "memory_history",
        "while torch records its memory history, an owner's allocation site is correct even if its "
        "address was used before and after; prints milliseconds and the number of modules that "
        "torch imports",
        "no allocation site",
        limit=120,
    ),
    Check(
        "checks.py",
        "against_torch",
        "torch's own detector on the same garbage, separately and together with a watch: both find "
        "every tensor",
        "the same",
        limit=90,
    ),
]

ANSWERS = [
    Check(
        "answers.py",
        "with_torch",
        "each query of a program that uses torch: the answers equal those of torch, the runtime "
        "and `nvidia-smi`",
        alone=True,
    ),
    Check(
        "answers.py",
        "with_the_driver_only",
        "each query of a program without a CUDA runtime (CuPy): the answers equal CuPy's",
        alone=True,
    ),
    Check(
        "answers.py",
        "nobody_answers",
        "nobody is asked before the device is used, on a thread that has not used it, and in a "
        "forked child; while an error is pending, only the driver is asked",
    ),
    Check(
        "answers.py",
        "answers_in_captures",
        "each query is answered in a capture, in each mode, and the graph computes the same result",
    ),
    Check(
        "answers.py",
        "device_record",
        "the report names the device as torch does, and the parts of its memory add up",
    ),
    Check(
        "answers.py",
        "record_after_a_capture",
        "a collection in a capture describes the device as well",
    ),
    Check(
        "answers.py",
        "contradicted_owner",
        "an owner that claims more memory than CUDA knows is counted, not reported",
    ),
]

LIBRARIES = [
    Check("libraries.py", "torch_allocator", "the retained bytes and samples", **EXPANDABLE),
    Check("libraries.py", "torch_allocator", "the same", **ASYNC),
    Check("libraries.py", "cupy_arrays", "an array and its view are one owner of one storage"),
    Check("libraries.py", "cupy_async_pool", "arrays from CuPy's pool of `cudaMallocAsync`"),
    Check("libraries.py", "cupy_of_torch", "an array in a tensor's memory counts once"),
    Check("libraries.py", "numba_arrays", "an array and its view, in a context of the driver API"),
    Check(
        "libraries.py",
        "jax_arrays",
        "JAX works under a watch, and its arrays are found",
        limit=90,
    ),
    Check(
        "libraries.py",
        "cupy_memory_in_use",
        "without torch, the samples equal the driver's numbers before and after the collection",
        alone=True,
    ),
]

MEMORY = [
    Check(
        "memory.py",
        "account_adds_up",
        "the lines of `memory()` add up to the memory that CUDA reports as used, and those of "
        "torch to what torch has reserved",
        "the lines add up to the resident memory",
        alone=True,
    ),
    Check(
        "memory.py",
        "snapshot_is_read",
        "the totals of `cyclewatch snapshot` equal torch's counters, and the allocation that did "
        "not fit is found",
    ),
    Check(
        "memory.py",
        "snapshot_names_owners",
        "in the file of `dump_snapshot()`, each parameter, gradient and stored tensor has its "
        "path, and the block of a leaked tensor has its cycle; the owners add up to "
        "`torch.cuda.memory_allocated()`",
        limit=120,
    ),
    Check(
        "memory.py",
        "snapshot_has_annotations",
        "`dump_snapshot()` annotates the block of a leaked tensor in the history of torch 2.14 or "
        "newer, where `torch.cuda._memory_viz` shows the finding",
        NOT_APPLICABLE,
    ),
]

EXAMPLES = [
    Check(
        "examples.py",
        name,
        f"bytes and device of the finding of `examples/{name}.py`",
        "only that there are findings: `test_documented_commands.py`",
    )
    for name in ("simple", "awaitable")
] + [
    Check(
        "examples.py",
        "torch_cycles",
        "`examples/torch_cycles.py` with the import of cyclewatch and with that of torch: both "
        "write pages",
        "with the import of cyclewatch",
    )
]

# Last, because they take the most time.
LONG = [
    Check(
        "checks.py",
        "compiled",
        "`torch.compile` computes the same losses and compiles the same number of frames",
        "with the backend `aot_eager`",
        limit=120,
    ),
    Check(
        "toolkit.py",
        "sample",
        "`tests/gpu/sample.cu`, compiled by nvcc: kernels and queries in captures of each mode",
    ),
    Check(
        "toolkit.py",
        "compute_sanitizer",
        "a watch adds no error to those that compute-sanitizer finds in the same program",
        limit=150,
    ),
    Check(
        "checks.py",
        "overhead",
        "training steps alternate with and without a watch; prints the ratio and milliseconds",
        "a small model",
        limit=90,
        alone=True,
    ),
]

CHECKS = [*PROBES, *ANSWERS, *WATCHES, *LIBRARIES, *MEMORY, *EXAMPLES, *LONG]
