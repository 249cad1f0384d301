// SPDX-License-Identifier: Apache-2.0
// Flags for the differences between interpreter versions. Each flag is named after a difference,
// and its comment describes the behavior of the versions for which the flag is true. PY_VERSION_HEX
// must not be used outside src/compat. For C and C++; include Python.h first.
#pragma once

// The object, dict and frame layouts of the following versions were taken from CPython's headers
// and are tested on each version. On any other version, the functions in object_layout.h and
// frame_access.h find no attributes or references. README.md describes how to support a new CPython
// version.
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x03100000 && !defined(Py_GIL_DISABLED)
#define CYCLEWATCH_LAYOUTS_KNOWN 1
#elif PY_VERSION_HEX >= 0x030E0000 && PY_VERSION_HEX < 0x030F0000
#define CYCLEWATCH_LAYOUTS_KNOWN 1 /* free-threaded */
#else
#define CYCLEWATCH_LAYOUTS_KNOWN 0
#endif

// The collector has a single count of all tracked objects (`heap_size`).
#define CYCLEWATCH_COLLECTOR_COUNTS_TRACKED (PY_VERSION_HEX >= 0x030E0000)

// The collector clears all weak references to unreachable objects before it clears the objects. A
// dead weak reference therefore does not prove that its referent was freed. Checked at run time,
// because bug-fix releases introduced this behavior.
// https://github.com/python/cpython/issues/91636
#define CYCLEWATCH_COLLECTOR_CLEARS_WEAKREFS \
    ((Py_Version >= 0x030D0D00 && Py_Version < 0x030E0000) || Py_Version >= 0x030E0400)

// Free-threaded build. Tracked objects have no GC header. Instead, the collector finds the objects
// in the heap and sets a bit in each unreachable object. https://peps.python.org/pep-0703/
#ifdef Py_GIL_DISABLED
#define CYCLEWATCH_HAS_NO_GIL 1
#else
#define CYCLEWATCH_HAS_NO_GIL 0
#endif

// Functions and code objects use deferred reference counting: only the collector frees them.
// https://github.com/python/cpython/issues/117376
#define CYCLEWATCH_FUNCTIONS_WAIT_FOR_THE_COLLECTOR CYCLEWATCH_HAS_NO_GIL

// Every collection is a full one, regardless of the generation passed to gc.callbacks.
#define CYCLEWATCH_COLLECTIONS_ARE_FULL CYCLEWATCH_HAS_NO_GIL

// A watch supports builds with a GIL, and free-threaded builds of the versions that were reviewed
// and tested. On other builds, importing the extension fails.
#define CYCLEWATCH_CAN_WATCH (!CYCLEWATCH_HAS_NO_GIL || CYCLEWATCH_LAYOUTS_KNOWN)

// The minor version of CPython at build time. Compare it with `Py_Version >> 16` at run time.
#define CYCLEWATCH_BUILT_FOR_MINOR (PY_VERSION_HEX >> 16)

// The running interpreter's collector has been reviewed and tested. Checked at run time, because
// the first releases of 3.14 have a different collector, which has not been reviewed.
// https://github.com/python/cpython/issues/142516
#define CYCLEWATCH_COLLECTOR_KNOWN                                                   \
    (CYCLEWATCH_LAYOUTS_KNOWN && (Py_Version >> 16) == CYCLEWATCH_BUILT_FOR_MINOR && \
     !(Py_Version >= 0x030E0000 && Py_Version < 0x030E0500))

// The attribute values of a plain instance are in a separate array. Two words before the object
// point to this array and to the dict. https://bugs.python.org/issue45340
#define CYCLEWATCH_HAS_VALUES_AND_DICT_POINTERS (PY_VERSION_HEX < 0x030C0000)

// A single tagged word before the object points to either the values or the dict.
// https://github.com/python/cpython/issues/95245
#define CYCLEWATCH_HAS_TAGGED_DICT_OR_VALUES \
    (PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000)

// The attribute values are stored after the object, and remain there when the object's dict is
// created. Builds of the same release differ in whether the object or the dict owns the references.
// https://github.com/python/cpython/issues/115776, https://github.com/python/cpython/issues/130327
#define CYCLEWATCH_HAS_INLINE_VALUES (PY_VERSION_HEX >= 0x030D0000)

// A frame has `f_executable`, which may be None, and `instr_ptr`. A generator that delegates to
// another object is in the state FRAME_SUSPENDED_YIELD_FROM. Earlier versions have `f_code` and
// `prev_instr`; `prev_instr` points one code unit before `instr_ptr`. In earlier versions,
// delegation must be inferred from the next instruction.
// https://github.com/python/cpython/issues/111354
#define CYCLEWATCH_HAS_DELEGATION_STATE (PY_VERSION_HEX >= 0x030D0000)

// A frame object has a dict for extra locals and a cache for PyEval_GetLocals (PEP 667).
// https://github.com/python/cpython/issues/74929
#define CYCLEWATCH_FRAME_HAS_EXTRA_LOCALS (PY_VERSION_HEX >= 0x030D0000)

// The words of a frame are tagged (_PyStackRef): a word may be an object, null or a small integer.
// On the stack of a suspended generator, a word may be a borrowed reference to the value of a
// variable; tp_traverse visits it anyway. A stack pointer replaces the index of the stack top. The
// structs moved to pycore_interpframe.h. https://github.com/python/cpython/issues/117139
#define CYCLEWATCH_FRAME_WORDS_ARE_TAGGED (PY_VERSION_HEX >= 0x030E0000)

