# SPDX-License-Identifier: Apache-2.0
# Asks interpreters themselves what their extensions need. CMake's own FindPython knows one
# interpreter per tree; we build for every one that is here, sharing what needs no Python.
include_guard()

# Sets `variable` to the interpreter to build for: as given, else what the caller's build
# frontend says, else python3 on PATH.
function(cyclewatch_choose_python variable)
    set(chosen "${${variable}}")
    foreach(candidate IN ITEMS "${Python_EXECUTABLE}" "${Python3_EXECUTABLE}"
                               "${PYTHON_EXECUTABLE}")
        if(NOT chosen AND candidate)
            set(chosen "${candidate}")
        endif()
    endforeach()
    if(NOT chosen)
        find_program(cyclewatch_python3 NAMES python3.11 python3 REQUIRED)
        set(chosen "${cyclewatch_python3}")
    endif()
    set(${variable} "${chosen}" PARENT_SCOPE)
endfunction()

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

# Sets `variable` to the folder of pybind11's headers, as the package of the building
# interpreter or of the build environment says. They serve every interpreter.
function(cyclewatch_find_pybind11 variable)
    execute_process(
        COMMAND "${CYCLEWATCH_PYTHON}" -c "import pybind11; print(pybind11.get_include())"
        OUTPUT_VARIABLE folder
        OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET)
    if(NOT EXISTS "${folder}/pybind11/pybind11.h")
        find_path(cyclewatch_pybind11 pybind11/pybind11.h HINTS ${pybind11_ROOT}
                  PATH_SUFFIXES include)
        set(folder "${cyclewatch_pybind11}")
    endif()
    if(NOT EXISTS "${folder}/pybind11/pybind11.h")
        message(FATAL_ERROR "pybind11 is missing; pip install the version that "
                            "pyproject.toml names")
    endif()
    set(${variable} "${folder}" PARENT_SCOPE)
endfunction()
