// SPDX-License-Identifier: Apache-2.0
// Which internal layouts must not be trusted in this process. Written once, by
// python::check_layouts(); read by object_layout.c, frame_access.c and instructions.c before
// they look at anything.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum cyclewatch_layout {
    CYCLEWATCH_LAYOUT_INLINE_VALUES = 1,  // attribute values without a __dict__
    CYCLEWATCH_LAYOUT_INSTANCE_DICT = 2,  // where an instance keeps its __dict__
    CYCLEWATCH_LAYOUT_FRAMES = 4,         // frame objects
    CYCLEWATCH_LAYOUT_GENERATORS = 8,     // generators, coroutines, asynchronous generators
    CYCLEWATCH_LAYOUT_INSTRUCTIONS = 16,  // the instructions of code objects
};

// The layouts to leave alone; 0: all may be used. Never null, may be written under the GIL only.
extern unsigned cyclewatch_unreliable_layouts;

#ifdef __cplusplus
}
#endif
