# SPDX-License-Identifier: Apache-2.0
# The CUDA runtime's headers. Nothing is linked: the extension uses the runtime that the watched
# program has loaded.
include_guard()

# Sets CYCLEWATCH_CUDA_INCLUDE_DIR: as given, else the system's toolkit, else the
# nvidia-cuda-runtime wheel of the build environment.
function(cyclewatch_find_cuda_headers)
    set(found "${CYCLEWATCH_CUDA_INCLUDE_DIR}")
    if(NOT found)
        find_path(cyclewatch_cuda_toolkit cuda_runtime_api.h
                  HINTS "$ENV{CUDA_HOME}/include" "$ENV{CUDA_PATH}/include"
                        /usr/local/cuda/include)
        set(found "${cyclewatch_cuda_toolkit}")
    endif()
    if(NOT found)
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
    endif()
    if(NOT EXISTS "${found}/cuda_runtime_api.h")
        message(FATAL_ERROR
                "cuda_runtime_api.h not found: install a CUDA toolkit or the nvidia-cuda-runtime "
                "wheel listed in pyproject.toml, or set CYCLEWATCH_CUDA_INCLUDE_DIR")
    endif()
    message(STATUS "CUDA headers: ${found}")
    set(CYCLEWATCH_CUDA_INCLUDE_DIR "${found}" PARENT_SCOPE)
endfunction()
