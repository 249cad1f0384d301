# SPDX-License-Identifier: Apache-2.0
# The targets that depend on an interpreter: cyclewatch_runtime (the rooms from compat to watch)
# and _native (the module). `suffix` distinguishes the interpreters of one build tree.
include_guard()

# Asks an interpreter for the settings of its extensions, because CMake's FindPython supports only one
# interpreter per build tree.
# Sets <prefix>_VERSION ("3.11"), _INCLUDE_DIR, _EXT_SUFFIX, _LIBRARY (shared or static
# libpython for embedding, empty if there is none) and _LIBRARY_FLAGS.
function(cyclewatch_describe_python executable prefix)
    execute_process(
        COMMAND "${executable}" "${PROJECT_SOURCE_DIR}/cmake/describe_python.py"
        OUTPUT_VARIABLE answer
        OUTPUT_STRIP_TRAILING_WHITESPACE
        RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "Cannot run the interpreter ${executable}: ${status}")
    endif()
    string(REPLACE "\n" ";" lines "${answer}")
    foreach(line IN LISTS lines)
        string(REGEX MATCH "^([A-Z_]+)=(.*)$" matched "${line}")
        set(${prefix}_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}" PARENT_SCOPE)
        set(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endforeach()
    if(NOT EXISTS "${INCLUDE_DIR}/Python.h")
        message(FATAL_ERROR "${executable} has no Python.h in ${INCLUDE_DIR}; "
                            "install its development package (Debian: python3-dev)")
    endif()
endfunction()

function(cyclewatch_add_python_targets executable suffix)
    cyclewatch_describe_python("${executable}" PYTHON)
    set(root "${CYCLEWATCH_SOURCE_ROOT}")
    set(runtime cyclewatch_runtime${suffix})

    file(GLOB sources CONFIGURE_DEPENDS "${root}/compat/*.c" "${root}/compat/*.cpp"
         "${root}/python/*.cpp" "${root}/bytecode/*.cpp" "${root}/collector/*.cpp"
         "${root}/device/*.cpp" "${root}/device/readers/*.cpp" "${root}/capture/*.cpp" "${root}/capture/labelers/*.cpp"
         "${root}/retention/*.cpp" "${root}/watch/*.cpp")
    add_library(${runtime} STATIC ${sources})
    target_include_directories(${runtime} PUBLIC "${root}")
    target_include_directories(${runtime} SYSTEM PUBLIC "${PYTHON_INCLUDE_DIR}"
                               "${CYCLEWATCH_CUDA_INCLUDE_DIR}")
    target_link_libraries(${runtime} PUBLIC cyclewatch_core ${CMAKE_DL_LIBS})
    cyclewatch_unity_build(${runtime} 8)
    cyclewatch_precompile_headers(${runtime} Python.h algorithm chrono functional memory optional
                                  span string unordered_map vector)

    file(GLOB bindings CONFIGURE_DEPENDS "${root}/bindings/*.cpp")
    set(module _native${suffix})
    add_library(${module} MODULE ${bindings})
    target_link_libraries(${module} PRIVATE ${runtime} pybind11::headers)
    if(CYCLEWATCH_BUILD_TESTS)
        target_compile_definitions(${module} PRIVATE PYBIND11_ASSERT_GIL_HELD_INCREF_DECREF)
    endif()
    set(exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
    target_link_options(${module} PRIVATE "LINKER:--version-script=${exports}")
    set_property(TARGET ${module} APPEND PROPERTY LINK_DEPENDS "${exports}")
    if(CYCLEWATCH_GRAPHVIZ_ROOT)
        # Leaves out what the layout does not use, and hides the rest from other libraries, such as
        # another Graphviz in the process.
        target_link_options(${module} PRIVATE LINKER:--gc-sections "LINKER:--exclude-libs,ALL")
    endif()
    if(CYCLEWATCH_OLD_GLIBC)
        target_sources(${module} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/glibc_2_28.c")
        target_link_options(${module} PRIVATE -static-libstdc++ "LINKER:--exclude-libs,ALL")
        # Before glibc 2.34, libc.so.6 does not contain them.
        target_link_libraries(${module} PRIVATE -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0)
    endif()
    cyclewatch_unity_build(${module} 0)
    set_target_properties(${module} PROPERTIES PREFIX "" OUTPUT_NAME _native
                          SUFFIX "${PYTHON_EXT_SUFFIX}")
    if(CYCLEWATCH_MODULE_DIR)
        set_target_properties(${module} PROPERTIES LIBRARY_OUTPUT_DIRECTORY
                              "${CYCLEWATCH_MODULE_DIR}")
    endif()
    if(suffix STREQUAL "")
        install(TARGETS ${module} LIBRARY DESTINATION cyclewatch)
    endif()
endfunction()
