// SPDX-License-Identifier: Apache-2.0
// The internal layouts that failed the self-test in this process. Written once by
// python::check_layouts(); object_layout.c, frame_access.c and instructions.c check it before each
// access.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum cyclewatch_layout {
    CYCLEWATCH_LAYOUT_INLINE_VALUES = 1,  // attribute values without a __dict__
    CYCLEWATCH_LAYOUT_INSTANCE_DICT = 2,  // the __dict__ of an instance
    CYCLEWATCH_LAYOUT_FRAMES = 4,         // frame objects
    CYCLEWATCH_LAYOUT_GENERATORS = 8,     // generators, coroutines, asynchronous generators
    CYCLEWATCH_LAYOUT_INSTRUCTIONS = 16,  // the instructions of code objects
};

// A bit set of cyclewatch_layout. Write it only with the GIL held.
extern unsigned cyclewatch_unreliable_layouts;

#ifdef __cplusplus
}
#endif
