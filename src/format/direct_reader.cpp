// SPDX-License-Identifier: Apache-2.0
#include "format/direct_reader.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "format/json_cursor.h"
#include "format/report_fields.h"

namespace cyclewatch::format {
namespace {

// Enough for most lists of references and owners, whose items take long to move.
constexpr std::size_t kExpectedItems = 4;

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
    if constexpr (HasFields<T>) {
        items.reserve(kExpectedItems);
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
    static constexpr std::size_t kSize = std::tuple_size_v<decltype(Fields<T>::list)>;
    static_assert(kSize < 64);

    struct Entry {
        std::string_view name;
        bool required = true;
        bool (*read_into)(Cursor&, T&) = nullptr;
    };

    template <std::size_t... kAt>
    static constexpr std::array<Entry, kSize> make(std::index_sequence<kAt...>) {
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

    static constexpr std::array<Entry, kSize> kEntries = make(std::make_index_sequence<kSize>());

    // Returns `kSize` if there is no such field. Starts at `expected`, because the fields of a
    // report have the order of the table.
    static std::size_t find(std::string_view name, std::size_t expected) {
        for (std::size_t i = 0; i < kSize; ++i) {
            const std::size_t at = (expected + i) % kSize;
            if (kEntries[at].name == name) {
                return at;
            }
        }
        return kSize;
    }

    static constexpr std::uint64_t required() {
        std::uint64_t bits = 0;
        for (std::size_t at = 0; at < kSize; ++at) {
            bits |= std::uint64_t{kEntries[at].required} << at;
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
        std::size_t at = expected;
        if (at == Table::kSize || !cursor.take_name(Table::kEntries[at].name)) {
            if (!cursor.take_plain(name) || !cursor.take(':')) {
                return false;
            }
            at = Table::find(name, expected);
        }
        if (at == Table::kSize) {
            if (!cursor.skip_value(0)) {
                return false;
            }
            continue;
        }
        const std::uint64_t bit = std::uint64_t{1} << at;
        if ((seen & bit) != 0 || !Table::kEntries[at].read_into(cursor, fields)) {
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

std::optional<std::vector<model::ProgramInfo>> read_processes(std::string_view start) {
    Cursor cursor(start);
    std::string_view name;
    std::optional<std::vector<model::ProgramInfo>> processes(std::in_place);
    if (!take_header(cursor) || !cursor.take_plain(name) || name != "processes" ||
        !cursor.take(':') || !read(cursor, *processes)) {
        processes.reset();
    }
    return processes;
}

std::optional<model::Report> read_directly(std::string_view text) {
    Cursor cursor(text);
    std::optional<model::Report> report(std::in_place);
    if (!take_header(cursor) || !read_members(cursor, *report) || !cursor.at_end()) {
        report.reset();
    }
    return report;
}

}  // namespace cyclewatch::format
