// SPDX-License-Identifier: Apache-2.0
#include "report/growth_tracker.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cyclewatch::report {
namespace {

std::string key_of(const model::OwnerSummary& owner) {
    return owner.type + '\0' + owner.device + '\0' + owner.shape + '\0' + owner.dtype + '\0' +
           owner.path;
}

// The path without the contents of its brackets, and without the numbers in names: "cache[]" for
// "cache['a'][3]", "layer.adapter_" for "layer.adapter_12".
std::string without_brackets(std::string_view path) {
    std::string text;
    bool is_inside = false;
    char quote = 0;
    for (const char each : path) {
        if (!is_inside) {
            is_inside = each == '[';
            if (each < '0' || each > '9') {
                text += is_inside ? "[]" : std::string(1, each);
            }
        } else if (quote != 0) {
            quote = each == quote ? '\0' : quote;
        } else if (each == '\'' || each == '"') {
            quote = each;
        } else {
            is_inside = each != ']';
        }
    }
    return text;
}

std::string container_of(const model::OwnerSummary& owner) {
    return owner.type + '\0' + owner.device + '\0' + without_brackets(owner.path);
}

// The key of the group to which a census assigns the owner if its dict is large: "cache[x]" for
// "cache['a']".
std::string any_key_of(const model::LiveOwner& group) {
    model::OwnerSummary general = group.owner;
    if (group.held_by.empty()) {
        return key_of(general);
    }
    const std::vector<model::Reference>& references = group.held_by.front().references;
    const auto is_key = [](const model::Reference& each) { return each.label.starts_with('['); };
    const auto key = std::find_if(references.rbegin(), references.rend(), is_key);
    if (key != references.rend()) {
        const std::size_t at = general.path.rfind(key->label);
        if (at != std::string::npos) {
            general.path.replace(at, key->label.size(), "[x]");
        }
    }
    return key_of(general);
}

// Counts the censuses in which the size rose above all earlier sizes and did not fall back later.
// `peak` is the largest of the earlier sizes.
struct Rises {
    std::size_t count = 0;
    bool is_last = false;  // the size rose in the last census
};

Rises rises_of(const std::deque<std::uint64_t>& bytes, std::uint64_t peak) {
    std::vector<std::uint64_t> lowest(bytes.begin(), bytes.end());  // in this census or a later one
    for (std::size_t i = lowest.size() - 1; i > 0; --i) {
        lowest[i - 1] = std::min(lowest[i - 1], lowest[i]);
    }
    Rises rises;
    peak = std::max(peak, bytes.front());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        rises.is_last = lowest[i] > peak;
        rises.count += rises.is_last ? 1 : 0;
        peak = std::max(peak, bytes[i]);
    }
    return rises;
}

constexpr std::string_view kDetach = "store `.detach()` of the tensor, or its `.item()`";

// A graph of which a loss is computed later is needed until then, so a list of such tensors has to
// be cleared instead. An object may compute the attribute anew from another one, such as a mean
// from a sum, so that only detaching the other one stops the growth.
std::string remedy_of_graph(const model::LiveOwner& owner) {
    const model::RetentionPath path =
        owner.held_by.empty() ? model::RetentionPath() : owner.held_by.front();
    const bool is_list = path.cut && !path.cut->holder_path.empty() && path.cut->label.size() > 2 &&
                         path.cut->label.starts_with('[') && path.cut->label[1] != '\'';
    const auto graph = std::ranges::find(path.references, "grad_fn", &model::Reference::label);
    std::string text(kDetach);
    if (is_list) {
        text += ", unless a loss is computed from it later";
    } else if (graph != path.references.begin() && std::prev(graph)->label.starts_with('.')) {
        text += ", also in the attributes of " + std::prev(graph)->holder +
                " from which the next step computes it";
    }
    text += ", because a stored tensor keeps the autograd graph that computed it; ";
    if (is_list) {
        text += "if a loss is computed from it, remove it from `" + path.cut->holder_path +
                "` after the backward() of that loss; ";
    }
    return text + "if backward() is never called, compute it under `torch.no_grad()`";
}

