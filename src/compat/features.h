// SPDX-License-Identifier: Apache-2.0
// What this interpreter's internals look like, as flags named by meaning. This room is the only
// one where PY_VERSION_HEX may appear. Usable from C and C++; include Python.h first.
#pragma once

// The object, dict and frame layouts below were read from the headers of these versions and are
// proved by the tests on each of them. On any other version the functions of object_layout.h and
// frame_access.h answer "nothing known" (README.md: a new CPython came out).
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x03100000 && !defined(Py_GIL_DISABLED)
#define CYCLEWATCH_LAYOUTS_KNOWN 1
#elif PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
#define CYCLEWATCH_LAYOUTS_KNOWN 1 /* free-threaded */
#else
#define CYCLEWATCH_LAYOUTS_KNOWN 0
#endif

// The collector counts the objects it tracks, all generations together.
#define CYCLEWATCH_COLLECTOR_COUNTS_TRACKED (PY_VERSION_HEX >= 0x030E0000)

// The collector clears all weak references to what it gives up, before it clears that: a dead one
// does not prove that the object went. Asked at run time: it came with bug fix releases.
// https://github.com/python/cpython/issues/91636
#define CYCLEWATCH_COLLECTOR_CLEARS_WEAKREFS \
    ((Py_Version >= 0x030D0D00 && Py_Version < 0x030E0000) || Py_Version >= 0x030E0400)

// Threads run at the same time, without a GIL. Tracked objects have no header in front of them: the
// collector finds them in the heap, and what it found unreachable has a bit set.
// https://peps.python.org/pep-0703/
#ifdef Py_GIL_DISABLED
#define CYCLEWATCH_HAS_NO_GIL 1
#else
#define CYCLEWATCH_HAS_NO_GIL 0
#endif

// Functions and code are not let go of with their last reference, but by the collector.
// https://github.com/python/cpython/issues/117376
#define CYCLEWATCH_FUNCTIONS_WAIT_FOR_THE_COLLECTOR CYCLEWATCH_HAS_NO_GIL

// Every collection looks at all objects, whichever generation it says that it collects.
#define CYCLEWATCH_COLLECTIONS_ARE_FULL CYCLEWATCH_HAS_NO_GIL

// The watch is right here: threads take turns, or the collector that does without was read and
// measured too. Otherwise the extension refuses to be imported.
#define CYCLEWATCH_CAN_WATCH (!CYCLEWATCH_HAS_NO_GIL || CYCLEWATCH_LAYOUTS_KNOWN)

// The minor version this was compiled for, to be compared with `Py_Version >> 16` at run time.
#define CYCLEWATCH_BUILT_FOR_MINOR (PY_VERSION_HEX >> 16)

// The collector of the running interpreter was read and measured. Asked at run time: the first
// releases of 3.14 collected in another way, and were never looked at.
// https://github.com/python/cpython/issues/142516
#define CYCLEWATCH_COLLECTOR_KNOWN                                                   \
    (CYCLEWATCH_LAYOUTS_KNOWN && (Py_Version >> 16) == CYCLEWATCH_BUILT_FOR_MINOR && \
     !(Py_Version >= 0x030E0000 && Py_Version < 0x030E0500))

// Attribute values of a plain instance stand in an array of their own; the pointer to it and the
// pointer to the dict are two words in front of the object. https://bugs.python.org/issue45340
#define CYCLEWATCH_HAS_VALUES_AND_DICT_POINTERS (PY_VERSION_HEX < 0x030C0000)

// One tagged word in front of the object is either of the two.
// https://github.com/python/cpython/issues/95245
#define CYCLEWATCH_HAS_TAGGED_DICT_OR_VALUES \
    (PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000)

// The values follow the object itself, and a materialised dict may go on using them. Which of the
// two holds the references is not the same in all builds of one release.
// https://github.com/python/cpython/issues/115776, https://github.com/python/cpython/issues/130327
#define CYCLEWATCH_HAS_INLINE_VALUES (PY_VERSION_HEX >= 0x030D0000)

// A frame's code is `f_executable` (may be None), its position `instr_ptr`, and a generator that
// delegates has a state of its own, FRAME_SUSPENDED_YIELD_FROM. Before, the code is `f_code`,
// the position `prev_instr` (one unit behind), and delegation shows in the next instruction.
// https://github.com/python/cpython/issues/111354
#define CYCLEWATCH_FRAME_KNOWS_DELEGATION (PY_VERSION_HEX >= 0x030D0000)

// A frame object has a dict for extra locals and a cache for PyEval_GetLocals (PEP 667).
// https://github.com/python/cpython/issues/74929
#define CYCLEWATCH_FRAME_HAS_EXTRA_LOCALS (PY_VERSION_HEX >= 0x030D0000)

// A word of a frame is tagged: besides an object it may be nothing or a small integer, and a word
// on the stack of a suspended generator may refer to what a variable below it holds without having
// counted that. tp_traverse shows such words all the same. The stack ends where a pointer says.
// The structs moved to pycore_interpframe.h. https://github.com/python/cpython/issues/117139
#define CYCLEWATCH_FRAME_WORDS_ARE_TAGGED (PY_VERSION_HEX >= 0x030E0000)

