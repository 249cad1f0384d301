// SPDX-License-Identifier: Apache-2.0
// A JSON document that was read. nlohmann's library parses it; the library's own document allocates
// where it is destroyed, and so ends a process that is out of memory. Never calls Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cyclewatch::base {

struct JsonMember;

// One value with all that it holds. Copies are deep.
class JsonValue {
  public:
    using List = std::vector<JsonValue>;
    using Object = std::vector<JsonMember>;  // in the order of the text
    // A whole number is std::uint64_t, or std::int64_t if it is negative.
    using Data = std::variant<std::monostate,
                              bool,
                              std::int64_t,
                              std::uint64_t,
                              double,
                              std::string,
                              List,
                              Object>;

    JsonValue();
    explicit JsonValue(Data data);
    JsonValue(const JsonValue&);
    JsonValue(JsonValue&&) noexcept;
    JsonValue& operator=(const JsonValue&);
    JsonValue& operator=(JsonValue&&) noexcept;
    ~JsonValue();

    [[nodiscard]] const Data& data() const noexcept { return data_; }
    // Null if it is something else.
    template <typename T>
    [[nodiscard]] const T* as() const noexcept {
        return std::get_if<T>(&data_);
    }
    // The value of that name, the last if there are several; null if there is none, or if this is
    // no object.
    [[nodiscard]] const JsonValue* find(std::string_view name) const noexcept;

  private:
    friend class JsonBuilder;

    Data data_;
};

struct JsonMember {
    std::string name;
    JsonValue value;
};

// Deeper than any report or configuration is.
inline constexpr std::size_t kMaxJsonDepth = 32;

struct JsonOutcome {
    enum class Error : std::uint8_t { none, syntax, number_too_large, too_deep };

    JsonValue value;
    Error error = Error::none;
    std::size_t position = 0;  // of the error: bytes read until then
    std::string near;          // what stands there
};

// ALLOCATES: yes, and throws std::bad_alloc; nothing else.
[[nodiscard]] JsonOutcome parse_json(std::string_view text);

}  // namespace cyclewatch::base