// A chain of objects of one class, each of which keeps an earlier one through the same attribute,
// such as `log.history[0].history[0].history[0]`. "" if the path contains none.
std::string remedy_of_chain(const model::RetentionPath& path) {
    constexpr std::size_t kLeastLinks = 3;
    std::map<std::pair<std::string_view, std::string_view>, std::size_t> links;
    for (const model::Reference& reference : path.references) {
        if (reference.label.starts_with('.') &&
            ++links[{reference.holder, reference.label}] == kLeastLinks) {
            return "clear `" + reference.label + "` of each " + reference.holder +
                   " that is stored, because every one keeps the one before it";
        }
    }
    return {};
}

bool is_of_graph(model::OwnerCategory category) {
    return category == model::OwnerCategory::activation ||
           category == model::OwnerCategory::saved_for_backward;
}

// How to stop the growth of the group, given one of its owners.
std::optional<std::string> remedy_for(const model::LiveOwner& owner, bool keeps_graph) {
    if (keeps_graph) {
        return remedy_of_graph(owner);
    }
    if (owner.held_by.empty() ||
        (!owner.held_by.front().remedy && owner.held_by.front().growth_remedy.empty())) {
        return std::nullopt;
    }
    if (std::string chain = remedy_of_chain(owner.held_by.front()); !chain.empty()) {
        return chain;
    }
    const model::RetentionPath& path = owner.held_by.front();
    const std::string& of_group =
        path.group_remedy.empty() ? path.remedy.value_or("") : path.group_remedy;
    const std::string& remedy = path.growth_remedy.empty() ? of_group : path.growth_remedy;
    return path.remedy_kind == model::RemedyKind::removal || !path.growth_remedy.empty()
               ? remedy + "; if the program needs all of it, store less in it"
               : remedy;
}

// The rate by which a group is sorted. A growing autograd graph also keeps memory that its group
// does not include: its nodes, and the tensors of its other groups.
double sort_rate_of(const model::GrowingOwner& growing) {
    constexpr double kPartsOfGraph = 4;
    return growing.rate *
           (growing.graph_nodes || growing.keeps_graph.value_or(false) ? kPartsOfGraph : 1);
}

}  // namespace

void sort_growing(std::vector<model::GrowingOwner>& growing) {
    std::ranges::stable_sort(
        growing, [](const auto& a, const auto& b) { return sort_rate_of(a) > sort_rate_of(b); });
}

std::vector<model::GrowingOwner> GrowthTracker::add(double at,
                                                    std::span<const model::LiveOwner> owners,
                                                    model::GrowthUnit unit,
                                                    std::uint64_t min_bytes) {
    times_.push_back(at);
    if (times_.size() > kComparisons + 1) {
        times_.pop_front();
    }
    store(owners);
    std::set<std::string_view> explained;  // groups that count the owners of a growing group
    for (auto& [key, group] : groups_) {
        update(group, unit, min_bytes);
        if (group.growing) {
            explained.insert(group.container);
            explained.insert(group.any_key);
        }
    }
    std::vector<model::GrowingOwner> fresh;
    for (auto& [key, group] : groups_) {
        if (!group.is_own && (!group.is_mixed || explained.contains(key))) {
            group.growing.reset();
        }
        if (group.growing && !std::exchange(group.reported, true)) {
            fresh.push_back(*group.growing);
        }
    }
    sort_growing(fresh);
    return fresh;
}

GrowthTracker::Group* GrowthTracker::store_in(const std::string& key,
                                              const model::LiveOwner& owner) {
    auto found = groups_.find(key);
    const bool is_new = found == groups_.end();
    if (is_new) {
        if (groups_.size() >= kMaxGroups) {
            return nullptr;
        }
        found = groups_.emplace(key, Group{}).first;
        found->second.bytes.assign(times_.size(), 0);
        found->second.nodes.assign(times_.size(), 0);
    }
    Group& group = found->second;
    group.is_mixed = group.is_mixed || (!is_new && key_of(group.last.owner) != key_of(owner.owner));
    const std::uint64_t others = group.bytes.back() > 0 ? group.last.owner.count : 0;
    group.bytes.back() += owner.bytes;
    group.nodes.back() += owner.graph_nodes;
    group.last = owner;
    group.last.owner.count += others;
    return &group;
}

