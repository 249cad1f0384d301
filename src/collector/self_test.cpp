// SPDX-License-Identifier: Apache-2.0
#include "collector/self_test.h"

#include <algorithm>

#include "python/forced_unwind.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::collector {
namespace {

constexpr int kKnownObjects = 64;

// Creates unreachable lists, each of which contains only a reference to itself.
bool make_known_garbage(std::vector<PyObject*>& addresses) {
    for (int i = 0; i < kKnownObjects; ++i) {
        const python::OwnedRef list = python::steal(PyList_New(0));
        if (!list || PyList_Append(list.get(), list.get()) < 0) {
            return false;
        }
        addresses.push_back(list.get());
    }
    return true;
}

// The result of gc.collect(0); -1 on error.
long collect_young() {
    const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
    const auto collect = [&gc] { return PyObject_CallMethod(gc.get(), "collect", "i", 0); };
    const python::OwnedRef count = python::steal(gc ? python::let_others_run(collect) : nullptr);
    return count ? PyLong_AsLong(count.get()) : -1;
}

}  // namespace

void SelfTest::on_unreachable(const UnreachableSet& unreachable) noexcept {
    try {
        seen_.assign(unreachable.objects().begin(), unreachable.objects().end());
    } catch (...) {
        seen_.clear();
    }
}

bool SelfTest::collect_known_garbage() {
    std::vector<PyObject*> known;
    if (collect_young() < 0 || !make_known_garbage(known)) {
        return false;
    }
    if (collect_young() != kKnownObjects || miss_ != Miss::none) {
        return false;
    }
    std::ranges::sort(known);
    std::ranges::sort(seen_);
    return known == seen_;
}

bool SelfTest::run() noexcept {
    const python::ErrorStash stash;
    try {
        return collect_known_garbage();
    } catch (...) {
        return false;
    }
}

}  // namespace cyclewatch::collector
