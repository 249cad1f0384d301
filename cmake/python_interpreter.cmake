# SPDX-License-Identifier: Apache-2.0
# Asks each interpreter for the settings of its extensions. CMake's FindPython supports only one
# interpreter per build tree.
include_guard()

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
