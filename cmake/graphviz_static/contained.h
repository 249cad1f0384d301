// SPDX-License-Identifier: Apache-2.0
// Included before every C source of the static Graphviz. Graphviz dereferences null pointers or
// ends the process if memory runs out or an invariant fails. Here, such calls throw a C++ exception
// through its C frames (-fexceptions) to our code (contained.cpp).
#pragma once

#include <locale.h>
#include <stdlib.h>
#include <string.h>

// Throw std::bad_alloc instead of returning NULL.
void* contained_malloc(size_t size);
void* contained_calloc(size_t count, size_t size);
void* contained_realloc(void* memory, size_t size);
char* contained_strdup(const char* text);
// Throws std::runtime_error.
__attribute__((noreturn)) void contained_abort(void);

#undef strdup
#define malloc contained_malloc
#define calloc contained_calloc
#define realloc contained_realloc
#define strdup contained_strdup
#define abort contained_abort
#define exit(status) contained_abort()
// The locale and the environment of the process must not change. Our code sets the locale of the
// calling thread.
#define setlocale(category, name) ((char*)"C")
#define setenv(name, value, replace) 0
