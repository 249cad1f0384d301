// SPDX-License-Identifier: Apache-2.0
#include "render/json_reader.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <map>
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

constexpr int kMaxDepth = 32;

// Describes a syntax error. `text` starts at byte `offset` of the file.
std::string describe(const json::parse_error& error, std::string_view text, std::size_t offset) {
    if (error.byte > text.size()) {
        return "the file ends at byte " + std::to_string(offset + text.size()) +
               ", inside the report: it was truncated";
    }
    constexpr std::size_t kShown = 40;
    const std::string_view read = text.substr(0, error.byte);
    const std::string near(read.substr(read.size() - std::min(read.size(), kShown)));
    return "not valid JSON at byte " + std::to_string(offset + error.byte) + ", after \"" +
           truncate_middle(clean_text(near), kShown) + "\"";
}

base::Result<json> parse(std::string_view text, std::size_t offset) {
    struct TooDeep {};
    const auto check_depth = [](int depth, json::parse_event_t, const json&) {
        if (depth > kMaxDepth) {
            throw TooDeep{};
        }
        return true;
    };
    try {
        return json::parse(text, check_depth);
    } catch (const TooDeep&) {
        return base::Error{"nested more than " + std::to_string(kMaxDepth) +
                           " levels deep: not a cyclewatch report"};
    } catch (const json::parse_error& error) {
        return base::Error{describe(error, text, offset)};
    } catch (const json::out_of_range&) {
        return base::Error{"a number is out of range: the file is damaged"};
    }
}

// The type of a value for error messages; numbers and literals as they are written.
std::string kind_of(const json& value) {
    if (value.is_string()) {
        return "a string";
    }
    if (value.is_array()) {
        return "an array";
    }
    if (value.is_object()) {
        return "an object";
    }
    return (value.is_number() ? "the number " : "") + value.dump();
}

// Null if `value` is not an object or has no such member.
const json* find(const json& value, const char* name) {
    const auto found = value.find(name);
    return found != value.end() ? &*found : nullptr;
}

// Fills a report from parsed JSON. Records the first error with the path of its field.
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
            const json* const found = find(value, name);
            if (found == nullptr) {
                fail("this field is missing");
                return;
            }
            fill(*found, field);
        };
        visit_fields(fill_field, fields);
    }

    // Checks that the indexes of items and processes are valid.
    void check_indexes(const model::Report& report) {
        if (report.processes.empty() && !error_) {
            error_ = "processes: expected at least one process, found none";
        }
        check_arrows(report);
        check_processes(report.collections, "collections", report.processes.size());
        for (std::size_t f = 0; f < report.findings.size(); ++f) {
            check_processes(report.findings[f].by_process,
                            "findings[" + std::to_string(f) + "].by_process",
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
                fail("an arrow from item " + std::to_string(arrow.from) + " to item " +
                     std::to_string(arrow.to) + ", but there are only " +
                     counted(picture.items.size(), "item"));
                return;
            }
        }
    }

    template <typename T>
    void check_processes(const std::vector<T>& items, const std::string& list, std::size_t known) {
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (items[i].process >= known) {
                const Step step(path_, list + "[" + std::to_string(i) + "].process");
                fail("index " + std::to_string(items[i].process) + ", but there " +
                     (known == 1 ? "is only " : "are only ") +
                     counted(known, "process", "processes"));
                return;
            }
        }
    }

    // Appends to the path; the destructor removes the part.
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
            expected("a string", value);
            return;
        }
        value.get_to(text);
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
        value.get_to(flag);
    }
    void fill(const json& value, double& number) {
        if (!value.is_number()) {
            expected("a number", value);
            return;
        }
        value.get_to(number);
    }
    template <std::integral T>
    void fill(const json& value, T& number) {
        const bool fits =
            value.is_number_unsigned()
                ? std::in_range<T>(value.get<std::uint64_t>())
                : value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
        if (fits) {
            value.get_to(number);
        } else {
            expected("an integer from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                         std::to_string(std::numeric_limits<T>::max()),
                     value);
        }
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
    // by_process as packed pages store it: one array for each field.
    template <typename T>
    void fill_columns(const json& value, std::vector<T>& items) {
        std::vector<const json*> columns;
        auto find_column = [&](const char* name, const auto& /*field*/) {
            const Step step(path_, std::string(".") + name);
            const json* const found = find(value, name);
            columns.push_back(found);
            if (found == nullptr) {
                fail("this field is missing");
            } else if (!found->is_array()) {
                expected("an array", *found);
            } else if (!error_ && columns.back()->size() != columns.front()->size()) {
                fail("expected " + std::to_string(columns.front()->size()) +
                     " values, like the first column, found " +
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
    void fill(const json& value, std::vector<T>& items) {
        if constexpr (std::same_as<T, model::ProcessOccurrences>) {
            if (value.is_object()) {
                fill_columns(value, items);
                return;
            }
        }
        if (!value.is_array()) {
            expected("an array", value);
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

// Empty if the document is a report of the version that this code reads.
std::string check_header(const json& document) {
    if (!document.is_object()) {
        return "not a cyclewatch report: expected an object, found " +
               truncate_end(kind_of(document), 60);
    }
    const json* const schema = find(document, "schema");
    if (schema == nullptr || *schema != kSchemaName) {
        return "not a cyclewatch report: it has no \"schema\": \"cyclewatch-report\"";
    }
    const json* const version = find(document, "schema_version");
    const std::uint64_t number =
        version != nullptr && version->is_number_unsigned() ? version->get<std::uint64_t>() : 0;
    if (number < 1) {
        return "schema_version: expected a positive integer, found " +
               (version == nullptr ? "nothing" : truncate_end(kind_of(*version), 60));
    }
    constexpr auto kReadable = static_cast<std::uint64_t>(model::kReportSchemaVersion);
    if (number != kReadable) {
        return "schema_version: the report has version " + std::to_string(number) +
               ", but this cyclewatch reads version " + std::to_string(kReadable) +
               (number > kReadable ? ": use a newer cyclewatch"
                                   : ": record the report again with this cyclewatch");
    }
    return {};
}

}  // namespace

base::Result<model::Report> read_json_report(std::string_view text, std::size_t offset) {
    const base::Result<json> document = parse(text, offset);
    if (!document.ok()) {
        return base::Error{document.error()};
    }
    if (const std::string problem = check_header(document.value()); !problem.empty()) {
        return base::Error{problem};
    }
    model::Report report;
    Filler filler;
    filler.fill_object(document.value(), report);
    filler.check_indexes(report);
    if (filler.error()) {
        return base::Error{*filler.error()};
    }
    return report;
}

}  // namespace cyclewatch::render
