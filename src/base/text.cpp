// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace cyclewatch::base {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::string_view kEllipsis = "...";

struct Range {
    char32_t first;
    char32_t last;
};

// Characters that are invisible or change how adjacent text is displayed.
constexpr std::array kHidden{
    Range{0x0000, 0x001F},    // C0 controls, including ESC
    Range{0x007F, 0x009F},    // DEL and C1 controls
    Range{0x00AD, 0x00AD},    // soft hyphen
    Range{0x061C, 0x061C},    // Arabic letter mark
    Range{0x115F, 0x1160},    // Hangul fillers: letters that render as blanks
    Range{0x180E, 0x180E},    // Mongolian vowel separator
    Range{0x200B, 0x200F},    // zero-width characters and directional marks
    Range{0x2028, 0x202E},    // line and paragraph separators, directional embeddings
    Range{0x2060, 0x206F},    // word joiner, directional isolates
    Range{0x3164, 0x3164},    // Hangul filler
    Range{0xFDD0, 0xFDEF},    // noncharacters
    Range{0xFEFF, 0xFEFF},    // byte order mark
    Range{0xFFA0, 0xFFA0},    // halfwidth Hangul filler
    Range{0xFFF9, 0xFFFB},    // interlinear annotation
    Range{0xE0000, 0xE0FFF},  // tags and variation selectors
};

constexpr std::array kWide{
    Range{0x1100, 0x115E},
    Range{0x2E80, 0x303E},
    Range{0x3041, 0xA4CF},
    Range{0xAC00, 0xD7A3},
    Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},
    Range{0xFF00, 0xFF60},
    Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F},
    Range{0x1F680, 0x1F6FF},
    Range{0x1F900, 0x1F9FF},
    Range{0x20000, 0x3FFFD},
};

template <std::size_t N>
bool in_any(char32_t c, const std::array<Range, N>& ranges) {
    return std::any_of(
        ranges.begin(), ranges.end(), [c](Range r) { return c >= r.first && c <= r.last; });
}

bool is_hidden(char32_t c) {
    return in_any(c, kHidden) || (c & 0xFFFE) == 0xFFFE;
}

// Decodes one character and advances `at` past it. An invalid byte decodes to U+FFFD.
char32_t next_character(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(at);
    const std::size_t length = lead < 0x80             ? 1
                               : (lead & 0xE0) == 0xC0 ? 2
                               : (lead & 0xF0) == 0xE0 ? 3
                               : (lead & 0xF8) == 0xF0 ? 4
                                                       : 0;
    if (length == 1) {
        return text[at++] & 0x7F;
    }
    if (length == 0 || at + length > text.size()) {
        ++at;
        return kReplacement;
    }
    char32_t c = lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xC0) != 0x80) {
            ++at;
            return kReplacement;
        }
        c = (c << 6) | (byte(at + i) & 0x3FU);
    }
    static constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
    if (c < kLeast[length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
        ++at;
        return kReplacement;
    }
    at += length;
    return c;
}

std::size_t columns_of(char32_t c) {
    return in_any(c, kWide) ? 2 : 1;
}

// Start of the longest suffix that fits into `width` columns.
std::size_t suffix_start(std::string_view text, std::size_t width) {
    std::size_t at = text.size();
    std::size_t used = 0;
    while (at > 0) {
        std::size_t start = at - 1;
        while (start > 0 && is_continuation(text[start])) {
            --start;
        }
        std::size_t next = start;
        used += columns_of(next_character(text, next));
        if (used > width) {
            break;
        }
        at = start;
    }
    return at;
}

std::string escape_with(std::string_view text, std::string_view (*replace)(char)) {
    const std::string clean = clean_text(text);
    std::string out;
    out.reserve(clean.size());
    for (const char c : clean) {
        const std::string_view replacement = replace(c);
        if (replacement.empty()) {
            out += c;
        } else {
            out += replacement;
        }
    }
    return out;
}

// Uses std::to_chars, because printf uses the decimal point of the host's locale.
std::string fixed(double value, int digits) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(
        text.data(), text.data() + text.size(), value, std::chars_format::fixed, digits);
    return end.ec == std::errc{} ? std::string(text.data(), end.ptr) : std::string("?");
}

}  // namespace

std::string clean_text(std::string_view text) {
    static constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";
    std::string out;
    out.reserve(text.size());
    std::size_t at = 0;
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    while (at < text.size()) {
        const std::size_t start = at;
        while (at < text.size() && is_printable(text[at])) {  // nearly all of a path
            ++at;
        }
        out += text.substr(start, at - start);
        if (at == text.size()) {
            break;
        }
        const std::size_t other = at;
        const char32_t c = next_character(text, at);
        if (c == U'\n' || c == U'\r' || c == U'\t') {
            out += ' ';
        } else if (c == kReplacement || is_hidden(c)) {
            out += kReplacementBytes;
        } else {
            out += text.substr(other, at - other);
        }
    }
    return out;
}

