// SPDX-License-Identifier: Apache-2.0
// Every weight of the ranking, with its reason, in one place. Rules of thumb behind the numbers:
// 100 and more, a known mistake; 80 to 99, a reference that leads from a part back to its whole;
// 40 to 79, one of several that would do; below 40, how the objects are meant to hang together;
// below 0, nothing that a program can leave out.
#pragma once

#include "analysis/pattern.h"

namespace cyclewatch::analysis::patterns {

inline constexpr Pattern kFrameInOwnLocal{
    "frame-in-own-local",
    110,
    "a frame that keeps itself in its own variable `{name}` never dies: delete `{name}` when it "
    "is no longer needed"};
inline constexpr Pattern kExecNamespace{
    "exec-namespace",
    110,
    "the namespace was made by exec() and belongs to no module, and its function {target} keeps "
    "it alive: take {target} out of the namespace after running the code"};
inline constexpr Pattern kExceptionInFrame{
    "exception-in-frame",
    105,
    "the exception keeps this frame through its traceback, and the frame keeps the exception in "
    "`{name}`: delete `{name}` in a finally block"};
inline constexpr Pattern kTracebackInFrame{
    "exception-in-frame",
    103,
    "the traceback keeps this frame, and the frame keeps it in `{name}`: delete `{name}` in a "
    "finally block"};
inline constexpr Pattern kClosureCapturesSelf{
    "closure-captures-self",
    100,
    "{holder} captures `{name}` and is kept by that same object: let it capture only the values "
    "it uses, or a weak reference"};
inline constexpr Pattern kRecursiveClosure{
    "recursive-closure",
    100,
    "{holder} calls itself through its own variable `{name}` and so keeps itself and all it "
    "captures: pass what it needs as arguments, move it to module level, or end with "
    "`{name} = None`"};
inline constexpr Pattern kOtherFrameInLocal{
    "frame-in-own-local",
    100,
    "the variable `{name}` keeps a frame that leads back here: delete it when it is no longer "
    "needed"};
inline constexpr Pattern kCachedAccessor{
    "cached-accessor",
    95,
    "{target} is a helper that refers to the object caching it: make it anew when asked, or let "
    "it refer back weakly"};
inline constexpr Pattern kClosureCapturesOwner{
    "closure-captures-owner",
    92,
    "{holder} captures `{name}`, the object it is stored on: let it capture only the values it "
    "uses, or a weak reference"};
inline constexpr Pattern kBoundMethodOnSelf{
    "bound-method-on-self",
    90,
    "the bound method is stored on its own instance: look the method up when calling it, or "
    "store a weakref.WeakMethod"};
inline constexpr Pattern kPartialOfSelf{
    "partial-of-self",
    90,
    "the partial is stored on the very object it passes as an argument: pass a weak reference"};
inline constexpr Pattern kBackPointer{
    "back-pointer",
    90,
    "`{name}` points from a part back to its whole: make it a weak reference, or keep only the "
    "values that are needed from {target}"};
inline constexpr Pattern kExceptionHolderInFrame{
    "exception-in-frame",
    90,
    "{target} stores the exception, whose traceback keeps this frame, which keeps {target} in "
    "`{name}`: rebind `{name}` to None in a finally block"};
inline constexpr Pattern kBackPointerByType{
    "back-pointer",
    88,
    "`{name}` points back to the {target} that holds this object: make it a weak reference, or "
    "keep only the values that are needed"};
inline constexpr Pattern kWrappedMethod{
    "wrapped-method",
    96,
    "{holder} wraps a method of the object it is stored on: keep the plain function and a weak "
    "reference to the object"};
inline constexpr Pattern kRegistryHoldsOwner{
    "registry-holds-owner",
    85,
    "the container belongs to {target} and holds {target} itself: leave it out, or use a weak "
    "container"};
inline constexpr Pattern kSelfReference{
    "self-reference", 85, "`{name}` refers to the object itself: use a weak reference or none"};
inline constexpr Pattern kClosureCapturesObject{
    "closure-captures-owner",
    80,
    "{holder} captures `{name}`, which leads back to it: let it capture only the values it uses, "
    "or a weak reference"};
inline constexpr Pattern kExceptionInContainer{
    "exception-stored",
    80,
    "an exception keeps the frames it came through: empty the container when done, or store the "
    "text of the exception"};
inline constexpr Pattern kFrameStored{
    "frame-stored", 80, "a stored frame keeps all its variables: store what is needed from it"};
inline constexpr Pattern kBoundMethod{
    "bound-method-on-self",
    75,
    "the bound method keeps its instance, which leads back to the method: store a "
    "weakref.WeakMethod"};
inline constexpr Pattern kDefaultHoldsOwner{
    "default-argument",
    75,
    "the default of `{name}` leads back to the function: pass it as an argument"};
inline constexpr Pattern kExceptionStored{
    "exception-stored",
    72,
    "`{name}` keeps an exception, and with it the frames it came through: store its text, or "
    "clear its traceback"};
inline constexpr Pattern kExceptionListInFrame{
    "exception-in-frame",
    70,
    "`{name}` leads to an exception whose traceback keeps this frame: empty or delete it before "
    "leaving"};
inline constexpr Pattern kClosureCapturesContainer{
    "closure-captures-container",
    70,
    "{holder} captures `{name}`, which leads back to it: pass it as an argument"};
inline constexpr Pattern kGeneratorStored{
    "generator-on-owner",
    70,
    "the stored generator keeps its variables, and they lead back here: drop or close it when "
    "done"};
inline constexpr Pattern kPartial{
    "partial-of-self", 65, "the partial passes what leads back to it: pass a weak reference"};
inline constexpr Pattern kGeneratorLocal{
    "generator-on-owner",
    60,
    "the suspended {holder} keeps `{name}`, which keeps {holder}: close it, or drop `{name}`"};
inline constexpr Pattern kFrameLocal{
    "frame-local", 60, "the frame keeps `{name}`, which leads back to it: delete `{name}`"};
inline constexpr Pattern kBuiltinMethod{
    "bound-method-on-self",
    60,
    "the built-in method keeps its instance, which leads back to the method: look it up when "
    "calling it"};
inline constexpr Pattern kClosure{
    "closure", 55, "{holder} captures `{name}`, which leads back to it: pass it as an argument"};
inline constexpr Pattern kDefault{
    "default-argument", 55, "the default of `{name}` leads back to the function"};
inline constexpr Pattern kStoredMethod{
    "bound-method-on-self",
    52,
    "`{name}` stores a bound method, which keeps its instance: look the method up when calling "
    "it"};
inline constexpr Pattern kMutual{
    "mutual-references",
    50,
    "{holder} and {target} refer to each other: let one of them refer weakly"};
inline constexpr Pattern kMutualAlike{
    "mutual-references",
    50,
    "two {holder} objects refer to each other: let one of them refer weakly"};
inline constexpr Pattern kStoredCallable{
    "callback-stored", 45, "`{name}` keeps a callable that leads back to {holder}"};
inline constexpr Pattern kExceptionChain{
    "exception-stored", 45, "the exception keeps the one it came from: raise ... from None"};
inline constexpr Pattern kRegisteredCallable{
    "callback-list", 42, "the registered callable leads back to its registry: remove it when done"};
inline constexpr Pattern kMember{"unknown", 40, "this reference closes the loop"};
inline constexpr Pattern kTraceback{
    "exception-stored",
    40,
    "the exception keeps the frames it came through: clear its traceback when storing it"};
inline constexpr Pattern kItem{"unknown", 38, "this item closes the loop: remove it when done"};
inline constexpr Pattern kContainerAttribute{"unknown", 35, "`{name}` closes the loop"};
inline constexpr Pattern kUnnamed{"unknown", 0, "this reference closes the loop"};
inline constexpr Pattern kMachinery{
    "unknown", -60, "how the interpreter links its own objects; no program can leave it out"};
inline constexpr Pattern kClassAttribute{
    "class-in-function",
    -100,
    "part of a class that is made again on each call: define the class once, at module level"};
inline constexpr Pattern kStructural{
    "class-in-function",
    -1000,
    "every class refers to itself: define the class once, at module level"};

// Off the loop: the loop stays, the memory goes.
inline constexpr Pattern kPayloadClosure{
    "class-in-function",
    30,
    "{holder} captures `{name}`: without it the loop stays but keeps no device memory; pass it "
    "as an argument"};
inline constexpr Pattern kPayloadOfCallable{
    "callable-captures-data",
    30,
    "{holder} captures `{name}`, and a loop outside your code keeps {holder}: let it capture only "
    "the values it uses"};
inline constexpr Pattern kPayload{
    "unknown",
    20,
    "without it the loop stays but keeps no device memory: drop it when {holder} is done with "
    "it"};

// Against a reference: added to the weight of its pattern.
inline constexpr int kInLibrary = -20;
inline constexpr int kInStandardLibrary = -30;
inline constexpr int kIsTheFeature = -25;     // `.forward`, `.step`: what the object is for
inline constexpr int kIsChildOfModule = -15;  // modules are made of modules
inline constexpr int kLeadsToTheKeeper = 10;  // goes to the object that keeps more memory

// Two references whose scores differ by no more than this are equally good.
inline constexpr int kTieMargin = 4;
// A reference on the loop that scores less than this is no advice at all.
inline constexpr int kWorthCutting = 0;

}  // namespace cyclewatch::analysis::patterns
