// SPDX-License-Identifier: Apache-2.0
#include "render/json_renderer.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "render/report_fields.h"

namespace cyclewatch::render {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::string& text) {
    return text;
}
Json to_json(bool value) {
    return value;
}
Json to_json(int value) {
    return value;
}
Json to_json(std::int64_t value) {
    return value;
}
Json to_json(std::uint32_t value) {
    return value;
}
Json to_json(std::uint64_t value) {
    return value;
}
template <model::Worded E>
Json to_json(const E& value) {
    return model::word_of(value);
}
// JSON has no infinity; a time that is not a number says nothing anyway. Clocks have no more than
// microseconds to say, and further digits would be half of a large report.
Json to_json(double value) {
    constexpr double kExact = 1e9;  // beyond it, rounding would lose digits
    if (!std::isfinite(value)) {
        return 0.0;
    }
    return std::abs(value) < kExact ? std::round(value * 1e6) / 1e6 : value;
}
Json to_json(const std::map<std::string, std::uint64_t>& counts) {
    Json object = Json::object();
    for (const auto& [name, count] : counts) {
        object[name] = count;
    }
    return object;
}

template <typename T>
Json to_json(const T& fields);

template <typename T>
Json to_json(const std::vector<T>& items) {
    Json array = Json::array();
    for (const T& item : items) {
        array.push_back(to_json(item));
    }
    return array;
}

template <typename T>
Json to_json(const T& fields) {
    Json object = Json::object();
    auto write = [&object](const char* name, const auto& field) { object[name] = to_json(field); };
    visit_fields(write, fields);
    return object;
}

}  // namespace

std::string render_json(const model::Report& report, int indent) {
    Json document = Json::object();
    document["schema"] = kSchemaName;
    document["schema_version"] = model::kReportSchemaVersion;
    document.update(to_json(report));
    // `replace`: bytes that are not UTF-8 become U+FFFD instead of an exception.
    std::string text = document.dump(indent, ' ', true, Json::error_handler_t::replace);
    text += '\n';
    return text;
}

std::string render_script_safe_json(const model::Report& report) {
    const std::string plain = render_json(report, -1);
    std::string safe;
    safe.reserve(plain.size() + plain.size() / 16);
    for (const char c : plain) {
        // These three occur in JSON inside strings only, where a \u escape means the same.
        if (c == '<') {
            safe += "\\u003c";
        } else if (c == '>') {
            safe += "\\u003e";
        } else if (c == '&') {
            safe += "\\u0026";
        } else {
            safe += c;
        }
    }
    return safe;
}

}  // namespace cyclewatch::render
