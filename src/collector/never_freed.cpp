// SPDX-License-Identifier: Apache-2.0
#include "collector/never_freed.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "collector/tracked_objects.h"

namespace cyclewatch::collector {
namespace {

// All references to the unreachable objects come from unreachable objects, so this class can
// predict what collections and reference counting would free.
class CollectionForecast {
  public:
    CollectionForecast(std::span<PyObject* const> objects, const HiddenReferences& hidden)
        : walk_(objects), references_(objects.size(), 0), exists_(objects.size(), true) {
        for (std::uint32_t i = 0; i < objects.size(); ++i) {
            first_.push_back(targets_.size());
            walk_.traverse<add>(i, this);
            first_hidden_.push_back(targets_.size());
            for (const HiddenReference& reference : hidden.of(objects[i])) {
                if (!reference.is_visited) {
                    add(reference.target, this);
                }
            }
        }
        first_.push_back(targets_.size());
        if (out_of_memory_) {
            throw std::bad_alloc();
        }
        for (const std::uint32_t target : targets_) {
            ++references_[target];
        }
    }

    // Returns the objects that remain.
    std::vector<PyObject*> run() {
        for (std::uint32_t i = 0; i < exists_.size(); ++i) {
            free_if_unreferenced(i);
        }
        while (collect()) {
        }
        std::vector<PyObject*> remaining;
        for (std::size_t i = 0; i < exists_.size(); ++i) {
            if (exists_[i]) {
                remaining.push_back(walk_.objects()[i]);
            }
        }
        return remaining;
    }

  private:
    // Called by tp_traverse, through which exceptions must not propagate.
    static int add(PyObject* target, void* context) noexcept {
        auto& self = *static_cast<CollectionForecast*>(context);
        const std::uint32_t at = self.walk_.find(target);
        try {
            if (at != ReferenceWalk::kAbsent) {
                self.targets_.push_back(at);
            }
        } catch (const std::bad_alloc&) {
            self.out_of_memory_ = true;
        }
        return 0;
    }

    [[nodiscard]] std::span<const std::uint32_t> visible(std::uint32_t i) const {
        return std::span(targets_).subspan(first_[i], first_hidden_[i] - first_[i]);
    }
    [[nodiscard]] std::span<const std::uint32_t> hidden(std::uint32_t i) const {
        return std::span(targets_).subspan(first_hidden_[i], first_[i + 1] - first_hidden_[i]);
    }

    void free_if_unreferenced(std::uint32_t i) {
        if (exists_[i] && references_[i] == 0) {
            free_all({i});
        }
    }

    // Frees the objects, and the objects to which no references remain.
    void free_all(std::vector<std::uint32_t> pending) {
        for (const std::uint32_t i : pending) {
            exists_[i] = false;
        }
        while (!pending.empty()) {
            const std::uint32_t i = pending.back();
            pending.pop_back();
            for (std::size_t at = first_[i]; at < first_[i + 1]; ++at) {
                const std::uint32_t target = targets_[at];
                if (--references_[target] == 0 && exists_[target]) {
                    exists_[target] = false;
                    pending.push_back(target);
                }
            }
        }
    }

    // A collection sees only the visible references. Returns false if it frees nothing.
    bool collect() {
        std::vector<bool> reached(exists_.size(), false);
        std::vector<std::uint32_t> pending;
        const auto reach = [&](std::span<const std::uint32_t> targets) {
            for (const std::uint32_t target : targets) {
                if (!reached[target]) {
                    reached[target] = true;
                    pending.push_back(target);
                }
            }
        };
        for (std::uint32_t i = 0; i < exists_.size(); ++i) {
            if (exists_[i]) {
                reach(hidden(i));
            }
        }
        while (!pending.empty()) {
            const std::uint32_t i = pending.back();
            pending.pop_back();
            reach(visible(i));
        }
        std::vector<std::uint32_t> garbage;
        for (std::uint32_t i = 0; i < exists_.size(); ++i) {
            if (exists_[i] && !reached[i]) {
                garbage.push_back(i);
            }
        }
        const bool frees = !garbage.empty();
        free_all(std::move(garbage));
        return frees;
    }

    ReferenceWalk walk_;
    std::vector<std::uint32_t> targets_;     // first the visible references of each object
    std::vector<std::size_t> first_;         // of each object
    std::vector<std::size_t> first_hidden_;  // of each object
    std::vector<std::uint32_t> references_;  // to each object
    std::vector<bool> exists_;
    bool out_of_memory_ = false;
};

}  // namespace

std::vector<PyObject*> never_freed_among(std::span<PyObject* const> objects,
                                         const HiddenReferences& hidden) {
    return CollectionForecast(objects, hidden).run();
}

bool find_never_freed(const HiddenReferences& hidden,
                      HeapScan& unreachable,
                      UnreachableSet& found) noexcept {
    found.clear();
    if (!scan_heap({.generation = 2, .frozen = true}, unreachable, &hidden)) {
        return false;
    }
    try {
        found.assign(never_freed_among(unreachable.collectable.objects(), hidden));
        found.set_hidden(&hidden);
        return true;
    } catch (...) {
        found.clear();
        return false;  // out of memory
    }
}

}  // namespace cyclewatch::collector
