# SPDX-License-Identifier: Apache-2.0
# A static Graphviz from Debian's source (scripts/graphviz_source), for wheels and for tests. It
# contains only what reading, writing and the `dot` layout need: no renderers, no HTML labels, no
# plugins to search for at run time. The headers in graphviz_static/ replace those that upstream's
# configuration generates, and make it throw instead of ending the process.
include_guard()

set(graphviz_static_version 2.42.2)
set(graphviz_static_sources
    lib/cgraph/agerror.c lib/cgraph/agxbuf.c lib/cgraph/apply.c lib/cgraph/attr.c
    lib/cgraph/edge.c lib/cgraph/flatten.c lib/cgraph/graph.c lib/cgraph/id.c lib/cgraph/imap.c
    lib/cgraph/io.c lib/cgraph/mem.c lib/cgraph/node.c lib/cgraph/obj.c lib/cgraph/pend.c
    lib/cgraph/rec.c lib/cgraph/refstr.c lib/cgraph/subg.c lib/cgraph/utils.c lib/cgraph/write.c
    lib/pathplan/cvt.c lib/pathplan/inpoly.c lib/pathplan/route.c lib/pathplan/shortest.c
    lib/pathplan/shortestpth.c lib/pathplan/solvers.c lib/pathplan/triang.c lib/pathplan/util.c
    lib/pathplan/visibility.c
    lib/label/index.c lib/label/node.c lib/label/rectangle.c lib/label/split.q.c
    lib/label/xlabels.c
    lib/pack/ccomps.c lib/pack/pack.c
    lib/xdot/xdot.c
    lib/gvc/gvc.c lib/gvc/gvconfig.c lib/gvc/gvcontext.c lib/gvc/gvdevice.c lib/gvc/gvevent.c
    lib/gvc/gvjobs.c lib/gvc/gvlayout.c lib/gvc/gvloadimage.c lib/gvc/gvplugin.c
    lib/gvc/gvrender.c lib/gvc/gvtextlayout.c lib/gvc/gvtool_tred.c lib/gvc/gvusershape.c
    lib/common/args.c lib/common/arrows.c lib/common/colxlate.c lib/common/ellipse.c
    lib/common/emit.c lib/common/geom.c lib/common/globals.c lib/common/htmllex.c
    lib/common/htmltable.c lib/common/input.c lib/common/intset.c lib/common/labels.c
    lib/common/memory.c lib/common/ns.c lib/common/output.c lib/common/pointset.c
    lib/common/postproc.c lib/common/psusershape.c lib/common/routespl.c lib/common/shapes.c
    lib/common/splines.c lib/common/taper.c lib/common/textspan.c lib/common/timing.c
    lib/common/utils.c
    lib/dotgen/acyclic.c lib/dotgen/aspect.c lib/dotgen/class1.c lib/dotgen/class2.c
    lib/dotgen/cluster.c lib/dotgen/compound.c lib/dotgen/conc.c lib/dotgen/decomp.c
    lib/dotgen/dotinit.c lib/dotgen/dotsplines.c lib/dotgen/fastgr.c lib/dotgen/flat.c
    lib/dotgen/mincross.c lib/dotgen/position.c lib/dotgen/rank.c lib/dotgen/sameport.c
    plugin/dot_layout/gvlayout_dot_layout.c plugin/dot_layout/gvplugin_dot_layout.c)
# The headers that Debian's development package installs and our code needs.
set(graphviz_static_public_headers
    cdt/cdt.h cgraph/cgraph.h common/arith.h common/color.h common/geom.h common/textspan.h
    common/types.h common/usershape.h gvc/gvc.h gvc/gvcext.h gvc/gvcjob.h gvc/gvcommon.h
    gvc/gvconfig.h gvc/gvplugin.h gvc/gvplugin_device.h gvc/gvplugin_layout.h
    gvc/gvplugin_loadimage.h gvc/gvplugin_render.h gvc/gvplugin_textlayout.h pack/pack.h
    pathplan/pathgeom.h pathplan/pathplan.h xdot/xdot.h)

# Generates `output`.c and .h from a grammar, with `prefix` instead of yy, as upstream's build does.
function(graphviz_static_parser grammar output prefix)
    add_custom_command(
        OUTPUT "${output}.c" "${output}.h"
        COMMAND "${CYCLEWATCH_BISON}" -y -d -Wnone -o "${output}.c" "${grammar}"
        COMMAND sed -i "s/yy/${prefix}/g; s/unsigned long\\( int\\)\\?/uint64_t/g"
                "${output}.c" "${output}.h"
        DEPENDS "${grammar}"
        VERBATIM)
