# SPDX-License-Identifier: Apache-2.0
# Graphviz's cgraph, which writes DOT. No layout, no plugin, no `config6` file.
include_guard()

# Makes the target cyclewatch_cgraph.
function(cyclewatch_find_cgraph)
    find_path(cyclewatch_cgraph_include cgraph.h PATH_SUFFIXES graphviz)
    find_library(cyclewatch_cgraph_library NAMES cgraph)
    if(NOT cyclewatch_cgraph_include OR NOT cyclewatch_cgraph_library)
        message(FATAL_ERROR "Graphviz's cgraph is missing; "
                            "install its development package (Debian: libgraphviz-dev)")
    endif()
    add_library(cyclewatch_cgraph INTERFACE)
    target_include_directories(cyclewatch_cgraph SYSTEM INTERFACE "${cyclewatch_cgraph_include}")
    target_link_libraries(cyclewatch_cgraph INTERFACE "${cyclewatch_cgraph_library}")
endfunction()
