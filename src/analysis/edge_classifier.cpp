// SPDX-License-Identifier: Apache-2.0
#include "analysis/edge_classifier.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "analysis/callers.h"
#include "analysis/construction_hints.h"
#include "analysis/evidence_weights.h"
#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

using namespace patterns;
using model::EdgeKind;
using model::NodeKind;

constexpr std::array<std::string_view, 3> kSelfNames{"self", "cls", "this"};

// Lower case, without underscores: `_ILocIndexer` -> "ilocindexer".
std::string folded(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (c != '_') {
            text.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
        }
    }
    return text;
}

// True for references from a container to its contents.
bool is_item(EdgeKind kind) {
    switch (kind) {
        case EdgeKind::key_value:
        case EdgeKind::opaque_key_value:
        case EdgeKind::captured_key_value:
        case EdgeKind::dict_key:
        case EdgeKind::index:
        case EdgeKind::element:
        case EdgeKind::hook:
            return true;
        default:
            return false;
    }
}

// Classifies one reference of a cycle.
class EdgeClassifier {
  public:
    EdgeClassifier(const CycleView& cycle, std::size_t i)
        : cycle_(cycle),
          graph_(cycle.graph),
          i_(i),
          edge_(cycle.edges[i]),
          holder_(cycle.holder(i)),
          target_(cycle.target(i)),
          name_(graph_.label_name(edge_)),
          hints_(cycle) {}

    const Evidence& evidence() const {
        if (graph_.edges[edge_].structural) {
            return kStructural;
        }
        if (storing_pack_hook(cycle_, i_) != kNone) {
            return kStoredByPackHook;
        }
        if (stores_output_in_argument(cycle_, i_)) {
            return kStoredInArgument;
        }
        const EdgeKind kind = graph_.edges[edge_].label.kind;
        if (is_item(kind)) {
            return item();
        }
        switch (kind) {
            case EdgeKind::closure:
                return closure();
            case EdgeKind::local:
                return local();
            case EdgeKind::attribute:
            case EdgeKind::slot:
            case EdgeKind::field:
                return attribute();
            case EdgeKind::member:
            case EdgeKind::member_item:
                return member();
            case EdgeKind::partial_argument:
            case EdgeKind::partial_keyword:
                return is_stored_on_target() ? kPartialOfSelf : kPartial;
            case EdgeKind::default_value:
                return is_called_by_library(cycle_, i_) ? kDefaultOfCallback : kDefault;
            case EdgeKind::stack:
                return kMember;
            default:
                break;
        }
        return kUnnamed;
    }

  private:
    const Evidence& closure() const {
        if (graph_.is(target_, NodeKind::function)) {
            if (name_ != short_name(graph_, target_)) {
                return plain_closure();
            }
            if (target_ == holder_) {
                return kRecursiveClosure;
            }
            // If the cycle consists only of functions, the functions call each other.
            const bool others =
                any_holder([this](NodeIx node) { return !graph_.is(node, NodeKind::function); });
            return others ? plain_closure() : kRecursivePair;
        }
        if (graph_.is(target_, NodeKind::bound_method)) {
            return kWrappedMethod;
        }
        if (contains(kSelfNames, name_)) {
            return kClosureCapturesSelf;
        }
        if (cycle_.is_object(target_)) {
            return is_stored_on_target() ? kClosureCapturesOwner : kClosureCapturesObject;
        }
        return plain_closure();
    }

    [[nodiscard]] const Evidence& plain_closure() const {
        return is_called_by_library(cycle_, i_) ? kClosureOfCallback : kClosure;
    }

    const Evidence& local() const {
        if (model::is_suspended(graph_.node(holder_).kind)) {
            return kGeneratorLocal;
        }
        if (target_ == holder_) {
            return graph_.copies_in_f_locals(edge_).empty() ? kFrameInOwnLocal : kFrameAlsoInLocals;
        }
        switch (graph_.node(target_).kind) {
            case NodeKind::exception:
                return kExceptionInFrame;
            case NodeKind::traceback:
                return kTracebackInFrame;
            default:
                break;
        }
        if (!passes(NodeKind::exception) && !passes(NodeKind::traceback)) {
            const bool by_items = cycle_.all_others(i_, [this](std::size_t k) {
                return is_item(graph_.edges[cycle_.edges[k]].label.kind);
            });
            return by_items ? kFrameInOwnContainer : kMember;
        }
        if (is_container(graph_, target_)) {
            return kExceptionListInFrame;
        }
        const NodeKind stored = graph_.node(cycle_.target(cycle_.next(i_))).kind;
        const bool stores = stored == NodeKind::exception || stored == NodeKind::traceback;
        return stores ? kExceptionHolderInFrame : kMember;
    }

