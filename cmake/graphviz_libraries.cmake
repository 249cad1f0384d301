# SPDX-License-Identifier: Apache-2.0
# Graphviz: cgraph and gvc, and the plugins linked directly. Without `config6` lookup a report
# can be drawn wherever the extension was carried, whatever is configured there.
include_guard()

# Makes the target cyclewatch_graphviz_libraries.
function(cyclewatch_find_graphviz)
    find_path(cyclewatch_graphviz_include gvc.h PATH_SUFFIXES graphviz)
    set(missing "")
    set(libraries "")
    foreach(name IN ITEMS cgraph gvc cdt)
        find_library(cyclewatch_lib_${name} NAMES ${name})
        if(cyclewatch_lib_${name})
            list(APPEND libraries "${cyclewatch_lib_${name}}")
        else()
            list(APPEND missing lib${name})
        endif()
    endforeach()
    get_filename_component(folder "${cyclewatch_lib_gvc}" DIRECTORY)
    foreach(name IN ITEMS dot_layout core)
        find_library(cyclewatch_plugin_${name} NAMES libgvplugin_${name}.so.6 gvplugin_${name}
                     HINTS "${folder}/graphviz")
        if(cyclewatch_plugin_${name})
            list(APPEND libraries "${cyclewatch_plugin_${name}}")
        else()
            list(APPEND missing libgvplugin_${name})
        endif()
    endforeach()
    if(NOT cyclewatch_graphviz_include OR missing)
        message(FATAL_ERROR "Graphviz is incomplete (missing: ${missing}); "
                            "install its development package (Debian: libgraphviz-dev)")
    endif()
    add_library(cyclewatch_graphviz_libraries INTERFACE)
    target_include_directories(cyclewatch_graphviz_libraries SYSTEM INTERFACE
                               "${cyclewatch_graphviz_include}")
    target_link_libraries(cyclewatch_graphviz_libraries INTERFACE ${libraries})
endfunction()
