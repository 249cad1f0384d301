// SPDX-License-Identifier: Apache-2.0
// Replaces the system's header in the static Graphviz: a failed assertion throws (contained.h).
#undef assert
#define assert(condition) ((condition) ? (void)0 : contained_abort())
