# SPDX-License-Identifier: Apache-2.0
# Compiler settings of all targets.
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

# Line tables are enough for backtraces; full debug information doubles the build time.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
if(NOT CYCLEWATCH_BUILD_TESTS)
    add_compile_definitions($<$<NOT:$<CONFIG:Debug>>:NDEBUG>)
endif()

add_compile_options(-Wall -Wextra)
# False positive: GCC treats a span as a reference into the temporary view that returned it.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()

# End the program at the first error that a sanitizer finds, so that the run fails.
if(CYCLEWATCH_SANITIZE)
    add_compile_options(-fsanitize=${CYCLEWATCH_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${CYCLEWATCH_SANITIZE})
endif()

# Headers and pybind11's templates take most of the build time. If OFF (scripts/lint), every source
# is compiled separately, with only the headers that it includes.
option(CYCLEWATCH_QUICK_BUILD "Use precompiled headers and unity builds" ON)

# Precompiles these headers for the C++ sources of the target, which still include what they use.
function(cyclewatch_precompile_headers target)
    get_target_property(type ${target} TYPE)
    if(CYCLEWATCH_QUICK_BUILD AND NOT type STREQUAL "INTERFACE_LIBRARY")
        list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
        target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
endfunction()

# Compiles the C++ sources of the target in groups (unity build); as one group if `size` is 0. Names
# in unnamed namespaces must therefore be unique within a room. Each C source is compiled separately,
# because some of them define macros before they include Python.h.
function(cyclewatch_unity_build target size)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "[.]c$")
    set_source_files_properties(${sources} TARGET_DIRECTORY ${target}
                                PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${CYCLEWATCH_QUICK_BUILD}
                          UNITY_BUILD_BATCH_SIZE ${size})
endfunction()