std::size_t text_width(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t at = 0; at < text.size();) {
        width += columns_of(next_character(text, at));
    }
    return width;
}

std::size_t prefix_bytes(std::string_view text, std::size_t width) {
    std::size_t at = 0;
    std::size_t used = 0;
    while (at < text.size()) {
        std::size_t next = at;
        used += columns_of(next_character(text, next));
        if (used > width) {
            break;
        }
        at = next;
    }
    return at;
}

std::string truncate_end(std::string_view text, std::size_t width) {
    if (prefix_bytes(text, width) == text.size()) {
        return std::string(text);
    }
    const std::size_t room = width - std::min(width, kEllipsis.size());
    return std::string(text.substr(0, prefix_bytes(text, room))) +
           std::string(kEllipsis.substr(0, width));
}

std::string truncate_middle(std::string_view text, std::size_t width) {
    if (prefix_bytes(text, width) == text.size()) {
        return std::string(text);
    }
    const std::size_t room = width - std::min(width, kEllipsis.size());
    const std::size_t tail = room / 2;
    return std::string(text.substr(0, prefix_bytes(text, room - tail))) +
           std::string(kEllipsis.substr(0, width)) +
           std::string(text.substr(suffix_start(text, tail)));
}

std::vector<std::string> wrap_text(std::string_view text,
                                   std::size_t width,
                                   std::size_t max_lines) {
    std::vector<std::string> lines(1);
    std::size_t used = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string word = truncate_middle(text.substr(at, end - at), width);
        at = end + 1;
        if (word.empty()) {
            continue;
        }
        const std::size_t columns = text_width(word);
        if (used > 0 && used + 1 + columns > width) {
            if (lines.size() == max_lines) {
                lines.back() = truncate_end(lines.back(), width - 4) + " ...";
                return lines;
            }
            lines.emplace_back();
            used = 0;
        }
        if (used > 0) {
            lines.back() += ' ';
            ++used;
        }
        lines.back() += word;
        used += columns;
    }
    return lines;
}

std::string escape_markup(std::string_view text) {
    return escape_with(text, [](char c) -> std::string_view {
        switch (c) {
            case '&':
                return "&amp;";
            case '<':
                return "&lt;";
            case '>':
                return "&gt;";
            case '"':
                return "&quot;";
            case '\'':
                return "&#39;";
            case '`':  // quotes attributes in old browsers
                return "&#96;";
            default:
                return {};
        }
    });
}

std::string escape_dot_label(std::string_view text) {
    return escape_with(text, [](char c) -> std::string_view {
        switch (c) {
            case '\\':
                return "\\\\";
            case '&':
                return "&amp;";
            default:
                return {};
        }
    });
}

std::string shown_name(std::string_view text) {
    return truncate_middle(clean_text(text), kMaxNameColumns);
}

std::string format_duration(double seconds) {
    if (!std::isfinite(seconds) || seconds <= 0) {
        return "0 s";
    }
    if (seconds < 0.01) {
        return fixed(seconds * 1e3, 1) + " ms";
    }
    if (seconds < 0.9995) {
        return fixed(seconds * 1e3, 0) + " ms";
    }
    if (seconds < 120) {
        return fixed(seconds, 1) + " s";
    }
    if (seconds < 7200) {
        return fixed(seconds / 60, 0) + " min";
    }
    if (seconds < 48 * 3600.0) {
        return fixed(seconds / 3600, 1) + " h";
    }
    return seconds < 1e12 ? fixed(seconds / 86400, 0) + " days" : "ages";
}

std::string format_count(std::uint64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        text += i == 0 ? "" : i + 1 == words.size() ? " and " : ", ";
        text += words[i];
    }
    return text;
}

std::string counted(std::uint64_t count, std::string_view singular, std::string_view plural) {
    std::string text = format_count(count) + " ";
    if (count == 1) {
        return text.append(singular);
    }
    return plural.empty() ? text.append(singular).append("s") : text.append(plural);
}

std::string format_percent(double share) {
    if (!std::isfinite(share) || share <= 0) {
        return "0 %";
    }
    const double percent = share * 100;
    if (percent < 0.01) {
        return "under 0.01 %";
    }
    if (percent > 1000) {
        return "over 1000 %";
    }
    return fixed(percent, percent < 1 ? 2 : percent < 10 ? 1 : 0) + " %";
}

std::string format_bytes(std::uint64_t bytes) {
    static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        return std::to_string(bytes) + " B";
    }
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    // 1023.5 would be printed as "1024", so use the next unit if rounding gives four digits.
    while (value >= 1023.5 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    return fixed(value, value < 99.95 ? 1 : 0) + " " + kUnits[unit];
}

}  // namespace cyclewatch::base
