// SPDX-License-Identifier: Apache-2.0
#include "render/json_reader.h"

#include <cmath>
#include <concepts>
#include <exception>
#include <limits>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "render/labels.h"
#include "render/report_fields.h"

namespace cyclewatch::render {
namespace {

using nlohmann::json;

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

// Accepts any value and remembers where the first syntax error stood.
class SyntaxCheck : public nlohmann::json_sax<json> {
  public:
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool key(string_t&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t position,
                     const std::string& token,
                     const nlohmann::detail::exception& error) override {
        position_ = position;
        near_ = token;
        out_of_range_ = dynamic_cast<const json::out_of_range*>(&error) != nullptr;
        return false;
    }

    [[nodiscard]] std::string describe(std::size_t offset, std::size_t size) const {
        if (out_of_range_) {
            return "the number ending at byte " + std::to_string(offset + position_) +
                   " is too large for any computer: the file is damaged";
        }
        if (position_ > size) {
            return "the file ends at byte " + std::to_string(offset + size) +
                   ", in the middle of the report: it was cut short";
        }
        return "not valid JSON at byte " + std::to_string(offset + position_) + ", near \"" +
               truncate_middle(clean_text(near_), 40) + "\"";
    }

  private:
    std::size_t position_ = 0;
    std::string near_;
    bool out_of_range_ = false;
};

std::string kind_of(const json& value) {
    switch (value.type()) {
        case json::value_t::null:
            return "null";
        case json::value_t::object:
            return "an object";
        case json::value_t::array:
            return "a list";
        case json::value_t::string:
            return "text";
        case json::value_t::boolean:
            return value.get<bool>() ? "true" : "false";
        case json::value_t::number_integer:
        case json::value_t::number_unsigned:
        case json::value_t::number_float:
            return "the number " + value.dump();
        default:
            return "something else";
    }
}

// Fills a report from parsed JSON; keeps the path of the field it is at, and the first error.
class Filler {
  public:
    template <typename T>
    void fill_object(const json& value, T& fields) {
        if (!value.is_object()) {
            expected("an object", value);
            return;
        }
        auto fill_field = [&](const char* name, auto& field) {
            if (error_) {
                return;
            }
            const Step step(path_, path_.empty() ? name : std::string(".") + name);
            const auto found = value.find(name);
            if (found == value.end()) {
                fail("this field is missing");
                return;
            }
            fill(*found, field);
        };
        visit_fields(fill_field, fields);
    }

    // What one part of a report says about another: arrows lead to items, records and sightings
    // belong to processes.
    void check_indexes(const model::Report& report) {
        if (report.processes.empty() && !error_) {
            error_ = "processes: a report is of one process at least, and this lists none";
        }
        check_arrows(report);
        check_processes(report.collections, "collections", report.processes.size());
        for (std::size_t f = 0; f < report.findings.size(); ++f) {
            check_processes(report.findings[f].sightings,
                            "findings[" + std::to_string(f) + "].sightings",
                            report.processes.size());
        }
    }

    [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

  private:
    void check_arrows(const model::Report& report) {
        for (std::size_t f = 0; f < report.findings.size(); ++f) {
            const model::Picture& picture = report.findings[f].picture;
            for (std::size_t a = 0; a < picture.arrows.size(); ++a) {
                const model::Picture::Arrow& arrow = picture.arrows[a];
                if (std::max(arrow.from, arrow.to) < picture.items.size()) {
                    continue;
                }
                const Step step(path_,
                                "findings[" + std::to_string(f) + "].picture.arrows[" +
                                    std::to_string(a) + "]");
                fail("it goes from item " + std::to_string(arrow.from) + " to item " +
                     std::to_string(arrow.to) + ", but there are only " +
                     std::to_string(picture.items.size()) + " items");
                return;
            }
        }
    }

    template <typename T>
    void check_processes(const std::vector<T>& items, const std::string& list, std::size_t known) {
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (items[i].process >= known) {
                const Step step(path_, list + "[" + std::to_string(i) + "].process");
                fail("it is of process " + std::to_string(items[i].process) +
                     ", but there are only " + std::to_string(known) + " processes");
                return;
            }
        }
    }

    // Extends the path for as long as it lives.
    class Step {
      public:
        Step(std::string& path, const std::string& part) : path_(path), length_(path.size()) {
            path_ += part;
        }
        Step(const Step&) = delete;
        Step& operator=(const Step&) = delete;
        ~Step() { path_.resize(length_); }

      private:
        std::string& path_;
        std::size_t length_;
    };

    void fail(const std::string& what) {
        if (!error_) {
            error_ = path_ + ": " + what;
        }
    }
    void expected(const std::string& what, const json& value) {
        fail("expected " + what + ", found " + truncate_end(kind_of(value), 60));
    }

