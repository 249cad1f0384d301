// SPDX-License-Identifier: Apache-2.0
// Reads the tokens of a JSON text without building a document. For direct_reader.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

namespace cyclewatch::format {

// Levels in a field that this version does not know.
inline constexpr int kMaxUnknownDepth = 8;

// The characters of a string that are copied unchanged: printable ASCII.
inline constexpr std::array<bool, 256> kPlain = [] {
    std::array<bool, 256> plain{};
    for (std::size_t c = 0x20; c < 0x7F; ++c) {
        plain[c] = c != '"' && c != '\\';
    }
    return plain;
}();

// All functions return false if the text is not as expected. Reading must then stop.
class Cursor {
  public:
    explicit Cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    bool at_end() {
        skip_space();
        return at_ == end_;
    }

    bool take(char expected) {
        skip_space();
        if (at_ == end_ || *at_ != expected) {
            return false;
        }
        ++at_;
        return true;
    }

    // Takes the name of a member and its colon.
    bool take_name(std::string_view name) {
        skip_space();
        const std::string_view rest(at_, end_);
        if (rest.size() < name.size() + 2 || rest[0] != '"' || rest[name.size() + 1] != '"' ||
            rest.substr(1, name.size()) != name) {
            return false;
        }
        at_ += name.size() + 2;
        return take(':');
    }

    // Takes a string without escapes.
    bool take_plain(std::string_view& contents) {
        if (!take('"')) {
            return false;
        }
        const char* const start = at_;
        skip_plain();
        contents = {start, static_cast<std::size_t>(at_ - start)};
        return at_ != end_ && *at_++ == '"';
    }

    bool take_string(std::string& contents) {
        if (!take('"')) {
            return false;
        }
        const char* const start = at_;
        skip_plain();
        if (at_ != end_ && *at_ == '"') {
            contents.assign(start, at_++);
            return true;
        }
        return take_escaped(start, contents);
    }

    bool take_word(std::string_view word) {
        skip_space();
        if (!std::string_view(at_, end_).starts_with(word)) {
            return false;
        }
        at_ += word.size();
        return true;
    }

    template <typename T>
    bool take_number(T& number) {
        std::string_view digits;
        if (!take_digits(digits, std::integral<T>)) {
            return false;
        }
        const char* const end = digits.data() + digits.size();
        const auto [parsed, error] = std::from_chars(digits.data(), end, number);
        return parsed == end && error == std::errc{};
    }

    bool skip_value(int depth) {
        skip_space();
        if (at_ == end_ || depth > kMaxUnknownDepth) {
            return false;
        }
        std::string text;
        double number = 0;
        switch (*at_) {
            case '"':
                return take_string(text);
            case '{':
                return skip_members('{', '}', depth);
            case '[':
                return skip_members('[', ']', depth);
            case 't':
                return take_word("true");
            case 'f':
                return take_word("false");
            case 'n':
                return take_word("null");
            default:
                return take_number(number);  // no document has a number that is out of range
        }
    }

  private:
    void skip_space() {
        // Most of an indented report is indentation.
        constexpr std::string_view kIndentation = "        ";
        if (at_ != end_ && *at_ == '\n') {
            ++at_;
            while (std::string_view(at_, end_).starts_with(kIndentation)) {
                at_ += kIndentation.size();
            }
        }
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
            ++at_;
        }
    }

    void skip_plain() {
        // Eight characters at a time. The arithmetic may only mistake a character for a special
        // one, and that is checked below.
        constexpr std::uint64_t kEach = 0x0101010101010101;
        constexpr std::uint64_t kHigh = 0x80 * kEach;
        while (end_ - at_ >= 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, at_, sizeof(word));
            const std::uint64_t quote = word ^ ('"' * kEach);
            const std::uint64_t backslash = word ^ ('\\' * kEach);
            const std::uint64_t special = (word - 0x20 * kEach) | (word + kEach) | (quote - kEach) |
                                          (backslash - kEach) | word;
            if ((special & kHigh) != 0) {
                break;
            }
            at_ += sizeof(word);
        }
        while (at_ != end_ && kPlain[static_cast<unsigned char>(*at_)]) {
            ++at_;
        }
    }

    bool skip_if(std::string_view characters) {
        const bool found = at_ != end_ && characters.find(*at_) != std::string_view::npos;
        at_ += found ? 1 : 0;
        return found;
    }

    bool skip_digits() {
        const char* const start = at_;
        while (at_ != end_ && *at_ >= '0' && *at_ <= '9') {
            ++at_;
        }
        return at_ != start;
    }

    // Takes a number in the syntax of JSON, which is narrower than that of from_chars().
    bool take_digits(std::string_view& digits, bool integer) {
        skip_space();
        const char* const start = at_;
        skip_if("-");
        if (!skip_if("0") && !skip_digits()) {
            return false;
        }
        if (!integer) {
            if (skip_if(".") && !skip_digits()) {
                return false;
            }
            if (skip_if("eE")) {
                skip_if("+-");
                if (!skip_digits()) {
                    return false;
                }
            }
        }
        digits = {start, static_cast<std::size_t>(at_ - start)};
        return true;
    }

    // The rest of a string that started at `start` and contains escapes.
    bool take_escaped(const char* start, std::string& contents) {
        while (at_ != end_ && *at_ == '\\' && end_ - at_ > 1) {
            at_ += 2;
            skip_plain();
        }
        if (at_ == end_ || *at_ != '"') {
            return false;
        }
        ++at_;
        const auto text = nlohmann::json::parse(start - 1, at_, nullptr, false);
        if (!text.is_string()) {
            return false;
        }
        text.get_to(contents);
        return true;
    }

    bool skip_members(char open, char close, int depth) {
        if (!take(open)) {
            return false;
        }
        if (take(close)) {
            return true;
        }
        std::string name;
        do {
            if (open == '{' && !(take_string(name) && take(':'))) {
                return false;
            }
            if (!skip_value(depth + 1)) {
                return false;
            }
        } while (take(','));
        return take(close);
    }

    const char* at_;
    const char* end_;
};

}  // namespace cyclewatch::format
