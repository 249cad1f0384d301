// SPDX-License-Identifier: Apache-2.0
// The table of evidence weights that the ranking uses. Each row names the pattern and variant in
// advice/patterns.toml that contain its message texts. A weight of 100 or more stands for a
// well-known mistake, 80 to 99 for a reference from a child back to its parent, and 40 to 79 for
// one of several references that could be cut. A reference with a weight of 0 to 39 is probably
// intended. A program cannot remove a reference with a negative weight.
#pragma once

#include "analysis/edge_classifier.h"

namespace cyclewatch::analysis::patterns {

inline constexpr Evidence kFrameInOwnLocal{"frame-in-own-local", "", 110};
inline constexpr Evidence kFrameAlsoInLocals{"frame-in-own-local", "f-locals", 110};
inline constexpr Evidence kExecNamespace{"exec-namespace", "", 110};
inline constexpr Evidence kFrameInOwnContainer{"frame-in-own-local", "container", 108};
inline constexpr Evidence kStoredByPackHook{"saved-for-backward", "stored", 106};
inline constexpr Evidence kStoredInArgument{"saved-for-backward", "argument", 106};
inline constexpr Evidence kExceptionInFrame{"exception-in-frame", "", 105};
inline constexpr Evidence kTracebackInFrame{"exception-in-frame", "traceback", 103};
inline constexpr Evidence kClosureCapturesSelf{"closure-captures-self", "", 100};
inline constexpr Evidence kRecursiveClosure{"recursive-closure", "", 100};
inline constexpr Evidence kRecursivePair{"recursive-closure", "pair", 100};
inline constexpr Evidence kLocalsKept{"locals-kept", "", 95};
inline constexpr Evidence kClosureCapturesOwner{"closure-captures-owner", "", 92};
inline constexpr Evidence kOwnMethod{"bound-method-on-self", "own", 95};
inline constexpr Evidence kBoundMethodOnSelf{"bound-method-on-self", "", 90};
inline constexpr Evidence kHookOnSelf{"bound-method-on-self", "called-by-others", 90};
inline constexpr Evidence kPassedMethodOnSelf{"bound-method-on-self", "passed", 90};
inline constexpr Evidence kPartialOfSelf{"partial-of-self", "", 90};
inline constexpr Evidence kBackPointer{"back-pointer", "", 90};
inline constexpr Evidence kBackToParent{"back-pointer", "to-parent", 50};  // as one of several
inline constexpr Evidence kBackToParentInList{"back-pointer", "to-parent-in-list", 50};
inline constexpr Evidence kFrameStored{"frame-stored", "", 90};
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
inline constexpr Evidence kPassedMethod{"bound-method-on-self", "passed", 82};
inline constexpr Evidence kRegisteredHook{"registered-hook", "", 73};
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
inline constexpr Evidence kClosureOfCallback{"closure", "callback", 55};
inline constexpr Evidence kDefault{"default-argument", "", 55};
inline constexpr Evidence kDefaultOfCallback{"default-argument", "callback", 55};
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
inline constexpr Evidence kSavedPartOfItself{"saved-for-backward", "part", 34};
inline constexpr Evidence kSavedForBackward{"saved-for-backward", "", 34};
inline constexpr Evidence kUnnamed{"unknown", "", 0};
inline constexpr Evidence kMachinery{"unknown", "machinery", -60};
inline constexpr Evidence kClassAttribute{"class-in-function", "", -100};
inline constexpr Evidence kStructural{"class-in-function", "", -1000};

// References outside the cycle. Cutting one of them frees memory but does not break the cycle.
inline constexpr Evidence kPayloadOfMethod{"class-in-function", "captured", 30};
inline constexpr Evidence kPayloadDefault{"class-in-function", "default", 30};
inline constexpr Evidence kPayloadMethod{"class-in-function", "method", 30};
inline constexpr Evidence kPayloadOfClass{"class-in-function", "attribute", 30};
inline constexpr Evidence kPayloadBesideClass{"class-in-function", "beside", 30};
inline constexpr Evidence kPayloadClosure{"unknown", "captured", 30};
inline constexpr Evidence kPayloadOfCallable{"callable-captures-data", "", 30};
inline constexpr Evidence kPayload{"unknown", "payload", 20};

// Message texts for a target that does not support weak references.
inline constexpr Evidence kNotWeak{"unknown", "not-weak", 0};
inline constexpr Evidence kNoWeakSlot{"unknown", "no-weak-slot", 0};
inline constexpr Evidence kNoWeakSlotItems{"unknown", "no-weak-slot-items", 0};
inline constexpr Evidence kNotWeakItems{"unknown", "not-weak-items", 0};
// Message texts for bound methods, to which only weakref.WeakMethod can refer weakly.
inline constexpr Evidence kWeakMethod{"unknown", "weak-method", 0};
inline constexpr Evidence kWeakMethods{"unknown", "weak-methods", 0};
// Message texts for a target that may have no other strong reference.
inline constexpr Evidence kOnlyOwner{"unknown", "only-owner", 0};

// Used if there is no reference to cut.
inline constexpr Evidence kClassOnEachCall{"class-in-function", "no-reference", 0};
inline constexpr Evidence kNoReference{"unknown", "no-reference", 0};

// Added to the weight if standard-library code creates the reference.
inline constexpr int kInStandardLibrary = -30;
// Added if library code creates the reference, and code of the program another attribute of the
// cycle: the user can change only the latter.
inline constexpr int kInLibrary = -11;

// Added, in cycles hidden from the collector, if a function of a library captures what the program
// has passed to the library, such as the function for torch.utils.checkpoint.checkpoint().
inline constexpr int kCapturedForProgram = -50;

// Two references are equally good if their scores differ by no more than this.
inline constexpr int kTieMargin = 4;
// A single reference that breaks all cycles is preferred to the back references to one parent, with
// two exceptions. (1) The single reference is probably intended (its score is below kOneOfSeveral),
// and the back references score at least as high. (2) It is unknown which end of the reference is
// the parent (its score is below kKnownDirection), and the score of the back references is higher
// by at least kClearer. Exception (2) also requires that the pattern of the best back reference is
// "back-pointer" or that the evidence for the single reference is kMutual. A large number of back
// references alone does not raise the score by kClearer.
inline constexpr int kOneOfSeveral = 40;
inline constexpr int kKnownDirection = 80;
inline constexpr int kClearer = 11;
// Adjustments to the score of a set of back references. Each attribute name after the first
// requires another change and lowers the score. The score rises each time the number of references
// to the parent doubles.
inline constexpr int kFurtherRole = -5;
inline constexpr int kTwiceTheReferences = 5;
// A reference on the cycle is not suggested if its score is lower than this.
inline constexpr int kWorthCutting = 0;

}  // namespace cyclewatch::analysis::patterns
