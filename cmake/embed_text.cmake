# SPDX-License-Identifier: Apache-2.0
# A file of the repository as text inside the library: nothing has to be found at run time.
include_guard()

# Writes `source`, which defines `std::string_view <function>()` as `header` declares it: the
# contents of `file`, byte for byte.
function(cyclewatch_embed_text file source header function)
    set(delimiter "cyclewatch_text")
    file(READ "${file}" text)
    string(FIND "${text}" ")${delimiter}\"" clash)
    if(NOT clash EQUAL -1)
        message(FATAL_ERROR "${file} holds the text that is to mark its end")
    endif()
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[// Made from a file of the repository; do not edit.
#include "@header@"

namespace cyclewatch::render {

std::string_view @function@() {
    return R"@delimiter@(@text@)@delimiter@";
}

}  // namespace cyclewatch::render
]])
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
endfunction()