    const Evidence& attribute() const {
        if (target_ == holder_) {
            return kSelfReference;
        }
        if (graph_.is(holder_, NodeKind::type) || graph_.is(holder_, NodeKind::module)) {
            // If the next reference of the cycle leads from the target to a type, the target is an
            // instance of `holder_` or of one of its subclasses.
            const bool instance = cycle_.is_object(target_) && graph_.is(holder_, NodeKind::type) &&
                                  graph_.is(cycle_.target(cycle_.next(i_)), NodeKind::type);
            return instance ? kClassKeepsInstance : kClassAttribute;
        }
        switch (kind_on_cycle(i_)) {
            case NodeKind::exception:
                return kExceptionStored;
            case NodeKind::frame:
            case NodeKind::traceback:
                return kFrameStored;
            case NodeKind::generator:
            case NodeKind::coroutine:
            case NodeKind::async_generator:
                return kGeneratorStored;
            case NodeKind::bound_method:
                return stores_own_method() ? kOwnMethod : kStoredMethod;
            case NodeKind::function:
            case NodeKind::partial:
            case NodeKind::builtin_function:
                return kStoredCallable;
            default:
                break;
        }
        if (graph_.node(target_).locals_snapshot) {
            return kLocalsKept;
        }
        return is_container(graph_, target_) ? container_attribute() : object_attribute();
    }

    // True for `model.forward = model.forward`: an attribute that stores the method of that name
    // which the object's class already provides.
    [[nodiscard]] bool stores_own_method() const {
        const EdgeIx next = cycle_.edges[cycle_.next(i_)];
        const std::string own = "." + std::string(name_);
        const std::string_view method = graph_.raw->text(graph_.node(target_).name);
        return graph_.targets[next] == holder_ && graph_.label_name(next) == "__self__" &&
               is_method_of_class(graph_, target_) && method.ends_with(own) &&
               !method.ends_with("<locals>" + own);  // a function bound to the object
    }

    const Evidence& container_attribute() const {
        switch (kind_on_cycle(cycle_.next(i_))) {
            case NodeKind::exception:
            case NodeKind::traceback:
                return kExceptionStored;
            default:
                break;
        }
        if (hints_.stores_itself(i_)) {
            return kEntersItself;
        }
        return hints_.keeps_handle(i_) ? kListOfHandles : kContainerAttribute;
    }

    const Evidence& object_attribute() const {
        if (hints_.is_named_as_parent(i_)) {
            return kBackPointer;
        }
        if (origin_of(graph_, target_) != Origin::user) {
            // The target may wrap a generator or an exception, as objects of contextlib and asyncio
            // do.
            const NodeKind wrapped = graph_.node(cycle_.target(cycle_.next(i_))).kind;
            if (model::is_suspended(wrapped)) {
                return kGeneratorStored;
            }
            if (wrapped == NodeKind::exception || wrapped == NodeKind::traceback) {
                return kExceptionStored;
            }
        }
        const bool in_collection = is_container(graph_, cycle_.target(cycle_.next(i_)));
        if (hints_.stores_itself(i_)) {
            return in_collection ? kAdopted : kPutsItself;
        }
        if (hints_.is_handle(i_)) {
            return kMutual;
        }
        if (hints_.keeps_handle(i_)) {
            return kListOfHandles;
        }
        if (hints_.leads_back_to_creator(i_)) {
            return kBackPointerToCreator;
        }
        if (folded(name_) == folded(short_name(graph_, target_)) && is_stored_on_target(false) &&
            !hints_.is_clearly_forward(i_)) {
            return kBackPointerByType;
        }
        if (hints_.creates_target(i_)) {
            return kCreated;
        }
        if (is_stored_on_target()) {
            return kMutual;
        }
        return in_collection ? kRingToCollection : kRing;
    }

    const Evidence& member() const {
        if (name_ == "__self__") {
            if (!graph_.is(holder_, NodeKind::bound_method)) {
                return kBuiltinMethod;
            }
            if (is_called_by_others(cycle_, i_)) {
                return is_registered_as_hook(cycle_, i_)
                           ? (is_stored_on_target() ? kHookOnSelf : kHook)
                           : (is_stored_on_target() ? kPassedMethodOnSelf : kPassedMethod);
            }
            return is_stored_on_target() ? kBoundMethodOnSelf : kBoundMethod;
        }
        if (name_.starts_with("saved:")) {
            return changes_part_of_tensor() ? kSavedPartOfItself : kSavedForBackward;
        }
        if (name_ == "__dict__" && target_ == holder_) {
            return kDictOfItself;
        }
        return kMachinery;
    }

