# SPDX-License-Identifier: Apache-2.0
# What every target is compiled with.
include_guard()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# Line tables are enough for a backtrace, and full debug information doubles the build time.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
if(NOT CYCLEWATCH_BUILD_TESTS)
    add_compile_definitions($<$<NOT:$<CONFIG:Debug>>:NDEBUG>)
endif()

add_compile_options(-Wall -Wextra)
# GCC takes a span for a reference into the view that made it, which is a temporary.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()

# What a sanitizer finds ends the program: nobody reads the output of one that goes on.
if(CYCLEWATCH_SANITIZE)
    add_compile_options(-fsanitize=${CYCLEWATCH_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${CYCLEWATCH_SANITIZE})
endif()

# Most of the build's time goes into headers, and into compiling pybind11's templates once for each
# source. Off, every source is compiled by itself, with the headers that it names: scripts/lint.
option(CYCLEWATCH_QUICK_BUILD "Read headers once for many sources" ON)

# Reads these headers once for all C++ sources of the target, which still include what they use.
function(cyclewatch_read_headers_once target)
    get_target_property(type ${target} TYPE)
    if(CYCLEWATCH_QUICK_BUILD AND NOT type STREQUAL "INTERFACE_LIBRARY")
        list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
        target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
endfunction()

# Compiles all sources of the target as one.
function(cyclewatch_compile_at_once target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${CYCLEWATCH_QUICK_BUILD}
                          UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# A library target that may still be without sources: then it only passes on what it links.
function(cyclewatch_add_static_library target)
    if(ARGN)
        add_library(${target} STATIC ${ARGN})
        set(scope PUBLIC)
    else()
        add_library(${target} INTERFACE)
        set(scope INTERFACE)
    endif()
    set(CYCLEWATCH_SCOPE ${scope} PARENT_SCOPE)
endfunction()
