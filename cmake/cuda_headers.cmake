# SPDX-License-Identifier: Apache-2.0
# The headers of the CUDA driver and runtime. Nothing is linked: the extension calls the libraries
# that the watched program has loaded. A linked runtime would be a further copy, with a last error
# of its own.
include_guard()

# Sets CYCLEWATCH_CUDA_INCLUDE_DIR: as given, else the CUDA toolkit, else the nvidia-cuda-runtime
# wheel of the build environment. If there is a toolkit, CUDAToolkit_NVCC_EXECUTABLE and
# CUDA_cudart_LIBRARY are set as well; only tests use them.
macro(cyclewatch_find_cuda_headers)
    # Accepts complete toolkits only, not the wheel.
    find_package(CUDAToolkit 12 QUIET)
    if(NOT CYCLEWATCH_CUDA_INCLUDE_DIR)
        cyclewatch_choose_cuda_headers()
    endif()
    if(NOT EXISTS "${CYCLEWATCH_CUDA_INCLUDE_DIR}/cuda_runtime_api.h")
        message(FATAL_ERROR
                "cuda_runtime_api.h not found: install a CUDA toolkit or the nvidia-cuda-runtime "
                "wheel listed in pyproject.toml, or set CYCLEWATCH_CUDA_INCLUDE_DIR")
    endif()
    message(STATUS "CUDA headers: ${CYCLEWATCH_CUDA_INCLUDE_DIR}")
endmacro()

function(cyclewatch_choose_cuda_headers)
    foreach(folder IN LISTS CUDAToolkit_INCLUDE_DIRS)
        if(EXISTS "${folder}/cuda_runtime_api.h")
            set(CYCLEWATCH_CUDA_INCLUDE_DIR "${folder}" PARENT_SCOPE)
            return()
        endif()
    endforeach()
    execute_process(
        COMMAND "${Python_EXECUTABLE}" -c [[
import importlib.metadata
try:
    files = importlib.metadata.files("nvidia-cuda-runtime") or []
except importlib.metadata.PackageNotFoundError:
    files = []
print(next((file.locate().parent for file in files if file.name == "cuda_runtime_api.h"), ""))
]]
        OUTPUT_VARIABLE found
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(CYCLEWATCH_CUDA_INCLUDE_DIR "${found}" PARENT_SCOPE)
endfunction()