endfunction()

# Sets `variable` to the sources that bison and flex generate.
function(graphviz_static_generate root folder variable)
    find_program(CYCLEWATCH_BISON bison REQUIRED)
    find_program(CYCLEWATCH_FLEX flex REQUIRED)
    file(MAKE_DIRECTORY "${folder}")
    graphviz_static_parser("${root}/lib/cgraph/grammar.y" "${folder}/grammar" aag)
    graphviz_static_parser("${root}/lib/common/htmlparse.y" "${folder}/htmlparse" html)
    add_custom_command(
        OUTPUT "${folder}/scan.c"
        COMMAND "${CYCLEWATCH_FLEX}" -i -o "${folder}/scan.c" "${root}/lib/cgraph/scan.l"
        COMMAND sed -i "s/yy/aag/g" "${folder}/scan.c"
        DEPENDS "${root}/lib/cgraph/scan.l"
        VERBATIM)
    set(${variable} "${folder}/grammar.c" "${folder}/grammar.h" "${folder}/htmlparse.c"
        "${folder}/htmlparse.h" "${folder}/scan.c" PARENT_SCOPE)
endfunction()

# Copies the public headers into `folder`, because the directories that contain them also contain
# headers with the names of system headers.
function(graphviz_static_copy_headers root folder)
    file(MAKE_DIRECTORY "${folder}")
    foreach(header IN LISTS graphviz_static_public_headers)
        configure_file("${root}/lib/${header}" "${folder}" COPYONLY)
    endforeach()
endfunction()

# Defines the static library cyclewatch_graphviz from the unpacked source in `root`.
function(cyclewatch_add_static_graphviz root)
    if(NOT EXISTS "${root}/lib/dotgen/mincross.c")
        message(FATAL_ERROR "CYCLEWATCH_GRAPHVIZ_ROOT=${root} is not a source tree of Graphviz; "
                            "scripts/graphviz_source prints the path of one")
    endif()
    set(generated "${CMAKE_CURRENT_BINARY_DIR}/graphviz/generated")
    set(headers "${CMAKE_CURRENT_BINARY_DIR}/graphviz/include")
    set(ours "${PROJECT_SOURCE_DIR}/cmake/graphviz_static")
    graphviz_static_generate("${root}" "${generated}" generated_sources)
    graphviz_static_copy_headers("${root}" "${headers}")

    file(GLOB cdt_sources "${root}/lib/cdt/dt*.c")
    list(TRANSFORM graphviz_static_sources PREPEND "${root}/" OUTPUT_VARIABLE sources)
    add_library(cyclewatch_graphviz STATIC ${cdt_sources} ${sources} ${generated_sources}
                "${ours}/contained.cpp")
    set(include_directories "${ours}" "${generated}" "${root}")
    foreach(folder cdt cgraph pathplan common gvc pack label xdot dotgen ortho fdpgen sparse)
        list(APPEND include_directories "${root}/lib/${folder}")
    endforeach()
    target_include_directories(cyclewatch_graphviz PRIVATE ${include_directories})
    target_include_directories(cyclewatch_graphviz SYSTEM INTERFACE "${headers}")
    # Without _GNU_SOURCE, with which newer C libraries replace strtol() and others by functions
    # that older ones lack.
    target_compile_definitions(cyclewatch_graphviz PRIVATE $<$<COMPILE_LANGUAGE:C>:HAVE_CONFIG_H>)
    # -w: warnings about code that is not ours.
    target_compile_options(
        cyclewatch_graphviz PRIVATE
        "$<$<COMPILE_LANGUAGE:C>:-w;-fexceptions;-ffunction-sections;-fdata-sections;-include;${ours}/contained.h>")
    if(CYCLEWATCH_SANITIZE MATCHES undefined)
        target_compile_options(cyclewatch_graphviz PRIVATE -fno-sanitize=undefined)
    endif()
    target_link_libraries(cyclewatch_graphviz INTERFACE m)
    set_target_properties(cyclewatch_graphviz PROPERTIES C_STANDARD 99 C_EXTENSIONS ON)
    message(STATUS "Graphviz: ${graphviz_static_version}, static, from ${root}")
endfunction()
