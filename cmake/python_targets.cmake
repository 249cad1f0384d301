# SPDX-License-Identifier: Apache-2.0
# The targets that depend on an interpreter: cyclewatch_runtime (all rooms from compat to watch)
# and _native (the module). `suffix` tells the interpreters of one tree apart.
include_guard()

function(cyclewatch_add_python_targets executable suffix)
    cyclewatch_describe_python("${executable}" PYTHON)
    set(root "${CYCLEWATCH_SOURCE_ROOT}")
    set(runtime cyclewatch_runtime${suffix})

    file(GLOB sources CONFIGURE_DEPENDS "${root}/compat/*.c" "${root}/compat/*.cpp"
         "${root}/python/*.cpp" "${root}/collector/*.cpp" "${root}/device/*.cpp"
         "${root}/device/readers/*.cpp" "${root}/capture/*.cpp" "${root}/capture/labelers/*.cpp"
         "${root}/watch/*.cpp")
    cyclewatch_add_static_library(${runtime} ${sources})
    target_include_directories(${runtime} ${CYCLEWATCH_SCOPE} "${root}")
    target_include_directories(${runtime} SYSTEM ${CYCLEWATCH_SCOPE} "${PYTHON_INCLUDE_DIR}"
                               "${CYCLEWATCH_CUDA_INCLUDE_DIR}")
    target_link_libraries(${runtime} ${CYCLEWATCH_SCOPE} cyclewatch_core ${CMAKE_DL_LIBS})
    cyclewatch_read_headers_once(${runtime} Python.h algorithm chrono functional memory optional
                                 span string unordered_map vector)

    file(GLOB bindings CONFIGURE_DEPENDS "${root}/bindings/*.cpp")
    if(NOT EXISTS "${root}/bindings/module.cpp")
        message(STATUS "No bindings/module.cpp yet: the module for ${PYTHON_VERSION} is left out")
        return()
    endif()
    set(module _native${suffix})
    add_library(${module} MODULE ${bindings})
    target_link_libraries(${module} PRIVATE ${runtime} pybind11::headers)
    if(CYCLEWATCH_BUILD_TESTS)
        target_compile_definitions(${module} PRIVATE PYBIND11_ASSERT_GIL_HELD_INCREF_DECREF)
    endif()
    cyclewatch_compile_at_once(${module})
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
