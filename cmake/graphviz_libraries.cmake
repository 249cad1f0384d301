# SPDX-License-Identifier: Apache-2.0
# Graphviz: gvc with what it stands on, and the plugins linked directly. Without `config6` lookup a
# report can be drawn wherever the extension was carried, whatever is configured there.
include_guard()

find_package(PkgConfig REQUIRED)
pkg_check_modules(graphviz REQUIRED IMPORTED_TARGET libgvc)

add_library(cyclewatch_graphviz_libraries INTERFACE)
target_link_libraries(cyclewatch_graphviz_libraries INTERFACE PkgConfig::graphviz)
# No .pc file tells of the plugins.
foreach(name IN ITEMS dot_layout core)
    find_library(cyclewatch_plugin_${name} NAMES libgvplugin_${name}.so.6 gvplugin_${name}
                 HINTS "${graphviz_LIBDIR}/graphviz" REQUIRED)
    target_link_libraries(cyclewatch_graphviz_libraries INTERFACE "${cyclewatch_plugin_${name}}")
endforeach()
