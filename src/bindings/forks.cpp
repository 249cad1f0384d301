// SPDX-License-Identifier: Apache-2.0
#include "bindings/forks.h"

#include <pthread.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <new>

namespace cyclewatch::bindings {
namespace {

template <typename Lock>
void make_anew(Lock& lock) {
    new (&lock) Lock;
}

// With a GIL there are no such locks.
template <typename Internals>
void free_locks(Internals& internals) {
    if constexpr (requires { internals.instance_shards; }) {
        make_anew(internals.mutex);
        make_anew(internals.exception_translator_mutex);
        for (std::size_t i = 0; i <= internals.instance_shards_mask; ++i) {
            make_anew(internals.instance_shards[i].mutex);
        }
    }
}

pybind11::detail::internals* the_internals = nullptr;

}  // namespace

void free_locks_in_children() {
    the_internals = &pybind11::detail::get_internals();
    pthread_atfork(nullptr, nullptr, [] { free_locks(*the_internals); });
}

}  // namespace cyclewatch::bindings
