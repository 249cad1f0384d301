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

if(CYCLEWATCH_SANITIZE)
    add_compile_options(-fsanitize=${CYCLEWATCH_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${CYCLEWATCH_SANITIZE})
endif()

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
