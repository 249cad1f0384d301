# SPDX-License-Identifier: Apache-2.0
# Graphviz: cgraph for the graph of a picture, libgvc with the `dot` layout for its geometry.
include_guard()
include(graphviz_static)

# Defines the target cyclewatch_graphviz, to which only cyclewatch_pictures and the tests link. It
# stands for the system's shared libraries, or for a static library built from the source in
# CYCLEWATCH_GRAPHVIZ_ROOT. Other layout plugins and the renderers are not linked.
function(cyclewatch_find_graphviz)
    if(CYCLEWATCH_GRAPHVIZ_ROOT)
        cyclewatch_add_static_graphviz("${CYCLEWATCH_GRAPHVIZ_ROOT}")
        return()
    endif()
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
