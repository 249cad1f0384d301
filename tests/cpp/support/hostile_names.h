// SPDX-License-Identifier: Apache-2.0
// Names of types that try to attack the reader of a report.
#pragma once

#include <string>
#include <vector>

namespace cyclewatch::testing {

inline std::vector<std::string> hostile_names() {
    return {
        "</script><img src=x onerror=alert(1)>",
        "<!--<script>",
        "\" onload=\"alert(1)",
        "' onload='alert(1)",
        "` & ]]> <![CDATA[",
        "\xE2\x80\xAEgnp.exe\xE2\x81\xA6",  // right-to-left override
        "\x1b[2J\x1b]0;title\x07\r\n\b",    // terminal sequences
        std::string("nul\0byte", 8),
        "\xFF\xFE\xC0\xAF\xED\xA0\x80\xF8\x88\x80\x80\x80",  // not UTF-8
        std::string(10'000, 'A'),
        std::string(3'000, '\xCC') + std::string(3'000, '\x81'),
        "e" + std::string("\xCC\x81\xCC\x81\xCC\x81\xCC\x81"),  // stacked accents
        "\\N\\G\\l\\\"} digraph { a -> b",                      // DOT
        "<b>html-like</b>",
        "<<table><tr><td>x</td></tr></table>>",
        "%s%n%x",
        "",
    };
}

}  // namespace cyclewatch::testing
