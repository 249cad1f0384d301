// SPDX-License-Identifier: Apache-2.0
#include "compat/native_members.h"

#include "compat/features.h"

#include <string.h>

// In the Task struct, the index of the first word after the fields that Future also has.
#if CYCLEWATCH_ASYNCIO_HAS_AWAITED_BY
#define CYCLEWATCH_TASK_WORD 15
#elif CYCLEWATCH_ASYNCIO_HAS_SHORT_HEAD
#define CYCLEWATCH_TASK_WORD 14
#else
#define CYCLEWATCH_TASK_WORD 16
#endif

#if CYCLEWATCH_THREAD_LOCAL_IS_SHORT
#define CYCLEWATCH_LOCAL_WORD 2
#else
#define CYCLEWATCH_LOCAL_WORD 3
#endif

// Sorted by type name (byte order), then by word, for binary search.
static const struct cyclewatch_native_member kMembers[] = {
    {"TaskStepMethWrapper", 2, "task"},
    {"TaskStepMethWrapper", 3, "exception"},
    {"_asyncio.Future", 2, "_loop"},
    {"_asyncio.Future", 3, "_callbacks"},
    {"_asyncio.Future", 4, "_context"},
    {"_asyncio.Future", 5, "_callbacks"},
    {"_asyncio.Future", 6, "_exception"},
    {"_asyncio.Future", 7, "_exception_tb"},
    {"_asyncio.Future", 8, "_result"},
    {"_asyncio.Future", 9, "_source_traceback"},
    {"_asyncio.Future", 10, "_cancel_message"},
#if CYCLEWATCH_ASYNCIO_HAS_AWAITED_BY
    {"_asyncio.Future", 12, "awaited_by"},
#endif
    {"_asyncio.FutureIter", 2, "future"},
    {"_asyncio.Task", 2, "_loop"},
    {"_asyncio.Task", 3, "_callbacks"},
    {"_asyncio.Task", 4, "_context"},
    {"_asyncio.Task", 5, "_callbacks"},
    {"_asyncio.Task", 6, "_exception"},
    {"_asyncio.Task", 7, "_exception_tb"},
    {"_asyncio.Task", 8, "_result"},
    {"_asyncio.Task", 9, "_source_traceback"},
    {"_asyncio.Task", 10, "_cancel_message"},
#if CYCLEWATCH_ASYNCIO_HAS_AWAITED_BY
    {"_asyncio.Task", 12, "awaited_by"},
#endif
    {"_asyncio.Task", CYCLEWATCH_TASK_WORD + 0, "_fut_waiter"},
    {"_asyncio.Task", CYCLEWATCH_TASK_WORD + 1, "_coro"},
    {"_asyncio.Task", CYCLEWATCH_TASK_WORD + 3, "_context"},
    {"_asyncio.TaskStepMethWrapper", 2, "task"},
    {"_asyncio.TaskStepMethWrapper", 3, "exception"},
    {"_contextvars.Context", 2, "previous"},
    {"_contextvars.Context", 3, "variables"},
    {"_contextvars.ContextVar", 3, "default"},
    {"_contextvars.Token", 2, "context"},
    {"_contextvars.Token", 3, "var"},
    {"_contextvars.Token", 4, "old_value"},
    {"_ctypes.CFuncPtr", 12, "thunk"},
    {"_ctypes.CFuncPtr", 13, "callable"},
    {"_ctypes.CFuncPtr", 14, "converters"},
    {"_ctypes.CFuncPtr", 15, "argtypes"},
    {"_ctypes.CFuncPtr", 16, "restype"},
    {"_ctypes.CFuncPtr", 17, "checker"},
    {"_ctypes.CFuncPtr", 18, "errcheck"},
    {"_ctypes.CFuncPtr", 19, "paramflags"},
    {"_ctypes.CThunkObject", 10, "converters"},
    {"_ctypes.CThunkObject", 11, "callable"},
    {"_ctypes.CThunkObject", 12, "restype"},
    {"_ctypes.PyCFuncPtr", 12, "thunk"},
    {"_ctypes.PyCFuncPtr", 13, "callable"},
    {"_ctypes.PyCFuncPtr", 14, "converters"},
    {"_ctypes.PyCFuncPtr", 15, "argtypes"},
    {"_ctypes.PyCFuncPtr", 16, "restype"},
    {"_ctypes.PyCFuncPtr", 17, "checker"},
    {"_ctypes.PyCFuncPtr", 18, "errcheck"},
    {"_ctypes.PyCFuncPtr", 19, "paramflags"},
    {"_io.BufferedRandom", 2, "raw"},
    {"_io.BufferedReader", 2, "raw"},
    {"_io.BufferedWriter", 2, "raw"},
    {"_io.TextIOWrapper", 4, "buffer"},
    {"_io.TextIOWrapper", 6, "encoder"},
    {"_io.TextIOWrapper", 7, "decoder"},
    {"_queue.SimpleQueue", 4, "items"},
    {"_thread._local", CYCLEWATCH_LOCAL_WORD + 0, "args"},
    {"_thread._local", CYCLEWATCH_LOCAL_WORD + 1, "keywords"},
    {"_thread._local", CYCLEWATCH_LOCAL_WORD + 3, "dummies"},
    {"_thread._local", CYCLEWATCH_LOCAL_WORD + 4, "watchdogs"},
    {"anext_awaitable", 2, "awaitable"},
    {"anext_awaitable", 3, "default"},
    {"async_generator_asend", 2, "generator"},
    {"async_generator_asend", 3, "value"},
    {"async_generator_athrow", 2, "generator"},
    {"async_generator_athrow", 3, "args"},
    {"async_generator_wrapped_value", 2, "value"},
    {"callable_iterator", 2, "callable"},
    {"callable_iterator", 3, "sentinel"},
    {"dict_itemiterator", 2, "iterable"},
    {"dict_itemiterator", 5, "result"},
    {"dict_items", 2, "mapping"},
    {"dict_keyiterator", 2, "iterable"},
    {"dict_keyiterator", 5, "result"},
    {"dict_keys", 2, "mapping"},
    {"dict_valueiterator", 2, "iterable"},
    {"dict_valueiterator", 5, "result"},
    {"dict_values", 2, "mapping"},
    {"enumerate", 3, "iterator"},
    {"enumerate", 4, "result"},
    {"filter", 2, "function"},
    {"filter", 3, "iterator"},
    {"functools._lru_cache_wrapper", 9, "cache"},
    {"functools._lru_cache_wrapper", 11, "__wrapped__"},
    {"functools._lru_cache_wrapper", 14, "keyword_mark"},
    {"functools._lru_cache_wrapper", 15, "link_type"},
    {"functools._lru_cache_wrapper", 16, "cache_info_type"},
    {"hamt", 2, "root"},
    {"iterator", 3, "iterable"},
    {"itertools._grouper", 2, "parent"},
    {"itertools._grouper", 3, "target_key"},
    {"itertools._tee", 2, "data"},
    {"itertools._tee_dataobject", 2, "iterator"},
    {"itertools.batched", 2, "iterator"},
    {"itertools.chain", 2, "iterables"},
    {"itertools.chain", 3, "active"},
    {"itertools.cycle", 2, "iterator"},
    {"itertools.cycle", 3, "saved"},
    {"itertools.groupby", 2, "iterator"},
    {"itertools.groupby", 3, "keyfunc"},
    {"itertools.groupby", 4, "target_key"},
    {"itertools.groupby", 5, "current_key"},
    {"itertools.groupby", 6, "current_value"},
    {"itertools.islice", 2, "iterator"},
    {"itertools.repeat", 2, "element"},
    {"itertools.starmap", 2, "function"},
    {"itertools.starmap", 3, "iterator"},
    {"list_iterator", 3, "iterable"},
    {"list_reverseiterator", 3, "iterable"},
    {"managedbuffer", 5, "obj"},
    {"map", 2, "iterators"},
    {"map", 3, "function"},
    {"mappingproxy", 2, "mapping"},
    {"memoryview", 3, "managed_buffer"},
    {"method-wrapper", 2, "descriptor"},
    {"method-wrapper", 3, "__self__"},
    {"reversed", 3, "iterable"},
    {"set_iterator", 2, "iterable"},
    {"torch._C.TensorBase", 3, "_backward_hooks"},
    {"torch._C.TensorBase", 4, "_post_accumulate_grad_hooks"},
    {"torch._C._FunctionBase", 2, "needs_input_grad"},
    {"torch._C._FunctionBase", 3, "to_save"},
    {"torch._C._FunctionBase", 4, "non_differentiable"},
    {"torch._C._FunctionBase", 5, "dirty_tensors"},
    {"torch._C._TensorBase", 3, "_backward_hooks"},
    {"torch._C._TensorBase", 4, "_post_accumulate_grad_hooks"},
    {"tuple_iterator", 3, "iterable"},
    {"zip", 3, "iterators"},
    {"zip", 4, "result"},
};

