# SPDX-License-Identifier: Apache-2.0
# Embeds a file of the repository as text, so that nothing has to be found at run time.
include_guard()

# Writes `source`, which defines `std::string_view <function>()`, declared in `header`: the
# contents of `file`, byte for byte.
function(cyclewatch_embed_text file source header function)
    set(delimiter "cyclewatch_text")
    file(READ "${file}" text)
    string(FIND "${text}" ")${delimiter}\"" clash)
    if(NOT clash EQUAL -1)
        message(FATAL_ERROR "${file} contains the raw string delimiter")
    endif()
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[// Generated; do not edit.
#include "@header@"

namespace cyclewatch::render {

std::string_view @function@() {
    return R"@delimiter@(@text@)@delimiter@";
}

}  // namespace cyclewatch::render
]])
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
endfunction()
