// SPDX-License-Identifier: Apache-2.0
#include "format/direct_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "format/report_fields.h"

namespace cyclewatch::format {
namespace {

// Levels in a field that this version does not know.
constexpr int kMaxUnknownDepth = 8;

// The characters of a string that are copied unchanged: printable ASCII.
constexpr std::array<bool, 256> kPlain = [] {
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
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
            ++at_;
        }
    }

    void skip_plain() {
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

bool read(Cursor& cursor, std::string& text) {
    return cursor.take_string(text);
}

bool read(Cursor& cursor, bool& flag) {
    flag = cursor.take_word("true");
    return flag || cursor.take_word("false");
}

template <typename T>
requires std::integral<T> || std::floating_point<T>
bool read(Cursor& cursor, T& number) {
    return cursor.take_number(number);
}

template <model::Worded E>
bool read(Cursor& cursor, E& choice) {
    std::string_view word;
    if (!cursor.take_plain(word)) {
        return false;
    }
    const std::optional<E> known = model::from_word<E>(word);
    choice = known.value_or(E{});
    return known.has_value();
}

bool read(Cursor& cursor, std::map<std::string, std::uint64_t>& counts) {
    if (!cursor.take('{')) {
        return false;
    }
    if (cursor.take('}')) {
        return true;
    }
    std::string name;
    do {
        if (!cursor.take_string(name) || !cursor.take(':')) {
            return false;
        }
        const auto [entry, added] = counts.try_emplace(name);
        if (!added || !read(cursor, entry->second)) {
            return false;
        }
    } while (cursor.take(','));
    return cursor.take('}');
}

template <HasFields T>
bool read(Cursor& cursor, T& fields);

template <typename T>
bool read(Cursor& cursor, std::vector<T>& items) {
    if (!cursor.take('[')) {
        return false;
    }
    if (cursor.take(']')) {
        return true;
    }
    do {
        if constexpr (std::is_class_v<T>) {
            if (!read(cursor, items.emplace_back())) {
                return false;
            }
        } else {
            T item{};
            if (!read(cursor, item)) {
                return false;
            }
            items.push_back(item);
        }
    } while (cursor.take(','));
    return cursor.take(']');
}

template <typename T>
bool read(Cursor& cursor, std::optional<T>& value) {
    return read(cursor, value.emplace());
}

// The fields of T by their position in Fields<T>::list.
template <typename T>
struct FieldTable {
    static constexpr std::size_t size = std::tuple_size_v<decltype(Fields<T>::list)>;
    static_assert(size < 64);

    struct Entry {
        std::string_view name;
        bool required = true;
        bool (*read_into)(Cursor&, T&) = nullptr;
    };

    template <std::size_t... kAt>
    static constexpr std::array<Entry, size> make(std::index_sequence<kAt...>) {
        return {entry<kAt>()...};
    }

    template <std::size_t kAt>
    static constexpr Entry entry() {
        using Field = std::tuple_element_t<kAt, std::remove_const_t<decltype(Fields<T>::list)>>;
        using Member = ValueOf<Field::member>;
        return {std::get<kAt>(Fields<T>::list).name,
                !kIsOptional<Member>,
                [](Cursor& cursor, T& object) { return read(cursor, object.*Field::member); }};
    }

    static constexpr std::array<Entry, size> entries = make(std::make_index_sequence<size>());

    // Returns `size` if there is no such field. Starts at `expected`, because the fields of a
    // report have the order of the table.
    static std::size_t find(std::string_view name, std::size_t expected) {
        for (std::size_t i = 0; i < size; ++i) {
            const std::size_t at = (expected + i) % size;
            if (entries[at].name == name) {
                return at;
            }
        }
        return size;
    }

    static constexpr std::uint64_t required() {
        std::uint64_t bits = 0;
        for (std::size_t at = 0; at < size; ++at) {
            bits |= std::uint64_t{entries[at].required} << at;
        }
        return bits;
    }
};

// Reads the members of an object whose opening brace, and members that are not fields of T, have
// been read.
template <HasFields T>
bool read_members(Cursor& cursor, T& fields) {
    using Table = FieldTable<T>;
    std::uint64_t seen = 0;
    std::size_t expected = 0;
    do {
        std::string_view name;
        if (!cursor.take_plain(name) || !cursor.take(':')) {
            return false;
        }
        const std::size_t at = Table::find(name, expected);
        if (at == Table::size) {
            if (!cursor.skip_value(0)) {
                return false;
            }
            continue;
        }
        const std::uint64_t bit = std::uint64_t{1} << at;
        if ((seen & bit) != 0 || !Table::entries[at].read_into(cursor, fields)) {
            return false;
        }
        seen |= bit;
        expected = at + 1;
    } while (cursor.take(','));
    return cursor.take('}') && (seen & Table::required()) == Table::required();
}

template <HasFields T>
bool read(Cursor& cursor, T& fields) {
    return cursor.take('{') && read_members(cursor, fields);
}

bool take_header(Cursor& cursor) {
    std::string_view name;
    std::string_view schema;
    int version = 0;
    return cursor.take('{') && cursor.take_plain(name) && name == "schema" && cursor.take(':') &&
           cursor.take_plain(schema) && schema == kSchemaName && cursor.take(',') &&
           cursor.take_plain(name) && name == "schema_version" && cursor.take(':') &&
           read(cursor, version) && version == model::kReportSchemaVersion && cursor.take(',');
}

}  // namespace

std::optional<model::Report> read_directly(std::string_view text) {
    Cursor cursor(text);
    std::optional<model::Report> report(std::in_place);
    if (!take_header(cursor) || !read_members(cursor, *report) || !cursor.at_end()) {
        report.reset();
    }
    return report;
}

}  // namespace cyclewatch::format