    // True if the cycle leads through the node that torch creates if a part of a tensor is changed.
    bool changes_part_of_tensor() const {
        const std::size_t steps = std::min(cycle_.size(), kFarthestLook);
        for (std::size_t i = i_, left = steps; left > 0; i = cycle_.next(i), --left) {
            if (short_name(graph_, cycle_.holder(i)) == "CopySlices") {
                return true;
            }
        }
        return false;
    }

    const Evidence& item() const {
        const EdgeIx after = cycle_.edges[cycle_.next(i_)];
        if (graph_.is(target_, NodeKind::function) && graph_.targets[after] == holder_ &&
            graph_.label_name(after) == "__globals__") {
            return kExecNamespace;
        }
        if (graph_.edges[edge_].label.kind == EdgeKind::hook) {
            return is_callable(graph_, target_) && !calls_user_function(graph_, target_)
                       ? kItem
                       : kRegisteredHook;
        }
        if (graph_.node(holder_).locals_snapshot) {
            return kItem;
        }
        if (graph_.node(target_).locals_snapshot) {
            return kLocalsKept;
        }
        if (target_ == holder_) {
            return kContainerInItself;
        }
        if (kind_on_cycle(i_) == NodeKind::exception) {
            return graph_.is(holder_, NodeKind::tuple) ? kMachinery : kExceptionInContainer;
        }
        const EdgeIx into = cycle_.edges[cycle_.outside_containers(i_)];
        if (graph_.label_name(into).starts_with("saved:")) {
            return kSavedForBackward;  // what a pack hook returned
        }
        // An object that stores only `list.append`, or a function that captures the list, does not
        // own the list.
        const bool is_own = is_stored_on_target() && !passes(NodeKind::builtin_function) &&
                            graph_.edges[into].label.kind != EdgeKind::closure;
        if (!cycle_.is_object(target_) || !is_own) {
            return kItem;
        }
        return graph_.is(holder_, NodeKind::tuple) ? kTupleHoldsOwner : kRegistryHoldsOwner;
    }

    template <typename Test>
    [[nodiscard]] bool any_holder(Test test) const {
        for (std::size_t k = 0; k < std::min(cycle_.size(), kFarthestLook); ++k) {
            if (test(cycle_.holder(k))) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] bool passes(NodeKind kind) const {
        return any_holder([&](NodeIx node) { return graph_.is(node, kind); });
    }

    // The kind of object to which reference `i` leads. An exception that is on the cycle because of
    // an attribute, not because of its traceback, counts as a plain object.
    [[nodiscard]] NodeKind kind_on_cycle(std::size_t i) const {
        const NodeKind kind = graph_.node(cycle_.target(i)).kind;
        const EdgeIx next = cycle_.edges[cycle_.next(i)];
        const bool by_attribute = is_attribute(graph_, next) || graph_.label_name(next) == "args";
        return kind == NodeKind::exception && by_attribute ? NodeKind::object : kind;
    }

    // True if the path from the target to the holder contains only containers and, if
    // `by_callables` is true, callables.
    [[nodiscard]] bool is_stored_on_target(bool by_callables = true) const {
        return cycle_.all_others(i_, [&](std::size_t k) {
            const NodeIx holder = cycle_.holder(k);
            return holder == target_ || is_container(graph_, holder) ||
                   (by_callables && !cycle_.is_object(holder));
        });
    }

    const CycleView& cycle_;
    const CollapsedGraph& graph_;
    std::size_t i_;
    EdgeIx edge_;
    NodeIx holder_;
    NodeIx target_;
    std::string_view name_;
    ConstructionHints hints_;
};

}  // namespace

const Evidence& evidence_of(const CycleView& cycle, std::size_t i) {
    return EdgeClassifier(cycle, i).evidence();
}

const Evidence& payload_evidence_of(const CollapsedGraph& graph, EdgeIx edge, bool of_class) {
    const EdgeKind kind = graph.edges[edge].label.kind;
    if (kind == EdgeKind::closure) {
        return of_class ? kPayloadOfMethod : kPayloadClosure;
    }
    if (of_class && kind == EdgeKind::default_value) {
        return kPayloadDefault;
    }
    if (!graph.is(graph.edges[edge].holder, NodeKind::type)) {
        return of_class ? kPayloadBesideClass : kPayload;
    }
    return graph.is(graph.targets[edge], NodeKind::function) ? kPayloadMethod : kPayloadOfClass;
}

}  // namespace cyclewatch::analysis