// Like CYCLEWATCH_FRAME_WORDS_ARE_TAGGED, but checked at run time, and therefore also correct for
// interpreters newer than the build.
#define CYCLEWATCH_GENERATORS_MAY_BORROW (Py_Version >= 0x030E0000)

// A frame object has `f_overwritten_fast_locals`, which contains the values replaced through
// f_locals.
#define CYCLEWATCH_FRAME_HAS_OVERWRITTEN_LOCALS (PY_VERSION_HEX >= 0x030E0000)

// A generator has `gi_code`, in addition to its frame's code.
#define CYCLEWATCH_GENERATOR_HAS_CODE (PY_VERSION_HEX < 0x030C0000)

// A frame stores its function in `f_func`; later versions store it in `f_funcobj`.
#define CYCLEWATCH_FRAME_FUNCTION_IS_TYPED (PY_VERSION_HEX < 0x030C0000)

// Opcodes have instrumented variants for sys.monitoring (PEP 669).
// https://github.com/python/cpython/issues/103082
#define CYCLEWATCH_HAS_INSTRUMENTED_OPCODES (PY_VERSION_HEX >= 0x030C0000)

// PyWeakref_IsDead() exists. A later version removes PyWeakref_GET_OBJECT().
// https://github.com/python/cpython/issues/105927
#define CYCLEWATCH_HAS_WEAKREF_IS_DEAD (PY_VERSION_HEX >= 0x030E0000)

// Functions have type parameters (PEP 695). https://github.com/python/cpython/issues/103763
#define CYCLEWATCH_FUNCTION_HAS_TYPE_PARAMS (PY_VERSION_HEX >= 0x030C0000)

// The first fields of _asyncio.Future and Task occupy three fewer words, because flags became bit
// fields.
#define CYCLEWATCH_ASYNCIO_HAS_SHORT_HEAD (PY_VERSION_HEX >= 0x030D0000)

// A future has `fut_awaited_by`, which contains the tasks that wait for the future. Used by asyncio
// to print call graphs. https://github.com/python/cpython/issues/91048
#define CYCLEWATCH_ASYNCIO_HAS_AWAITED_BY (PY_VERSION_HEX >= 0x030E0000)

// queue.SimpleQueue uses a ring buffer instead of a list.
// https://github.com/python/cpython/issues/113884
#define CYCLEWATCH_SIMPLE_QUEUE_IS_RING (PY_VERSION_HEX >= 0x030D0000)

// A threading.local object has one fewer word before the stored constructor arguments.
#define CYCLEWATCH_THREAD_LOCAL_IS_SHORT (PY_VERSION_HEX >= 0x030D0000)

// Integers store their digit count in a tagged field instead of ob_size.
// https://github.com/python/cpython/issues/101291
#define CYCLEWATCH_INT_SIZE_IS_TAGGED (PY_VERSION_HEX >= 0x030C0000)

// The compiler merges two adjacent loads or stores of variables into one instruction. In earlier
// versions, only the specializing interpreter merges them.
#define CYCLEWATCH_COMPILER_PAIRS_VARIABLES (PY_VERSION_HEX >= 0x030D0000)

// tracemalloc's functions are declared in pycore_tracemalloc.h. In earlier versions, Python.h
// declares these functions.
#define CYCLEWATCH_ALLOCATION_TRACES_ARE_INTERNAL (PY_VERSION_HEX >= 0x030D0000)

// The compiler emits LOAD_SMALL_INT, and instructions that push a borrowed reference to the value
// of a variable. https://github.com/python/cpython/issues/130704
#define CYCLEWATCH_COMPILER_BORROWS_VARIABLES (PY_VERSION_HEX >= 0x030E0000)

// The interpreter's state contains the codec registry as a struct. Earlier versions have separate
// fields.
#define CYCLEWATCH_CODECS_ARE_A_STRUCT (PY_VERSION_HEX >= 0x030D0000)

// The functions passed to atexit.register() are in a Python list. Earlier versions use a C array.
#define CYCLEWATCH_ATEXIT_CALLBACKS_ARE_A_LIST (PY_VERSION_HEX >= 0x030E0000)

// LOAD_METHOD exists. Later versions set a flag in the argument of LOAD_ATTR instead.
#define CYCLEWATCH_HAS_LOAD_METHOD (PY_VERSION_HEX < 0x030C0000)

// If a function is called without `self`, the function is below a NULL on the stack. In earlier
// versions, the function is above the NULL.
#define CYCLEWATCH_CALLEE_IS_BELOW_NULL (PY_VERSION_HEX >= 0x030D0000)

// Each direction of a conditional jump has its own opcode, and some jumps keep the tested value on
// the stack. https://github.com/python/cpython/issues/102859
#define CYCLEWATCH_CONDITIONAL_JUMPS_HAVE_DIRECTIONS (PY_VERSION_HEX < 0x030C0000)

// A type's version tag is valid only if a flag of the type is set. In later versions, an invalid
// tag is 0.
#define CYCLEWATCH_TYPE_VERSION_HAS_FLAG (PY_VERSION_HEX < 0x030D0000)

// A thread's innermost frame is in `cframe->current_frame`; in later versions, in `current_frame`.
#define CYCLEWATCH_THREAD_HAS_CFRAME (PY_VERSION_HEX < 0x030D0000)

// The exception being raised is in `curexc_value`; in later versions, in `current_exception`.
#define CYCLEWATCH_THREAD_HAS_EXCEPTION_TRIPLE (PY_VERSION_HEX < 0x030C0000)

// A frame has the flag `is_entry`, which is set if C code called the function. Later versions
// instead insert a frame without a Python function before the frame of the called function.
#define CYCLEWATCH_FRAME_KNOWS_ENTRY (PY_VERSION_HEX < 0x030C0000)
