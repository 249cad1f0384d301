// SPDX-License-Identifier: Apache-2.0
#include "analysis/advice_text.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "advice/catalog.h"
#include "advice/slots.h"
#include "analysis/advice_code.h"
#include "analysis/advice_for_set.h"
#include "analysis/callers.h"
#include "analysis/evidence_weights.h"
#include "analysis/names.h"
#include "analysis/weak_targets.h"
#include "base/source_path.h"
#include "base/text.h"

namespace cyclewatch::analysis {
namespace {

// Maximum number of different back references that a headline names.
constexpr std::size_t kMostNamed = 3;

// "train.py:12" of "/home/me/train.py:12"
std::string file_of(const std::string& location) {
    return location.substr(location.find_last_of("/\\") + 1);
}

// "Engine.callbacks[0]", "<lambda>.closure:self (train.py:12)"
std::string named(const CollapsedGraph& graph, const Candidate& candidate) {
    const EdgeIx edge = candidate.edges.front();
    std::string text = dotted(graph, edge);
    if (candidate.keeper != kNone) {
        text = dotted(graph, candidate.keeper) +
               text.substr(short_name(graph, graph.edges[edge].holder).size());
    } else if (const std::string stored = stored_in(graph, graph.edges[edge].holder);
               !stored.empty() && is_container(graph, graph.edges[edge].holder)) {
        text = stored + label_of(graph, edge);
    }
    const std::string location = candidate.code == kNone
                                     ? location_of(graph, edge, candidate.keeper)
                                     : location_of_code(graph, candidate.code);
    if (!location.empty()) {
        text += " (" + file_of(location) + ")";
    }
    return text;
}

// Rounded down, so that "100 %" is shown only if `share` is 1.
std::string percent_of(double share) {
    return std::to_string(static_cast<int>(share * 100)) + " %";
}

const advice::Words& words_of(const Evidence& evidence) {
    return advice::Catalog::built_in().words(evidence.pattern, evidence.variant);
}

// The origin (user, library or standard library) of the code that stores the reference. Empty if
// the code that created or stored a bound method is unknown: the origin of the method's class does
// not matter.
std::optional<Origin> origin_of_code(const CollapsedGraph& graph, const Candidate& candidate) {
    const EdgeIx edge = candidate.edges.front();
    if (const auto origin = origin_of_location(graph, edge, candidate.keeper)) {
        return origin;
    }
    const NodeIx holder = graph.edges[edge].holder;
    // In a hidden cycle, the attributes of tensors and nodes of torch are the program's.
    const bool is_unknown = graph.is(holder, model::NodeKind::bound_method) ||
                            candidate.evidence == &patterns::kOwnMethod ||
                            (!graph.collectable && is_attribute(graph, edge));
    return is_unknown ? std::nullopt : std::optional(origin_of(graph, holder));
}

// True if no other reference leads to the target, and the target is a container or it is unknown
// which end of the reference is the parent. In that case, the graph does not show whether the
// reference can safely be made weak.
bool is_only_owner(const CollapsedGraph& graph, const Candidate& candidate) {
    const NodeIx target = graph.targets[candidate.edges.front()];
    const auto own = std::ranges::count_if(
        candidate.edges, [&](EdgeIx edge) { return graph.targets[edge] == target; });
    const bool is_unknown = candidate.evidence->pattern == patterns::kMutual.pattern &&
                            candidate.evidence->weight < patterns::kKnownDirection;
    return (is_unknown || is_container(graph, target)) &&
           graph.references_to[target] == static_cast<std::uint64_t>(own);
}

advice::Slots slots_of(const CollapsedGraph& graph, EdgeIx edge) {
    std::string label = label_of(graph, edge);
    const std::string_view name = graph.label_name(edge);
    return {name_in_text(graph, graph.edges[edge].holder),
            name_in_text(graph, graph.targets[edge]),
            label,
            name.empty() ? label : std::string(name)};
}

// Returns the advice or cost of `candidate`, as selected by `text`, for its reference `i`. If the
// usual advice is a weak reference that does not work, or that nothing would keep alive, returns
// another text.
std::string text_for(const CollapsedGraph& graph,
                     const Candidate& candidate,
                     std::string advice::Words::*text,
                     std::size_t i = 0) {
    advice::Slots slots = slots_of(graph, candidate.edges[i]);
    const advice::Words& usual = words_of(*candidate.evidence);
    // The weak reference to another object does not depend on the target.
    if (usual.advice.find("weak") == std::string::npos ||
        candidate.evidence == &patterns::kClosureOfCallback) {
        return advice::fill(usual.*text, slots);
    }
    const WeakTargets targets = weak_targets_of(graph, candidate);
    const Evidence* evidence = candidate.evidence;
    if (targets.edge != kNone) {
        const bool is_slot_missing = graph.node(graph.targets[targets.edge]).lacks_weakref_slot;
        evidence = is_slot_missing
                       ? (targets.are_items ? &patterns::kNoWeakSlotItems : &patterns::kNoWeakSlot)
                       : (targets.are_items ? &patterns::kNotWeakItems : &patterns::kNotWeak);
        slots.target = name_in_text(graph, graph.targets[targets.edge]);
    } else if (targets.are_methods && evidence != &patterns::kWrappedMethod) {
        evidence = targets.are_items ? &patterns::kWeakMethods : &patterns::kWeakMethod;
    } else if (text == &advice::Words::advice && !targets.are_items &&
               is_only_owner(graph, candidate)) {
        evidence = &patterns::kOnlyOwner;
    }
    return advice::fill(words_of(*evidence).*text, slots);
}

// A phrase that describes the other references of `candidate`, which must be cut together with the
// first; "" if there are none.
std::string others_like(const Candidate& candidate) {
    if (candidate.equivalent == 1) {
        return "";
    }
    if (candidate.classes > 1) {
        return " and the same in " +
               base::counted(candidate.classes - 1, "more class", "more classes");
    }
    return candidate.shared_cell ? " and all other closures that share its variable"
                                 : " and all like it";
}

// "every cycle goes through Trainer: 14 references lead back to it"
std::string all_back(const CollapsedGraph& graph, const Cut& cut) {
    const std::string parent = name_in_text(graph, cut.parent);
    std::string text = cut.on_every_cycle ? "every cycle goes through " + parent + ": " : "";
    text += base::counted(cut.references, "reference") + " lead back to ";
    return text + (cut.on_every_cycle ? "it" : parent + " or to its children");
}

// True if `cut` consists of back pointers, all of which need the same change.
bool is_set_of_back_pointers(const Cut& cut) {
    return cut.parent != kNone && cut.references > 1 && cut.cut.size() > 1 &&
           cut.cut.front().evidence->pattern == patterns::kBackPointer.pattern;
}

// The words for an exception that is stored, if all references to cut lead back to one: to cut its
// traceback is enough. Otherwise null.
const advice::Words* words_for_exception(const CollapsedGraph& graph, const Cut& cut) {
    const auto is_traceback = [&](EdgeIx edge) {
        return graph.edges[edge].holder == cut.parent && graph.label_name(edge) == "__traceback__";
    };
    const bool applies = cut.parent != kNone &&
                         cut.cut.front().evidence->pattern == patterns::kBackPointer.pattern &&
                         std::ranges::any_of(graph.all_edges(), is_traceback);
    return applies ? &words_of(patterns::kExceptionStored) : nullptr;
}

// "`exc` of frame of train"
std::string label_and_holder(const CollapsedGraph& graph, const Candidate& candidate) {
    const EdgeIx edge = candidate.edges.front();
    return "`" + label_of(graph, edge) + "` of " + name_in_text(graph, graph.edges[edge].holder);
}

// The advice on the references of a set other than the first, as sentences that each begin with a
// space: for each further pattern its advice, and for the others, which need the same change as one
// before, their names. `first`: the advice on the first.
std::string advice_for_others(const CollapsedGraph& graph,
                              const Cut& cut,
                              const std::string& first) {
    std::string text;
    std::vector<std::string_view> patterns{cut.cut.front().evidence->pattern};
    std::vector<std::string> advice{first};
    std::vector<std::string> same;
    for (const Candidate& kind : cut.cut) {
        const std::string own =
            kind.payload ? first : text_for(graph, kind, &advice::Words::advice);
        if (std::ranges::find(advice, own) != advice.end()) {
            continue;
        }
        advice.push_back(own);
        if (std::ranges::find(patterns, kind.evidence->pattern) == patterns.end()) {
            patterns.push_back(kind.evidence->pattern);
            text += " For " + label_and_holder(graph, kind) + ": " + own + code_of(graph, kind);
        } else {
            same.push_back(label_and_holder(graph, kind));
        }
    }
    const std::size_t shown = std::min(same.size(), kMostNamed);
    for (std::size_t i = 0; i < shown; ++i) {
        text += (i == 0 ? " Do the same for " : i + 1 == same.size() ? " and " : ", ") + same[i];
    }
    if (shown < same.size()) {
        text += " and " + base::counted(same.size() - shown, "more reference", "more references");
    }
    return same.empty() ? text : text + ".";
}

// "the post-accumulate-grad hook of `Model.w`"
std::string name_of_hook(const CollapsedGraph& graph, EdgeIx hook) {
    const NodeIx owner = graph.edges[hook].holder;
    const std::string name = name_by_attribute(graph, owner);
    return "the " + std::string(graph.label_name(hook)) + " of `" +
           (name.empty() ? short_name(graph, owner) : name) + "`";
}

// The references to hooks that call `function`, directly or through a function or wrapper of a
// library.
std::vector<EdgeIx> hooks_that_call(const CollapsedGraph& graph,
                                    const std::vector<EdgeIx>& hooks,
                                    NodeIx function) {
    std::vector<EdgeIx> found;
    std::ranges::copy_if(hooks, std::back_inserter(found), [&](EdgeIx e) {
        const NodeIx hook = graph.targets[e];
        return hook == function ||
               ((calls_user_function(graph, hook) || only_calls_others(graph, hook)) &&
                std::ranges::count(graph.targets_of(hook), function) != 0);
    });
    return found;
}

bool is_output_of(const CollapsedGraph& graph, NodeIx tensor, NodeIx node) {
    return std::ranges::any_of(graph.edges_of(tensor), [&](EdgeIx e) {
        return graph.targets[e] == node && graph.label_name(e) == "grad_fn";
    });
}

// One reference for each registration, which is an item of a dict of hooks. Several references may
// lead through one dict: a tensor and its node both refer to the dict with the hooks of the tensor.
std::vector<EdgeIx> without_duplicates(const CollapsedGraph& graph,
                                       const std::vector<EdgeIx>& hooks) {
    std::vector<EdgeIx> result;
    std::map<model::EdgeId, std::size_t> places;  // in `result`, of each item
    for (const EdgeIx e : hooks) {
        const auto [known, is_new] = places.try_emplace(graph.steps_of(e).back(), result.size());
        if (is_new) {
            result.push_back(e);
        } else if (EdgeIx& other = result[known->second];
                   is_output_of(graph, graph.edges[e].holder, graph.edges[other].holder)) {
            other = e;  // the program has registered the hook with the tensor
        }
    }
    return result;
}

// The references to hooks that call the holders of the references to cut. Empty if a holder is not
// called by a hook, so that removing hooks is not enough.
std::vector<EdgeIx> hooks_to_remove(const CollapsedGraph& graph, const Cut& cut) {
    std::vector<EdgeIx> hooks;
    std::ranges::copy_if(graph.all_edges(), std::back_inserter(hooks), [&](EdgeIx e) {
        return graph.edges[e].label.kind == model::EdgeKind::hook;
    });
    std::vector<EdgeIx> result;
    std::set<NodeIx> holders;
    for (const Candidate& kind : cut.cut) {
        for (const EdgeIx edge : kind.edges) {
            const NodeIx holder = graph.edges[edge].holder;
            if (hooks.empty() || !holders.insert(holder).second) {
                continue;
            }
            const std::vector<EdgeIx> calling = hooks_that_call(graph, hooks, holder);
            if (calling.empty()) {
                return {};
            }
            result.insert(result.end(), calling.begin(), calling.end());
        }
    }
    return without_duplicates(graph, result);
}

// A sentence that begins with a space. Empty if `text` already mentions the handle, or if removing
// hooks is not enough.
std::string advice_for_hooks(const CollapsedGraph& graph, const Cut& cut, const std::string& text) {
    if (text.find("handle.remove()") != std::string::npos) {
        return "";
    }
    const std::vector<EdgeIx> hooks = hooks_to_remove(graph, cut);
    std::vector<std::string> names;
    for (const EdgeIx hook : hooks) {
        std::string name = name_of_hook(graph, hook);
        if (std::ranges::count(names, name) == 0) {
            names.push_back(names.size() < kMostNamed ? std::move(name) : "others");
        }
        if (names.size() > kMostNamed) {
            break;
        }
    }
    if (hooks.empty()) {
        return "";
    }
    return hooks.size() == 1 ? " Or keep the handle that registering " + names.front() +
                                   " returns, and call `handle.remove()` when done."
                             : " Or keep the " + base::format_count(hooks.size()) +
                                   " handles that registering " + base::joined(names) +
                                   " returns, and call `handle.remove()` for each when done.";
}

// A call to the cleanup method of `node`, such as "`Engine.close()`". In that method, a program
// could clear all references to `node`. Empty if the class has no such method.
std::string clearing_method_of(const CollapsedGraph& graph, NodeIx node) {
    const std::string_view name =
        node == kNone ? std::string_view{} : graph.raw->text(graph.node(node).end_method);
    return name.empty() ? "" : "`" + short_name(graph, node) + "." + std::string(name) + "()`";
}

// Alternatives to changing each back reference, as sentences that each begin with a space.
std::string otherwise(const CollapsedGraph& graph, const Cut& cut) {
    const std::string method = clearing_method_of(graph, cut.parent);
    const auto has = [&](Origin origin) {
        return std::ranges::any_of(
            cut.cut, [&](const Candidate& kind) { return origin_of_code(graph, kind) == origin; });
    };
    if (has(Origin::library) && !has(Origin::user)) {
        const std::string remove =
            cut.parent == kNone ? "" : "drop the " + name_in_text(graph, cut.parent) + " and ";
        const std::string report = " All of this is library code: report it to the maintainers.";
        return !graph.collectable ? report
                                  : report + " Until it is fixed, " +
                                        (method.empty() ? "" : "call " + method + ", ") + remove +
                                        "call `gc.collect()` after use.";
    }
    if (method.empty() || cut.references == 1) {
        return "";
    }
    const std::string place = place_of(graph, graph.node(cut.parent).end_location);
    return " Or clear all of them in " + method +
           (place.empty() ? "" : " (" + file_of(place) + ")") + ", and call it when done.";
}

}  // namespace

std::string remedy_of(const CollapsedGraph& graph, const Cut& cut) {
    if (cut.cut.empty()) {
        return words_of(*cut.without_cut).explanation;
    }
    const Candidate& first = cut.cut.front();
    std::string text = first.payload ? "drop " : "cut ";
    const bool is_summary = cut.parent != kNone && cut.cut.size() > kMostNamed;
    // If only one reference would be left unnamed, name it, too.
    const bool is_short = is_summary && cut.cut.size() > kMostNamed + 1;
    const std::size_t shown = is_short ? kMostNamed : cut.cut.size();
    if (is_summary) {
        text += "the " + std::to_string(cut.references) + " references back to " +
                short_name(graph, cut.parent) +
                (cut.on_every_cycle ? ", through which every cycle goes: " : ": ");
    }
    for (std::size_t i = 0; i < shown; ++i) {
        const bool last = i + 1 == cut.cut.size();
        text += i == 0 ? "" : last ? " and " : ", ";
        text += named(graph, cut.cut[i]);
        text += is_summary && cut.cut[i].classes == 1 ? "" : others_like(cut.cut[i]);
    }
    if (is_short) {
        const std::size_t more = cut.cut.size() - shown;
        return text + " and in " + base::counted(more, "more location");
    }
    if (is_summary) {
        return text;
    }
    if (first.payload) {
        const bool is_part = cut.freed_share > 0 && cut.freed_share < 1;
        const std::string part = is_part ? percent_of(cut.freed_share) + " of " : "";
        return text + ", through which the cycle retains " + part + "the memory";
    }
    if (cut.tie) {
        const Candidate& second = cut.alternatives.front();
        const std::string other = named(graph, second);
        if (other == named(graph, first)) {
            return text + " on either side";
        }
        return text + " or, just as well, " + other + others_like(second);
    }
    return first.enough ? text : text + " first, though other cycles remain";
}

std::string reason_of(const CollapsedGraph& graph,
                      const Candidate& candidate,
                      std::size_t i,
                      const Cut& cut) {
    const std::size_t set_size = cut.cut.size();
    const advice::Words& words = words_of(*candidate.evidence);
    std::string text = cut.cut.empty()
                           ? text_for(graph, candidate, &advice::Words::cost, i)
                           : advice::fill(words.explanation, slots_of(graph, candidate.edges[i]));
    if (candidate.shared_cell) {
        text += "; " + std::to_string(candidate.equivalent) +
                " references share this one variable, so cutting only one of them frees nothing; "
                "clear the variable or change all of them";
    } else if (cut.parent != kNone && cut.references == 1) {
        text += "; everything else is still reachable from " + name_in_text(graph, cut.parent) +
                " without it";
    } else if (cut.parent != kNone && &candidate == &cut.cut.front()) {
        text = all_back(graph, cut) + (is_set_of_back_pointers(cut) ? "" : "; " + text);
    } else if (cut.parent == kNone && candidate.equivalent > 1) {
        text += "; there are " + std::to_string(candidate.equivalent) +
                " references of this kind, and all of them must be removed";
    }
    if (candidate.payload && set_size <= 1 && candidate.share > 0 && candidate.share < 1) {
        text += " (" + percent_of(candidate.share) + " of the memory)";
    }
    if (set_size > 1 && candidate.payload) {
        text += "; all references listed must be cut";
    } else if (set_size > 1 && cut.parent == kNone) {
        text += "; all " + std::to_string(set_size) +
                " references listed must be cut: if one is left, a cycle remains";
    }
    if (!candidate.enough) {
        text +=
            "; this breaks the shortest cycle, but no small set of references breaks all cycles";
    }
    return text;
}

std::string advice_of(const CollapsedGraph& graph, const Cut& cut) {
    if (cut.cut.empty()) {
        return words_of(*cut.without_cut).advice;
    }
    const Candidate& first = cut.cut.front();
    if (const advice::Words* const words = words_for_exception(graph, cut)) {
        return advice::fill(words->advice, slots_of(graph, first.edges.front())) +
               otherwise(graph, cut);
    }
    const std::string first_advice = text_for(graph, first, &advice::Words::advice);
    std::string text = first_advice;
    if (graph.edges[first.edges.front()].is_wrapped) {
        text +=
            " `functools.wraps()` also stores the wrapped function in `__wrapped__`: delete "
            "that attribute, too.";
    }
    std::string code = code_of(graph, first);
    text = is_set_of_back_pointers(cut) ? advice_for_set(graph, cut, std::move(code))
                                        : text + code + advice_for_others(graph, cut, first_advice);
    return text + advice_for_hooks(graph, cut, text) + otherwise(graph, cut);
}

std::string cost_of(const CollapsedGraph& graph, const Cut& cut) {
    if (cut.cut.empty()) {
        return {};
    }
    if (const advice::Words* const words = words_for_exception(graph, cut)) {
        return words->cost;
    }
    if (is_set_of_back_pointers(cut) && can_use_weak_references(graph, cut)) {
        return "keep " + (cut.on_every_cycle ? name_in_text(graph, cut.parent) : "the parent") +
               " where only a child is kept: a child no longer does; pickling breaks";
    }
    const Candidate& first = cut.cut.front();
    return text_for(graph, first, &advice::Words::cost);
}

}  // namespace cyclewatch::analysis