    void fill(const json& value, std::string& text) {
        if (!value.is_string()) {
            expected("text", value);
            return;
        }
        text = value.get<std::string>();
    }
    template <model::Worded E>
    void fill(const json& value, E& choice) {
        std::string word;
        fill(value, word);
        const std::optional<E> known = model::from_word<E>(word);
        if (!known) {
            std::string words;
            for (const std::string_view one : model::words_of(E{})) {
                words.append(words.empty() ? "\"" : ", \"").append(one).append("\"");
            }
            fail("expected one of " + words + ", found \"" + truncate_middle(clean_text(word), 40) +
                 "\"");
            return;
        }
        choice = *known;
    }
    void fill(const json& value, bool& flag) {
        if (!value.is_boolean()) {
            expected("true or false", value);
            return;
        }
        flag = value.get<bool>();
    }
    void fill(const json& value, double& number) {
        if (!value.is_number()) {
            expected("a number", value);
            return;
        }
        number = value.get<double>();
    }
    template <std::integral T>
    void fill(const json& value, T& number) {
        const bool fits =
            value.is_number_unsigned()
                ? std::in_range<T>(value.get<std::uint64_t>())
                : value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
        if (!fits) {
            expected("a whole number from " + std::to_string(std::numeric_limits<T>::min()) +
                         " to " + std::to_string(std::numeric_limits<T>::max()),
                     value);
            return;
        }
        number = value.get<T>();
    }
    void fill(const json& value, std::map<std::string, std::uint64_t>& counts) {
        if (!value.is_object()) {
            expected("an object", value);
            return;
        }
        for (const auto& [name, count] : value.items()) {
            const Step step(path_, "[\"" + truncate_middle(clean_text(name), 40) + "\"]");
            fill(count, counts[name]);
        }
    }
    template <typename T>
    void fill(const json& value, std::vector<T>& items) {
        if (!value.is_array()) {
            expected("a list", value);
            return;
        }
        items.reserve(value.size());
        for (std::size_t i = 0; i < value.size() && !error_; ++i) {
            const Step step(path_, "[" + std::to_string(i) + "]");
            fill(value[i], items.emplace_back());
        }
    }
    template <typename T>
    void fill(const json& value, T& fields) {
        fill_object(value, fields);
    }

    std::string path_;
    std::optional<std::string> error_;
};

// Empty if the document says it is a report that this version can read.
std::string check_header(const json& document) {
    if (!document.is_object()) {
        return "not a cyclewatch report: the file holds " + truncate_end(kind_of(document), 60) +
               " where a report holds an object";
    }
    const auto schema = document.find("schema");
    if (schema == document.end() || !schema->is_string() || *schema != kSchemaName) {
        return "not a cyclewatch report: it has no \"schema\": \"cyclewatch-report\"";
    }
    const auto version = document.find("schema_version");
    if (version == document.end() || !version->is_number_integer() || *version < 1) {
        return "schema_version: expected a whole number from 1 upwards, found " +
               (version == document.end() ? "nothing" : truncate_end(kind_of(*version), 60));
    }
    if (*version > model::kReportSchemaVersion) {
        return "schema_version: this report is of version " + version->dump() +
               ", this cyclewatch reads up to version " +
               std::to_string(model::kReportSchemaVersion) + ": read it with a newer cyclewatch";
    }
    return {};
}

base::Result<model::Report> read(std::string_view text, std::size_t offset) {
    if (const auto deep = find_too_deep(text)) {
        return base::Error{"nested more than " + std::to_string(kMaxJsonDepth) +
                           " levels deep at byte " + std::to_string(offset + *deep) +
                           ": not a cyclewatch report"};
    }
    SyntaxCheck check;
    if (!json::sax_parse(text, &check)) {
        return base::Error{check.describe(offset, text.size())};
    }
    const json document = json::parse(text);
    if (const std::string problem = check_header(document); !problem.empty()) {
        return base::Error{problem};
    }
    model::Report report;
    Filler filler;
    filler.fill_object(document, report);
    filler.check_indexes(report);
    if (filler.error()) {
        return base::Error{*filler.error()};
    }
    return report;
}

}  // namespace

base::Result<model::Report> read_json_report(std::string_view text, std::size_t offset) noexcept {
    try {
        return read(text, offset);
    } catch (const std::bad_alloc&) {
        return base::Error{"out of memory while reading the report"};
    } catch (const std::exception& error) {
        return base::Error{std::string("the report cannot be read: ") +
                           truncate_end(clean_text(error.what()), 200)};
    }
}

}  // namespace cyclewatch::render
