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
#include <variant>
#include <vector>

#include "base/json_value.h"
#include "render/labels.h"
#include "render/report_fields.h"

namespace cyclewatch::render {
namespace {

using base::JsonValue;

std::string describe(const base::JsonOutcome& outcome, std::size_t offset, std::size_t size) {
    using Error = base::JsonOutcome::Error;
    const std::string place = "byte " + std::to_string(offset + outcome.position);
    if (outcome.error == Error::too_deep) {
        return "nested more than " + std::to_string(base::kMaxJsonDepth) + " levels deep at " +
               place + ": not a cyclewatch report";
    }
    if (outcome.error == Error::number_too_large) {
        return "the number ending at " + place +
               " is too large for any computer: the file is damaged";
    }
    if (outcome.position > size) {
        return "the file ends at byte " + std::to_string(offset + size) +
               ", in the middle of the report: it was cut short";
    }
    return "not valid JSON at " + place + ", near \"" +
           truncate_middle(clean_text(outcome.near), 40) + "\"";
}

struct KindWords {
    std::string operator()(std::monostate /*nothing*/) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(const std::string& /*text*/) const { return "text"; }
    std::string operator()(const JsonValue::List& /*items*/) const { return "a list"; }
    std::string operator()(const JsonValue::Object& /*members*/) const { return "an object"; }
    // A number, as it would stand in a file.
    template <typename T>
    std::string operator()(const T& value) const {
        return "the number " + nlohmann::json(value).dump();
    }
};

std::string kind_of(const JsonValue& value) {
    return std::visit(KindWords{}, value.data());
}

// Fills a report from parsed JSON; keeps the path of the field it is at, and the first error.
class Filler {
  public:
    template <typename T>
    void fill_object(const JsonValue& value, T& fields) {
        if (value.as<JsonValue::Object>() == nullptr) {
            expected("an object", value);
            return;
        }
        auto fill_field = [&](const char* name, auto& field) {
            if (error_) {
                return;
            }
            const Step step(path_, path_.empty() ? name : std::string(".") + name);
            const JsonValue* const found = value.find(name);
            if (found == nullptr) {
                if (!may_be_missing(fields, name)) {
                    fail("this field is missing");
                }
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

    template <typename T>
    static bool may_be_missing(T& /*fields*/, std::string_view /*name*/) {
        return false;
    }
    // Fields that the first files did not have.
    static bool may_be_missing(model::Finding& finding, std::string_view name) {
        if (name == "attributed_bytes") {
            finding.attributed_bytes = finding.held_bytes;  // which comes before it
        }
        return name == "attributed_bytes" || name == "shared_with" || name == "variants" ||
               name == "omitted_variants" || name == "omitted_cuts";
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
    void expected(const std::string& what, const JsonValue& value) {
        fail("expected " + what + ", found " + truncate_end(kind_of(value), 60));
    }

    void fill(const JsonValue& value, std::string& text) {
        const auto* const found = value.as<std::string>();
        if (found == nullptr) {
            expected("text", value);
            return;
        }
        text = *found;
    }
    template <model::Worded E>
    void fill(const JsonValue& value, E& choice) {
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
    void fill(const JsonValue& value, bool& flag) {
        const auto* const found = value.as<bool>();
        if (found == nullptr) {
            expected("true or false", value);
            return;
        }
        flag = *found;
    }
    void fill(const JsonValue& value, double& number) {
        if (const auto* const real = value.as<double>()) {
            number = *real;
        } else if (const auto* const whole = value.as<std::uint64_t>()) {
            number = static_cast<double>(*whole);
        } else if (const auto* const negative = value.as<std::int64_t>()) {
            number = static_cast<double>(*negative);
        } else {
            expected("a number", value);
        }
    }
    template <std::integral T>
    void fill(const JsonValue& value, T& number) {
        const auto* const whole = value.as<std::uint64_t>();
        const auto* const negative = value.as<std::int64_t>();
        if (whole != nullptr && std::in_range<T>(*whole)) {
            number = static_cast<T>(*whole);
        } else if (negative != nullptr && std::in_range<T>(*negative)) {
            number = static_cast<T>(*negative);
        } else {
            expected("a whole number from " + std::to_string(std::numeric_limits<T>::min()) +
                         " to " + std::to_string(std::numeric_limits<T>::max()),
                     value);
        }
    }
    void fill(const JsonValue& value, std::map<std::string, std::uint64_t>& counts) {
        const auto* const members = value.as<JsonValue::Object>();
        if (members == nullptr) {
            expected("an object", value);
            return;
        }
        for (const auto& [name, count] : *members) {
            const Step step(path_, "[\"" + truncate_middle(clean_text(name), 40) + "\"]");
            fill(count, counts[name]);
        }
    }
    // Sightings as a packed page has them: each field once, with the list of its values.
    template <typename T>
    void fill_columns(const JsonValue& value, std::vector<T>& items) {
        std::vector<const JsonValue::List*> columns;
        auto find_column = [&](const char* name, const auto& /*field*/) {
            const Step step(path_, std::string(".") + name);
            const JsonValue* const found = value.find(name);
            columns.push_back(found == nullptr ? nullptr : found->as<JsonValue::List>());
            if (found == nullptr) {
                fail("this field is missing");
            } else if (columns.back() == nullptr) {
                expected("a list", *found);
            } else if (!error_ && columns.back()->size() != columns.front()->size()) {
                fail("expected " + std::to_string(columns.front()->size()) +
                     " values, as the first field has, found " +
                     std::to_string(columns.back()->size()));
            }
        };
        const T any{};
        visit_fields(find_column, any);
        if (error_) {
            return;
        }
        items.resize(columns.front()->size());
        for (std::size_t i = 0; i < items.size() && !error_; ++i) {
            std::size_t at = 0;
            auto fill_field = [&](const char* name, auto& field) {
                if (!error_) {
                    const Step step(path_, "." + std::string(name) + "[" + std::to_string(i) + "]");
                    fill((*columns[at++])[i], field);
                }
            };
            visit_fields(fill_field, items[i]);
        }
    }
    template <typename T>
    void fill(const JsonValue& value, std::vector<T>& items) {
        if constexpr (std::same_as<T, model::Sighting>) {
            if (value.as<JsonValue::Object>() != nullptr) {
                fill_columns(value, items);
                return;
            }
        }
        const auto* const list = value.as<JsonValue::List>();
        if (list == nullptr) {
            expected("a list", value);
            return;
        }
        items.reserve(list->size());
        for (std::size_t i = 0; i < list->size() && !error_; ++i) {
            const Step step(path_, "[" + std::to_string(i) + "]");
            fill((*list)[i], items.emplace_back());
        }
    }
    template <typename T>
    void fill(const JsonValue& value, T& fields) {
        fill_object(value, fields);
    }

    std::string path_;
    std::optional<std::string> error_;
};

// Empty if the document says it is a report that this version can read.
std::string check_header(const JsonValue& document) {
    if (document.as<JsonValue::Object>() == nullptr) {
        return "not a cyclewatch report: the file holds " + truncate_end(kind_of(document), 60) +
               " where a report holds an object";
    }
    const JsonValue* const schema = document.find("schema");
    const auto* const name = schema != nullptr ? schema->as<std::string>() : nullptr;
    if (name == nullptr || *name != kSchemaName) {
        return "not a cyclewatch report: it has no \"schema\": \"cyclewatch-report\"";
    }
    const JsonValue* const version = document.find("schema_version");
    const auto* const number = version != nullptr ? version->as<std::uint64_t>() : nullptr;
    if (number == nullptr || *number < 1) {
        return "schema_version: expected a whole number from 1 upwards, found " +
               (version == nullptr ? "nothing" : truncate_end(kind_of(*version), 60));
    }
    if (*number > static_cast<std::uint64_t>(model::kReportSchemaVersion)) {
        return "schema_version: this report is of version " + std::to_string(*number) +
               ", this cyclewatch reads up to version " +
               std::to_string(model::kReportSchemaVersion) + ": read it with a newer cyclewatch";
    }
    return {};
}

base::Result<model::Report> read(std::string_view text, std::size_t offset) {
    const base::JsonOutcome outcome = base::parse_json(text);
    if (outcome.error != base::JsonOutcome::Error::none) {
        return base::Error{describe(outcome, offset, text.size())};
    }
    if (const std::string problem = check_header(outcome.value); !problem.empty()) {
        return base::Error{problem};
    }
    model::Report report;
    Filler filler;
    filler.fill_object(outcome.value, report);
    filler.check_indexes(report);
    if (filler.error()) {
        return base::Error{*filler.error()};
    }
    return report;
}

}  // namespace

base::Result<model::Report> read_json_report(std::string_view text, std::size_t offset) {
    try {
        return read(text, offset);
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        return base::Error{std::string("the report cannot be read: ") +
                           truncate_end(clean_text(error.what()), 200)};
    }
}

}  // namespace cyclewatch::render
