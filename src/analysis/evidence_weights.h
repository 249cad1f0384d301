// SPDX-License-Identifier: Apache-2.0
// All weights of the ranking. The texts of each row are in advice/patterns.toml, under its pattern
// and variant. 100 and more: a known mistake. 80 to 99: a reference from a child back to its
// parent. 40 to 79: one of several references that could be cut. 0 to 39: probably intended. Below
// 0: a reference that a program cannot remove.
#pragma once

#include "analysis/edge_classifier.h"

namespace cyclewatch::analysis::patterns {

inline constexpr Evidence kFrameInOwnLocal{"frame-in-own-local", "", 110};
inline constexpr Evidence kExecNamespace{"exec-namespace", "", 110};
inline constexpr Evidence kFrameInOwnContainer{"frame-in-own-local", "container", 108};
inline constexpr Evidence kExceptionInFrame{"exception-in-frame", "", 105};
inline constexpr Evidence kTracebackInFrame{"exception-in-frame", "traceback", 103};
inline constexpr Evidence kClosureCapturesSelf{"closure-captures-self", "", 100};
inline constexpr Evidence kRecursiveClosure{"recursive-closure", "", 100};
inline constexpr Evidence kRecursivePair{"recursive-closure", "pair", 100};
inline constexpr Evidence kLocalsKept{"locals-kept", "", 95};
inline constexpr Evidence kClosureCapturesOwner{"closure-captures-owner", "", 92};
inline constexpr Evidence kBoundMethodOnSelf{"bound-method-on-self", "", 90};
inline constexpr Evidence kHookOnSelf{"bound-method-on-self", "called-by-others", 90};
inline constexpr Evidence kPartialOfSelf{"partial-of-self", "", 90};
inline constexpr Evidence kBackPointer{"back-pointer", "", 90};
inline constexpr Evidence kBackToParent{"back-pointer", "to-parent", 50};  // as one of several
inline constexpr Evidence kBackToParentInList{"back-pointer", "to-parent-in-list", 50};
inline constexpr Evidence kExceptionHolderInFrame{"exception-in-frame", "holder", 90};
inline constexpr Evidence kBackPointerToCreator{"back-pointer", "to-creator", 89};
inline constexpr Evidence kBackPointerByType{"back-pointer", "by-type", 66};
inline constexpr Evidence kWrappedMethod{"wrapped-method", "", 96};
inline constexpr Evidence kListOfHandles{"list-of-handles", "", 88};
inline constexpr Evidence kRegistryHoldsOwner{"registry-holds-owner", "", 85};
inline constexpr Evidence kTupleHoldsOwner{"registry-holds-owner", "tuple", 85};
inline constexpr Evidence kSelfReference{"self-reference", "", 85};
inline constexpr Evidence kDictOfItself{"self-reference", "dict", 85};
inline constexpr Evidence kContainerInItself{"container-in-itself", "", 85};
inline constexpr Evidence kAdopted{"mutual-references", "puts-itself", 81};
inline constexpr Evidence kClosureCapturesObject{"closure-captures-owner", "leads-back", 80};
inline constexpr Evidence kExceptionInContainer{"exception-stored", "container", 80};
inline constexpr Evidence kBoundMethod{"bound-method-on-self", "leads-back", 75};
inline constexpr Evidence kHook{"bound-method-on-self", "called-by-others", 82};
inline constexpr Evidence kExceptionStored{"exception-stored", "", 72};
inline constexpr Evidence kExceptionListInFrame{"exception-in-frame", "container", 70};
inline constexpr Evidence kGeneratorStored{"generator-on-owner", "", 70};
inline constexpr Evidence kPutsItself{"mutual-references", "puts-itself", 66};
inline constexpr Evidence kPartial{"partial-of-self", "leads-back", 65};
inline constexpr Evidence kClassKeepsInstance{"class-in-function", "instance", 65};
inline constexpr Evidence kGeneratorLocal{"generator-on-owner", "local", 60};
inline constexpr Evidence kBuiltinMethod{"bound-method-on-self", "builtin", 60};
inline constexpr Evidence kRingToCollection{"mutual-references", "ring", 56};
inline constexpr Evidence kClosure{"closure", "", 55};
inline constexpr Evidence kDefault{"default-argument", "", 55};
inline constexpr Evidence kStoredMethod{"bound-method-on-self", "attribute", 52};
inline constexpr Evidence kMutual{"mutual-references", "", 50};
inline constexpr Evidence kLinks{"mutual-references", "links", 50};
inline constexpr Evidence kRing{"mutual-references", "ring", 50};
inline constexpr Evidence kStoredCallable{"callback-stored", "", 45};
inline constexpr Evidence kEntersItself{"mutual-references", "enters-itself", 39};
inline constexpr Evidence kItem{"unknown", "item", 38};
inline constexpr Evidence kCreated{"mutual-references", "created", 37};
inline constexpr Evidence kMember{"unknown", "", 36};
inline constexpr Evidence kContainerAttribute{"unknown", "", 35};
inline constexpr Evidence kUnnamed{"unknown", "", 0};
inline constexpr Evidence kMachinery{"unknown", "machinery", -60};
inline constexpr Evidence kClassAttribute{"class-in-function", "", -100};
inline constexpr Evidence kStructural{"class-in-function", "", -1000};

// References outside the cycle: cutting one frees the memory but leaves the cycle.
inline constexpr Evidence kPayloadOfMethod{"class-in-function", "captured", 30};
inline constexpr Evidence kPayloadDefault{"class-in-function", "default", 30};
inline constexpr Evidence kPayloadMethod{"class-in-function", "method", 30};
inline constexpr Evidence kPayloadOfClass{"class-in-function", "attribute", 30};
inline constexpr Evidence kPayloadBesideClass{"class-in-function", "beside", 30};
inline constexpr Evidence kPayloadClosure{"unknown", "captured", 30};
inline constexpr Evidence kPayloadOfCallable{"callable-captures-data", "", 30};
inline constexpr Evidence kPayload{"unknown", "payload", 20};

// Texts for a target that does not support weak references.
inline constexpr Evidence kNotWeak{"unknown", "not-weak", 0};
// Texts for a target that may have no other strong reference.
inline constexpr Evidence kOnlyOwner{"unknown", "only-owner", 0};

// Used if there is no reference to cut.
inline constexpr Evidence kClassOnEachCall{"class-in-function", "no-reference", 0};
inline constexpr Evidence kNoReference{"unknown", "no-reference", 0};

// Added to the weight of the pattern.
inline constexpr int kInStandardLibrary = -30;

// Two references are equally good if their scores differ by no more than this.
inline constexpr int kTieMargin = 4;
// A single reference that breaks all cycles is preferred to the back references of one parent, with
// two exceptions. (1) The reference is probably intended (below kOneOfSeveral) and does not have a
// higher score. (2) Its direction is not known (below kKnownDirection), the back references score
// at least kClearer more, which their number alone cannot add, and the best of them is a back
// pointer or it is unknown which object is the parent (kMutual).
inline constexpr int kOneOfSeveral = 40;
inline constexpr int kKnownDirection = 80;
inline constexpr int kClearer = 11;
// For back references: each name after the first requires another change. An object with twice as
// many references to it is more likely to be the parent.
inline constexpr int kFurtherRole = -5;
inline constexpr int kTwiceTheReferences = 5;
// A reference on the cycle with a lower score is not suggested.
inline constexpr int kWorthCutting = 0;

}  // namespace cyclewatch::analysis::patterns
