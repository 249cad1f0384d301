// SPDX-License-Identifier: Apache-2.0
#include "report/merge.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "model/mistake.h"

namespace cyclewatch::report {
namespace {

using model::OwnerSummary;
using Owners = std::vector<OwnerSummary>;

auto identity(const OwnerSummary& owner) {
    return std::tie(owner.type, owner.device, owner.bytes, owner.shape, owner.dtype, owner.path);
}

Owners::iterator find_at(Owners& owners, const OwnerSummary& owner, const std::string& site) {
    return std::find_if(owners.begin(), owners.end(), [&](const OwnerSummary& known) {
        return known.allocated_at == site && identity(known) == identity(owner);
    });
}

// An unknown allocation site matches any site.
Owners::iterator find_equal(Owners& owners, const OwnerSummary& owner) {
    if (const auto same = find_at(owners, owner, owner.allocated_at); same != owners.end()) {
        return same;
    }
    if (!owner.allocated_at.empty()) {
        return find_at(owners, owner, "");
    }
    return std::find_if(owners.begin(), owners.end(), [&owner](const OwnerSummary& known) {
        return identity(known) == identity(owner);
    });
}

void sort_and_bound_owners(model::Finding& stored) {
    std::stable_sort(stored.owners.begin(), stored.owners.end(), [](const auto& a, const auto& b) {
        return a.bytes * a.count > b.bytes * b.count;
    });
    if (stored.owners.size() > model::kMaxOwnersPerFinding) {
        // The same owners may be omitted in several collections, so the counts are not added up.
        // The result is a lower bound.
        const std::uint64_t over = stored.owners.size() - model::kMaxOwnersPerFinding;
        stored.omitted_owners = std::max(stored.omitted_owners, over);
        stored.owners.resize(model::kMaxOwnersPerFinding);
    }
}

void merge_owners(model::Finding& stored, Owners owners) {
    for (OwnerSummary& owner : owners) {
        const auto equal = find_equal(stored.owners, owner);
        if (equal == stored.owners.end()) {
            stored.owners.push_back(std::move(owner));
            continue;
        }
        equal->count += owner.count;
        if (equal->allocated_at.empty()) {
            equal->allocated_at = std::move(owner.allocated_at);
            equal->allocation_stack = std::move(owner.allocation_stack);
        }
    }
    sort_and_bound_owners(stored);
}

// Moves all fields that describe one particular occurrence.
void move_description(model::Finding& to, model::Finding& from) {
    to.pattern = std::move(from.pattern);
    to.title = std::move(from.title);
    to.remedy = std::move(from.remedy);
    to.advice = std::move(from.advice);
    to.cost = std::move(from.cost);
    to.cycle = std::move(from.cycle);
    to.cut = std::move(from.cut);
    to.omitted_cuts = from.omitted_cuts;
    to.tie = from.tie;
    to.freed_share = from.freed_share;
    to.alternatives = std::move(from.alternatives);
    to.picture = std::move(from.picture);
}

void merge_occurrences(model::Finding& stored,
                       const std::vector<model::ProcessOccurrences>& by_process) {
    for (const model::ProcessOccurrences& occurrences : by_process) {
        const auto position =
            std::lower_bound(stored.by_process.begin(),
                             stored.by_process.end(),
                             occurrences,
                             [](const auto& a, const auto& b) { return a.process < b.process; });
        if (position == stored.by_process.end() || position->process != occurrences.process) {
            stored.by_process.insert(position, occurrences);
            continue;
        }
        position->occurrences += occurrences.occurrences;
        position->retained_bytes += occurrences.retained_bytes;
        if (occurrences.first_seen < position->first_seen) {
            position->first_seen = occurrences.first_seen;
            position->first_step = occurrences.first_step;
        }
    }
}

void merge_status_and_verdict(model::Finding& stored, model::Finding& later) {
    if (later.status < stored.status) {
        stored.status = later.status;
        stored.status_reason = std::move(later.status_reason);
    }
    if (stored.verdict == model::Verdict::none) {
        stored.verdict = later.verdict;
    } else if (later.verdict != model::Verdict::none && later.verdict != stored.verdict) {
        stored.verdict = model::Verdict::unclear;
    }
    if (stored.note.find(later.note) == std::string::npos) {
        stored.note += (stored.note.empty() ? "" : "\n") + later.note;
    }
}

// The boxes of the picture are owners of one occurrence. The first stack found for their size is
// shown, because the boxes have no path.
void note_in_picture(model::Picture& picture, const OwnerSummary& owner) {
    for (model::Picture::Item& item : picture.items) {
        if (item.owner && item.bytes == owner.bytes && !item.allocation_stack) {
            item.allocation_stack = owner.allocation_stack;
        }
    }
}

constexpr std::size_t kMostNames = 50'000;

std::vector<std::string> keys_of(const model::Finding& finding) {
    std::vector<std::string> keys = model::mistake_keys(finding);
    for (std::string& key : keys) {
        key.insert(0, std::string(model::word_of(finding.status)) + '\n');
    }
    return keys;
}

}  // namespace

void stamp(model::Finding& finding, const model::CollectionRecord& record) {
    finding.first_seen = finding.last_seen = record.started_at;
    finding.dead_for_at_most = record.dead_for_at_most;
    finding.first_collection = record.number;
    finding.collections = record.scan ? 0 : 1;
    finding.scans = record.scan ? 1 : 0;
    finding.byte_seconds = static_cast<double>(finding.retained_bytes) * record.dead_for_at_most;
    finding.by_process = {{record.process,
                           finding.occurrences,
                           finding.retained_bytes,
                           record.started_at,
                           record.step}};
}

void merge(model::Finding& stored, model::Finding later) {
    model::add_variants(stored, later);
    const std::uint64_t uncollected =
        model::uncollected_bytes(stored) + model::uncollected_bytes(later);
    stored.uncollected_bytes = uncollected > 0 ? std::optional(uncollected) : std::nullopt;
    if (later.largest_bytes > stored.largest_bytes) {
        stored.largest_bytes = later.largest_bytes;
        move_description(stored, later);
    }
    stored.retained_bytes += later.retained_bytes;
    stored.shared_bytes += later.shared_bytes;
    stored.shared_with = std::max(stored.shared_with, later.shared_with);
    stored.attributed_bytes += later.attributed_bytes;
    if (later.unowned_bytes) {
        stored.unowned_bytes = stored.unowned_bytes.value_or(0) + *later.unowned_bytes;
    }
    stored.occurrences += later.occurrences;
    stored.collections += later.collections;
    if (later.scans) {
        stored.scans = stored.scans.value_or(0) + *later.scans;
    }
    stored.byte_seconds += later.byte_seconds;
    if (later.first_seen < stored.first_seen) {
        stored.first_seen = later.first_seen;
        stored.first_collection = later.first_collection;
    }
    stored.last_seen = std::max(stored.last_seen, later.last_seen);
    stored.collected = std::max(stored.collected, later.collected);
    stored.dead_for_at_most = std::max(stored.dead_for_at_most, later.dead_for_at_most);
    stored.omitted_owners = std::max(stored.omitted_owners, later.omitted_owners);
    merge_owners(stored, std::move(later.owners));
    merge_occurrences(stored, later.by_process);
    merge_status_and_verdict(stored, later);
}

void place(model::Finding& stored, const PlacedOwners& placed) {
    const auto unplaced = find_at(stored.owners, placed.owner, "");
    if (unplaced == stored.owners.end() || placed.sites.empty()) {
        return;
    }
    OwnerSummary rest = std::move(*unplaced);
    stored.owners.erase(unplaced);
    std::uint64_t not_found = placed.owner.count;
    for (const auto& [site, placed_at] : placed.sites) {
        OwnerSummary owner = rest;
        owner.allocated_at = site;
        if (placed_at.stack.size() > 1) {
            owner.allocation_stack = placed_at.stack;
            note_in_picture(stored.picture, owner);
        }
        owner.count = std::min(placed_at.owners, rest.count);
        rest.count -= owner.count;
        not_found -= std::min(placed_at.owners, not_found);
        if (owner.count == 0) {
            continue;
        }
        const auto known = find_at(stored.owners, owner, site);
        if (known == stored.owners.end()) {
            stored.owners.push_back(std::move(owner));
        } else {
            known->count += owner.count;
        }
    }
    if (rest.count > 0 && not_found == 0) {
        // `rest` contains further owners with the same description. These owners were found after
        // the lookup of allocation sites, so their sites are unknown.
        merge_owners(stored, {std::move(rest)});
        return;
    }
    if (rest.count > 0) {
        stored.owners.push_back(std::move(rest));
    }
    sort_and_bound_owners(stored);
}

std::optional<std::size_t> MistakeIndex::find(const model::Finding& finding) const {
    // Compare signatures first, because keys take longer to compute.
    for (const auto& names_of : {&model::signatures_of, &keys_of}) {
        for (const std::string& name : names_of(finding)) {
            if (const auto known = positions_.find(name); known != positions_.end()) {
                return known->second;
            }
        }
    }
    return std::nullopt;
}

void MistakeIndex::add(const model::Finding& finding, std::size_t position) {
    for (const auto& names_of : {&model::signatures_of, &keys_of}) {
        for (std::string& name : names_of(finding)) {
            if (positions_.size() < kMostNames) {
                positions_.try_emplace(std::move(name), position);
            }
        }
    }
}

}  // namespace cyclewatch::report