static const size_t kMemberCount = sizeof(kMembers) / sizeof(kMembers[0]);

static const char* const kOrderedContainers[] = {
    "collections.deque",
    "hamt_array_node",
    "hamt_bitmap_node",
    "hamt_collision_node",
#if CYCLEWATCH_SIMPLE_QUEUE_IS_RING
    "_queue.SimpleQueue",
#endif
};

const struct cyclewatch_native_member* cyclewatch_native_members_of(const char* type_name,
                                                                    size_t* count) {
    size_t low = 0;
    size_t high = kMemberCount;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(kMembers[middle].type, type_name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t end = low;
    while (end < kMemberCount && strcmp(kMembers[end].type, type_name) == 0) {
        ++end;
    }
    *count = end - low;
    return end == low ? NULL : &kMembers[low];
}

const struct cyclewatch_native_member* cyclewatch_all_native_members(size_t* count) {
    *count = kMemberCount;
    return kMembers;
}

int cyclewatch_is_ordered_container(const char* type_name) {
    for (size_t i = 0; i < sizeof(kOrderedContainers) / sizeof(kOrderedContainers[0]); ++i) {
        if (strcmp(kOrderedContainers[i], type_name) == 0) {
            return 1;
        }
    }
    return 0;
}

PyObject* cyclewatch_function_type_params(PyObject* function) {
#if CYCLEWATCH_FUNCTION_HAS_TYPE_PARAMS
    return ((PyFunctionObject*)function)->func_typeparams;
#else
    (void)function;
    return NULL;
#endif
}
