// SPDX-License-Identifier: Apache-2.0
#include "report/merge.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace cyclewatch::report {
namespace {

using model::OwnerSummary;

auto identity(const OwnerSummary& owner) {
    return std::tie(owner.type,
                    owner.device,
                    owner.bytes,
                    owner.shape,
                    owner.dtype,
                    owner.path,
                    owner.allocated_at);
}

void merge_owners(model::Finding& stored, std::vector<OwnerSummary> owners) {
    for (OwnerSummary& owner : owners) {
        const auto equal = std::find_if(
            stored.owners.begin(), stored.owners.end(), [&owner](const OwnerSummary& known) {
                return identity(known) == identity(owner);
            });
        if (equal == stored.owners.end()) {
            stored.owners.push_back(std::move(owner));
        } else {
            equal->count += owner.count;
        }
    }
    std::stable_sort(stored.owners.begin(), stored.owners.end(), [](const auto& a, const auto& b) {
        return a.bytes * a.count > b.bytes * b.count;
    });
    if (stored.owners.size() > model::kMaxOwnersPerFinding) {
        // Nobody knows whether those beyond the limit are the same ones again: the larger figure
        // is the one that is certainly true.
        const std::uint64_t over = stored.owners.size() - model::kMaxOwnersPerFinding;
        stored.omitted_owners = std::max(stored.omitted_owners, over);
        stored.owners.resize(model::kMaxOwnersPerFinding);
    }
}

// What the report shows of one occurrence; it belongs together.
void show(model::Finding& stored, model::Finding& heavier) {
    stored.pattern = std::move(heavier.pattern);
    stored.title = std::move(heavier.title);
    stored.headline = std::move(heavier.headline);
    stored.advice = std::move(heavier.advice);
    stored.loop = std::move(heavier.loop);
    stored.cut = std::move(heavier.cut);
    stored.tie = heavier.tie;
    stored.alternatives = std::move(heavier.alternatives);
    stored.picture = std::move(heavier.picture);
}

void merge_sightings(model::Finding& stored, const std::vector<model::Sighting>& sightings) {
    for (const model::Sighting& sighting : sightings) {
        const auto place =
            std::lower_bound(stored.sightings.begin(),
                             stored.sightings.end(),
                             sighting,
                             [](const auto& a, const auto& b) { return a.process < b.process; });
        if (place == stored.sightings.end() || place->process != sighting.process) {
            stored.sightings.insert(place, sighting);
            continue;
        }
        place->occurrences += sighting.occurrences;
        place->held_bytes += sighting.held_bytes;
        if (sighting.first_seen < place->first_seen) {
            place->first_seen = sighting.first_seen;
            place->first_step = sighting.first_step;
        }
    }
}

void merge_opinions(model::Finding& stored, model::Finding& later) {
    if (later.standing < stored.standing) {
        stored.standing = later.standing;
        stored.standing_reason = std::move(later.standing_reason);
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

}  // namespace

void stamp(model::Finding& finding, const model::CollectionRecord& record) {
    finding.first_seen = finding.last_seen = record.started_at;
    finding.dead_for_at_most = record.dead_for_at_most;
    finding.first_collection = record.number;
    finding.collections = 1;
    finding.byte_seconds = static_cast<double>(finding.held_bytes) * record.dead_for_at_most;
    finding.sightings = {
        {record.process, finding.occurrences, finding.held_bytes, record.started_at, record.step}};
}

void merge(model::Finding& stored, model::Finding later) {
    if (later.largest_bytes > stored.largest_bytes) {
        stored.largest_bytes = later.largest_bytes;
        show(stored, later);
    }
    stored.held_bytes += later.held_bytes;
    stored.shared_bytes += later.shared_bytes;
    stored.occurrences += later.occurrences;
    stored.collections += later.collections;
    stored.byte_seconds += later.byte_seconds;
    if (later.first_seen < stored.first_seen) {
        stored.first_seen = later.first_seen;
        stored.first_collection = later.first_collection;
    }
    stored.last_seen = std::max(stored.last_seen, later.last_seen);
    stored.dead_for_at_most = std::max(stored.dead_for_at_most, later.dead_for_at_most);
    stored.omitted_owners = std::max(stored.omitted_owners, later.omitted_owners);
    merge_owners(stored, std::move(later.owners));
    merge_sightings(stored, later.sightings);
    merge_opinions(stored, later);
}

void sort_heaviest_first(std::vector<model::Finding>& findings) {
    std::sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) {
        return std::tie(b.held_bytes, b.shared_bytes, a.signature) <
               std::tie(a.held_bytes, a.shared_bytes, b.signature);
    });
}

}  // namespace cyclewatch::report
