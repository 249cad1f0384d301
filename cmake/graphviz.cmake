# SPDX-License-Identifier: Apache-2.0
# Graphviz: cgraph for the graph of a picture, libgvc with the `dot` layout for its geometry.
include_guard()

# Defines the target cyclewatch_graphviz, to which only cyclewatch_pictures and the tests link. It
# stands for the system's shared libraries. Other layout plugins and the renderers are not linked.
function(cyclewatch_find_graphviz)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(cyclewatch_gvc IMPORTED_TARGET libgvc libcgraph libcdt)
    find_library(CYCLEWATCH_GVPLUGIN_DOT_LAYOUT gvplugin_dot_layout
                 HINTS ${cyclewatch_gvc_LIBRARY_DIRS} ${cyclewatch_gvc_LIBDIR}
                 PATH_SUFFIXES graphviz)
    if(NOT cyclewatch_gvc_FOUND OR NOT CYCLEWATCH_GVPLUGIN_DOT_LAYOUT)
        message(FATAL_ERROR "Graphviz not found: install its development package "
                            "(Debian: libgraphviz-dev)")
    endif()
    add_library(cyclewatch_graphviz INTERFACE)
    target_link_libraries(cyclewatch_graphviz INTERFACE PkgConfig::cyclewatch_gvc
                          "${CYCLEWATCH_GVPLUGIN_DOT_LAYOUT}")
    message(STATUS "Graphviz: ${cyclewatch_gvc_libgvc_VERSION}, ${CYCLEWATCH_GVPLUGIN_DOT_LAYOUT}")
endfunction()