// Adds the bytes of each group in a new census, or 0 for a group that the census does not contain.
void GrowthTracker::store(std::span<const model::LiveOwner> owners) {
    for (auto& entry : groups_) {
        entry.second.bytes.push_back(0);
        entry.second.nodes.push_back(0);
        entry.second.is_own = false;
    }
    for (const model::LiveOwner& owner : owners) {
        const std::string key = key_of(owner.owner);
        const std::string container = container_of(owner.owner);
        const std::string any_key = any_key_of(owner);
        store_in(container, owner);
        if (Group* const group = any_key == key ? nullptr : store_in(any_key, owner)) {
            group->container = container;
        }
        if (Group* const group = store_in(key, owner)) {
            group->container = container;
            group->any_key = any_key == key ? "" : any_key;
            group->is_own = true;
        }
    }
    for (auto& entry : groups_) {
        Group& group = entry.second;
        if (group.bytes.size() > times_.size()) {
            group.peak = std::max(group.peak, group.bytes.front());
            group.bytes.pop_front();
            group.peak_nodes = std::max(group.peak_nodes, group.nodes.front());
            group.nodes.pop_front();
        }
    }
    std::erase_if(groups_, [](const auto& entry) {
        return !entry.second.reported &&
               std::ranges::all_of(entry.second.bytes, [](auto bytes) { return bytes == 0; });
    });
}

void GrowthTracker::update(Group& group, model::GrowthUnit unit, std::uint64_t min_bytes) const {
    const std::uint64_t now = group.bytes.back();
    const double duration = times_.back() - times_.front();
    // A group is newly classified as growing only if its size rose in the last census. This
    // excludes caches that have filled up.
    const auto rises = [&](const std::deque<std::uint64_t>& sizes, std::uint64_t peak) {
        const Rises found = rises_of(sizes, peak);
        return found.count >= kRises && (found.is_last || group.growing) &&
               times_.size() > kComparisons && duration > 0;
    };
    const bool graph_grows =
        group.nodes.back() >= kMinNodes && rises(group.nodes, group.peak_nodes);
    if (!graph_grows && (now < min_bytes || !rises(group.bytes, group.peak))) {
        group.growing.reset();
        return;
    }
    model::GrowingOwner& growing = group.growing ? *group.growing : group.growing.emplace();
    growing.owner = group.last.owner;
    if (group.is_mixed && group.container.empty()) {
        growing.owner.shape.clear();
        growing.owner.dtype.clear();
    }
    growing.bytes = now;
    growing.held_by = group.last.held_by.empty() ? "" : group.last.held_by.front().text;
    const bool keeps_graph = graph_grows || is_of_graph(group.last.category);
    constexpr double kMostBytes = 1e18;
    growing.keeps_graph = keeps_graph ? std::optional(true) : std::nullopt;
    growing.remedy = remedy_for(group.last, keeps_graph);
    const double filled = group.last.held_by.empty() ? 0 : group.last.held_by.front().filled;
    growing.bytes_when_full =
        filled > 0
            ? static_cast<std::uint64_t>(std::min(static_cast<double>(now) / filled, kMostBytes))
            : 0;
    growing.rate =
        now < group.bytes.front() ? 0 : static_cast<double>(now - group.bytes.front()) / duration;
    growing.graph_nodes.reset();
    growing.graph_nodes_rate.reset();
    if (graph_grows) {
        growing.graph_nodes = group.nodes.back();
        growing.graph_nodes_rate =
            (static_cast<double>(group.nodes.back()) - static_cast<double>(group.nodes.front())) /
            duration;
    }
    growing.unit = unit;
    growing.census_bytes.assign(group.bytes.begin(), group.bytes.end());
}

std::vector<model::GrowingOwner> GrowthTracker::growing() const {
    std::vector<model::GrowingOwner> growing;
    for (const auto& entry : groups_) {
        if (entry.second.growing) {
            growing.push_back(*entry.second.growing);
        }
    }
    sort_growing(growing);
    growing.resize(std::min(growing.size(), kMaxGrowing));
    return growing;
}

}  // namespace cyclewatch::report