// The same at run time, for interpreters that came out after the build as well.
#define CYCLEWATCH_GENERATORS_MAY_BORROW (Py_Version >= 0x030E0000)

// A frame object keeps what assignments through its f_locals replaced.
#define CYCLEWATCH_FRAME_KEEPS_OVERWRITTEN (PY_VERSION_HEX >= 0x030E0000)

// A generator points at its code itself, besides its frame doing so.
#define CYCLEWATCH_GENERATOR_HAS_CODE (PY_VERSION_HEX < 0x030C0000)

// A frame holds its function as `f_func`; later as `f_funcobj`.
#define CYCLEWATCH_FRAME_FUNCTION_IS_TYPED (PY_VERSION_HEX < 0x030C0000)

// Opcodes carry an instrumented variant for sys.monitoring (PEP 669).
// https://github.com/python/cpython/issues/103082
#define CYCLEWATCH_HAS_INSTRUMENTED_OPCODES (PY_VERSION_HEX >= 0x030C0000)

// The table of what line events replaced begins with a byte that says how many bytes there are for
// each instruction, the first of which is the instruction; before, there are two for each. Asked at
// run time: it changed in 3.13.3. https://github.com/python/cpython/issues/127953
#define CYCLEWATCH_LINE_TABLE_IS_PACKED (Py_Version >= 0x030D0300)

// PyWeakref_IsDead() is there; PyWeakref_GET_OBJECT() went soon after.
// https://github.com/python/cpython/issues/105927
#define CYCLEWATCH_WEAKREFS_SAY_THAT_THEY_DIED (PY_VERSION_HEX >= 0x030E0000)

// Functions have type parameters (PEP 695). https://github.com/python/cpython/issues/103763
#define CYCLEWATCH_FUNCTION_HAS_TYPE_PARAMS (PY_VERSION_HEX >= 0x030C0000)

// The heads of _asyncio.Future and Task are three words shorter: flags became bit fields.
#define CYCLEWATCH_ASYNCIO_HAS_SHORT_HEAD (PY_VERSION_HEX >= 0x030D0000)

// A future knows the tasks that wait for it, for pictures of their stacks.
// https://github.com/python/cpython/issues/91048
#define CYCLEWATCH_ASYNCIO_KNOWS_AWAITERS (PY_VERSION_HEX >= 0x030E0000)

// queue.SimpleQueue is a ring buffer of its own instead of a list.
// https://github.com/python/cpython/issues/113884
#define CYCLEWATCH_SIMPLE_QUEUE_IS_RING (PY_VERSION_HEX >= 0x030D0000)

// threading.local lost a word in front of its arguments.
#define CYCLEWATCH_THREAD_LOCAL_IS_SHORT (PY_VERSION_HEX >= 0x030D0000)

// Integers keep their digit count in a tag instead of ob_size.
// https://github.com/python/cpython/issues/101291
#define CYCLEWATCH_INT_SIZE_IS_TAGGED (PY_VERSION_HEX >= 0x030C0000)

// The tables of instructions stand in pycore_opcode_metadata.h, before in pycore_opcode.h.
#define CYCLEWATCH_HAS_OPCODE_METADATA_HEADER (PY_VERSION_HEX >= 0x030D0000)

// The compiler itself puts two neighbouring loads and stores of variables into one instruction.
// Before, only the specialising interpreter does, which a look at what was specialised undoes.
#define CYCLEWATCH_COMPILER_PAIRS_VARIABLES (PY_VERSION_HEX >= 0x030D0000)

// tracemalloc's functions are declared in pycore_tracemalloc.h; before, in a header that Python.h
// includes.
#define CYCLEWATCH_ALLOCATION_TRACES_ARE_INTERNAL (PY_VERSION_HEX >= 0x030D0000)

// The compiler has instructions that push a variable without counting it, and small integers of
// their own. https://github.com/python/cpython/issues/130704
#define CYCLEWATCH_COMPILER_BORROWS_VARIABLES (PY_VERSION_HEX >= 0x030E0000)

// The tables of sys.monitoring are declared in pycore_instruments.h; before, in a header that
// Python.h includes.
#define CYCLEWATCH_MONITORING_IS_INTERNAL (PY_VERSION_HEX >= 0x030E0000)

// A method and a plain attribute are loaded by instructions of their own.
#define CYCLEWATCH_METHODS_ARE_LOADED_APART (PY_VERSION_HEX < 0x030C0000)

// What is called lies below the word that may be its object, not the other way round.
#define CYCLEWATCH_CALLEE_IS_BELOW_NULL (PY_VERSION_HEX >= 0x030D0000)

// Conditional jumps say their direction in their names, and some keep the value.
// https://github.com/python/cpython/issues/102859
#define CYCLEWATCH_CONDITIONAL_JUMPS_HAVE_DIRECTIONS (PY_VERSION_HEX < 0x030C0000)

// The version of a type counts only while a flag says so; later 0 means that there is none.
#define CYCLEWATCH_TYPE_VERSION_HAS_FLAG (PY_VERSION_HEX < 0x030D0000)
