// SPDX-License-Identifier: Apache-2.0
#include "collector/never_freed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "collector/tracked_objects.h"

namespace cyclewatch::collector {
namespace {

// All references to the unreachable objects come from unreachable objects, so this class can
// predict what collections and reference counting would free. What one collection frees may let the
// next collection see more references.
class CollectionForecast {
  public:
    CollectionForecast(std::span<PyObject* const> objects, const HiddenReferences& hidden)
        : walk_(objects), counts_(objects.size()) {
        for (std::uint32_t i = 0; i < objects.size(); ++i) {
            first_.push_back(references_.size());
            walk_.traverse<add_visited>(i, this);
            for (const HiddenReference& reference : hidden.of(objects[i])) {
                add(reference);
            }
        }
        first_.push_back(references_.size());
        if (out_of_memory_) {
            throw std::bad_alloc();
        }
        for (const Reference& reference : references_) {
            add_count(reference, 1);
        }
    }

    // Returns the objects that remain.
    std::vector<PyObject*> run() {
        for (std::uint32_t i = 0; i < counts_.size(); ++i) {
            if (counts_[i].exists && counts_[i].references == 0) {
                free_all({i});
            }
        }
        candidates_.resize(counts_.size());
        std::iota(candidates_.begin(), candidates_.end(), 0);
        while (!candidates_.empty()) {
            collect();
        }
        std::vector<PyObject*> remaining;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            if (counts_[i].exists) {
                remaining.push_back(walk_.objects()[i]);
            }
        }
        return remaining;
    }

  private:
    enum class Visit : std::uint8_t {
        always,
        never,
        unless_shared,
        is_listed,  // another element of `references_` is the same reference
    };
    struct Reference {
        std::uint32_t target;
        Visit visit;
        bool is_to_cpp_object;
    };
    struct Counts {
        std::uint32_t references = 0;      // to the object
        std::uint32_t cpp_references = 0;  // those among them that refer to its C++ object
        std::uint32_t from_members = 0;    // visible references, during collect()
        bool exists = true;
        bool is_member = false;
        bool is_reached = false;
    };

    // Called by tp_traverse, through which exceptions must not propagate.
    static int add_visited(PyObject* target, void* context) noexcept {
        auto& self = *static_cast<CollectionForecast*>(context);
        try {
            self.add(target, Visit::always, false);
        } catch (const std::bad_alloc&) {
            self.out_of_memory_ = true;
        }
        return 0;
    }

    void add(const HiddenReference& reference) {
        const Visit hidden =
            reference.is_visited_unless_shared ? Visit::unless_shared : Visit::never;
        add(reference.target,
            reference.is_visited ? Visit::is_listed : hidden,
            reference.is_to_cpp_object);
    }

    void add(PyObject* target, Visit visit, bool is_to_cpp_object) {
        if (const std::uint32_t at = walk_.find(target); at != ReferenceWalk::kAbsent) {
            references_.push_back({at, visit, is_to_cpp_object});
        }
    }

    [[nodiscard]] std::span<const Reference> references_of(std::uint32_t i) const {
        return std::span(references_).subspan(first_[i], first_[i + 1] - first_[i]);
    }

    void add_count(const Reference& reference, std::uint32_t by) {
        Counts& target = counts_[reference.target];
        target.references += reference.visit == Visit::is_listed ? 0 : by;
        target.cpp_references += reference.is_to_cpp_object ? by : 0;
    }

    // Frees the objects, and the objects to which no references remain.
    void free_all(std::vector<std::uint32_t> pending) {
        for (const std::uint32_t i : pending) {
            counts_[i].exists = false;
        }
        while (!pending.empty()) {
            const std::uint32_t i = pending.back();
            pending.pop_back();
            for (const Reference& reference : references_of(i)) {
                add_count(reference, -std::uint32_t{1});
                Counts& target = counts_[reference.target];
                if (target.exists && target.references == 0) {
                    target.exists = false;
                    pending.push_back(reference.target);
                } else if (target.exists) {
                    candidates_.push_back(reference.target);
                }
            }
        }
    }

    [[nodiscard]] bool is_visible(std::uint32_t holder, const Reference& reference) const {
        return reference.visit == Visit::always ||
               (reference.visit == Visit::unless_shared && counts_[holder].cpp_references == 0 &&
                counts_[reference.target].cpp_references == 1);
    }

    template <typename Function>
    void for_each_visible_target(std::uint32_t holder, const Function& call) {
        for (const Reference& reference : references_of(holder)) {
            if (is_visible(holder, reference)) {
                call(reference.target);
            }
        }
    }

    // Frees what a collection would free. Objects that it would not have freed earlier can be
    // reached from `candidates_`: objects to which the number of references has changed.
    void collect() {
        const std::vector<std::uint32_t> members = reached_from_candidates();
        for (const std::uint32_t i : members) {
            for_each_visible_target(
                i, [this](std::uint32_t target) { ++counts_[target].from_members; });
        }
        for (const std::uint32_t i : members) {
            if (counts_[i].references > counts_[i].from_members) {
                reach(i);
            }
        }
        std::vector<std::uint32_t> garbage;
        for (const std::uint32_t i : members) {
            Counts& member = counts_[i];
            if (!member.is_reached) {
                garbage.push_back(i);
            }
            member.from_members = 0;
            member.is_member = member.is_reached = false;
        }
        free_all(std::move(garbage));
    }

    // Through visible references. Empties `candidates_`.
    std::vector<std::uint32_t> reached_from_candidates() {
        std::vector<std::uint32_t> members;
        const auto add_member = [&](std::uint32_t i) {
            if (counts_[i].exists && !std::exchange(counts_[i].is_member, true)) {
                members.push_back(i);
            }
        };
        std::ranges::for_each(std::exchange(candidates_, {}), add_member);
        for (std::size_t at = 0; at < members.size(); ++at) {
            for_each_visible_target(members[at], add_member);
        }
        return members;
    }

    // Sets `is_reached` of `from`, and of what it keeps alive through visible references.
    void reach(std::uint32_t from) {
        std::vector<std::uint32_t> pending;
        const auto add_reached = [&](std::uint32_t i) {
            if (!std::exchange(counts_[i].is_reached, true)) {
                pending.push_back(i);
            }
        };
        add_reached(from);
        while (!pending.empty()) {
            const std::uint32_t i = pending.back();
            pending.pop_back();
            for_each_visible_target(i, add_reached);
        }
    }

    ReferenceWalk walk_;
    std::vector<Reference> references_;
    std::vector<std::size_t> first_;  // of each object
    std::vector<Counts> counts_;      // of each object
    std::vector<std::uint32_t> candidates_;
    bool out_of_memory_ = false;
};

}  // namespace

std::vector<PyObject*> never_freed_among(std::span<PyObject* const> objects,
                                         const HiddenReferences& hidden) {
    return CollectionForecast(objects, hidden).run();
}

bool find_never_freed(HiddenReferences& hidden,
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
