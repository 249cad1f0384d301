// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace cyclewatch::base {
namespace {

// Where the first bracket over the limit stands. Looked for before parsing, because a parser
// is the wrong place to find out that a file is hostile.
std::optional<std::size_t> find_too_deep(std::string_view text) {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kMaxJsonDepth) {
                return i;
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
    }
    return std::nullopt;
}

}  // namespace

JsonValue::JsonValue() = default;
JsonValue::JsonValue(Data data) : data_(std::move(data)) {}
JsonValue::JsonValue(const JsonValue&) = default;
JsonValue::JsonValue(JsonValue&&) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue&) = default;
JsonValue& JsonValue::operator=(JsonValue&&) noexcept = default;
JsonValue::~JsonValue() = default;

const JsonValue* JsonValue::find(std::string_view name) const noexcept {
    const Object* const members = as<Object>();
    if (members == nullptr) {
        return nullptr;
    }
    const auto last =
        std::find_if(members->rbegin(), members->rend(), [name](const JsonMember& member) {
            return member.name == name;
        });
    return last != members->rend() ? &last->value : nullptr;
}

// Makes values of what the parser meets, one event after the other.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit JsonBuilder(JsonOutcome& outcome) : outcome_(outcome) {}

    bool null() override { return put({}); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(std::int64_t{value}); }
    bool number_unsigned(number_unsigned_t value) override { return put(std::uint64_t{value}); }
    bool number_float(number_float_t value, const string_t& /*text*/) override {
        return put(value);
    }
    bool string(string_t& value) override { return put(std::move(value)); }
    bool binary(binary_t& /*value*/) override { return false; }
    bool start_object(std::size_t /*size*/) override { return open(JsonValue::Object()); }
    bool start_array(std::size_t /*size*/) override { return open(JsonValue::List()); }
    bool key(string_t& name) override {
        std::get<JsonValue::Object>(open_.back()->data_).push_back({std::move(name), JsonValue()});
        return true;
    }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t position,
                     const std::string& token,
                     const nlohmann::detail::exception& error) override {
        const bool large = dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr;
        outcome_.error = large ? JsonOutcome::Error::number_too_large : JsonOutcome::Error::syntax;
        outcome_.position = position;
        outcome_.near = token;
        return false;
    }

  private:
    // Where the next value belongs. What it points to moves when its list grows, which is only
    // while none of the values within is open.
    JsonValue& next() {
        if (open_.empty()) {
            return outcome_.value;
        }
        JsonValue::Data& holder = open_.back()->data_;
        if (auto* const list = std::get_if<JsonValue::List>(&holder)) {
            return list->emplace_back();
        }
        return std::get<JsonValue::Object>(holder).back().value;
    }
    bool put(JsonValue::Data data) {
        next().data_ = std::move(data);
        return true;
    }
    bool open(JsonValue::Data data) {
        JsonValue& value = next();
        value.data_ = std::move(data);
        open_.push_back(&value);
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    JsonOutcome& outcome_;
    std::vector<JsonValue*> open_;  // the lists and objects around the next value, outermost first
};

JsonOutcome parse_json(std::string_view text) {
    JsonOutcome outcome;
    if (const auto deep = find_too_deep(text)) {
        outcome.error = JsonOutcome::Error::too_deep;
        outcome.position = *deep;
        return outcome;
    }
    JsonBuilder builder(outcome);
    (void)nlohmann::json::sax_parse(text, &builder);
    return outcome;
}

}  // namespace cyclewatch::base
