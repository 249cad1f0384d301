// SPDX-License-Identifier: Apache-2.0
#include "format/json.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "format/direct_reader.h"
#include "format/report_fields.h"

namespace cyclewatch::format {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 32;

// Thrown if the report is invalid. Caught in this source file.
struct InvalidReport {
    std::string problem;
};

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
    throw InvalidReport{path + ": " + problem};
}

std::string describe(const json::parse_error& error, std::string_view text) {
    if (error.byte > text.size()) {
        return "the file ends at byte " + std::to_string(text.size()) +
               ", inside the report: it was truncated";
    }
    constexpr std::size_t kShown = 40;
    const std::string_view read = text.substr(0, error.byte);
    const std::string near(read.substr(read.size() - std::min(read.size(), kShown)));
    return "not a cyclewatch report: not valid JSON at byte " + std::to_string(error.byte) +
           ", after \"" + base::truncate_middle(base::clean_text(near), kShown) + "\"";
}

json parse(std::string_view text) {
    const auto check_depth = [](int depth, json::parse_event_t, const json&) {
        if (depth > kMaxDepth) {
            throw InvalidReport{"nested more than " + std::to_string(kMaxDepth) +
                                " levels deep: not a cyclewatch report"};
        }
        return true;
    };
    try {
        return json::parse(text, check_depth);
    } catch (const json::parse_error& error) {
        throw InvalidReport{describe(error, text)};
    } catch (const json::out_of_range&) {
        throw InvalidReport{"a number is out of range: the file is damaged"};
    }
}

// Describes a value for an error message. Returns the text of a number or literal, or the type of
// any other value.
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
    return base::truncate_end((value.is_number() ? "the number " : "") + value.dump(), 60);
}

void require(bool valid, const std::string& path, const std::string& expected, const json& value) {
    if (!valid) {
        fail(path, "expected " + expected + ", found " + kind_of(value));
    }
}

// The read() functions store `value` in a field of the report. `path` is the path of the field, for
// error messages.
void read(const json& value, const std::string& path, std::string& text) {
    require(value.is_string(), path, "a string", value);
    value.get_to(text);
}

void read(const json& value, const std::string& path, bool& flag) {
    require(value.is_boolean(), path, "true or false", value);
    value.get_to(flag);
}

void read(const json& value, const std::string& path, double& number) {
    require(value.is_number(), path, "a number", value);
    value.get_to(number);
}

template <std::integral T>
void read(const json& value, const std::string& path, T& number) {
    const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                 : value.is_number_integer() &&
                                                       std::in_range<T>(value.get<std::int64_t>());
    const std::string range = std::to_string(std::numeric_limits<T>::min()) + " to " +
                              std::to_string(std::numeric_limits<T>::max());
    require(fits, path, "an integer from " + range, value);
    value.get_to(number);
}

template <model::Worded E>
void read(const json& value, const std::string& path, E& choice) {
    std::string word;
    read(value, path, word);
    const std::optional<E> known = model::from_word<E>(word);
    if (!known) {
        std::string words;
        for (const std::string_view one : model::words_of(E{})) {
            words.append(words.empty() ? "\"" : ", \"").append(one).append("\"");
        }
        fail(path,
             "expected one of " + words + ", found \"" +
                 base::truncate_middle(base::clean_text(word), 40) + "\"");
    }
    choice = *known;
}

void read(const json& value,
          const std::string& path,
          std::map<std::string, std::uint64_t>& counts) {
    require(value.is_object(), path, "an object", value);
    for (const auto& [name, count] : value.items()) {
        read(count,
             path + "[\"" + base::truncate_middle(base::clean_text(name), 40) + "\"]",
             counts[name]);
    }
}

template <typename T>
requires std::is_class_v<T>
void read(const json& value, const std::string& path, T& fields);

// Converts by_process from the columns of a compressed report (one array of values for each field)
// to a list of objects.
json list_of(const json& columns, const std::string& path) {
    json list = json::array();
    for (const auto& [name, column] : columns.items()) {
        require(column.is_array(), std::string(path).append(".").append(name), "an array", column);
        for (std::size_t i = 0; i < column.size(); ++i) {
            list[i][name] = column[i];
        }
    }
    return list;
}

template <typename T>
void read(const json& value, const std::string& path, std::vector<T>& items) {
    if constexpr (std::same_as<T, model::ProcessOccurrences>) {
        if (value.is_object()) {
            read(list_of(value, path), path, items);
            return;
        }
    }
    require(value.is_array(), path, "an array", value);
    items.reserve(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) {
        read(value[i], path + "[" + std::to_string(i) + "]", items.emplace_back());
    }
}

template <typename T>
requires std::is_class_v<T>
void read(const json& value, const std::string& path, T& fields) {
    require(value.is_object(), path, "an object", value);
    auto read_field = [&]<typename Member>(const auto& field, Member& member) {
        const std::string field_path = path.empty() ? field.name : path + "." + field.name;
        const auto found = value.find(field.name);
        if constexpr (kIsOptional<Member>) {
            if (found != value.end()) {
                read(*found, field_path, member.emplace());
            }
        } else {
            if (found != value.end()) {
                read(*found, field_path, member);
            } else {
                fail(field_path, "this field is missing");
            }
        }
    };
    visit_fields(read_field, fields);
}

void check_picture(const model::Picture& picture, const std::string& path) {
    if (picture.items.size() > model::kMaxPictureItems ||
        picture.arrows.size() > model::kMaxPictureArrows) {
        fail(path,
             "more than " + std::to_string(model::kMaxPictureItems) + " items or " +
                 std::to_string(model::kMaxPictureArrows) + " arrows");
    }
    for (std::size_t i = 0; i < picture.arrows.size(); ++i) {
        const model::Picture::Arrow& arrow = picture.arrows[i];
        if (std::max(arrow.from, arrow.to) >= picture.items.size()) {
            fail(path + ".arrows[" + std::to_string(i) + "]",
                 "an arrow from item " + std::to_string(arrow.from) + " to item " +
                     std::to_string(arrow.to) + ", but there are only " +
                     base::counted(picture.items.size(), "item"));
        }
    }
}

template <typename T>
void check_processes(const std::vector<T>& items, const std::string& path, std::size_t known) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].process >= known) {
            fail(path + "[" + std::to_string(i) + "].process",
                 "index " + std::to_string(items[i].process) + ", but there " +
                     (known == 1 ? "is only " : "are only ") +
                     base::counted(known, "process", "processes"));
        }
    }
}

void check_columns(const model::MemorySteps& steps) {
    const std::size_t rows = steps.steps.size();
    for (const std::size_t size : {steps.times.size(),
                                   steps.in_use.size(),
                                   steps.allocated.size(),
                                   steps.peak ? steps.peak->size() : rows,
                                   steps.dead.size()}) {
        if (size != rows) {
            fail("memory_steps", "columns of different lengths");
        }
    }
}

void check_collection_steps(const model::CollectionSteps& each) {
    if (each.seconds.size() != each.steps.size() || each.freed_bytes.size() != each.steps.size()) {
        fail("collection_steps", "columns of different lengths");
    }
    if (!std::ranges::is_sorted(each.steps)) {
        fail("collection_steps.steps", "expected ascending numbers");
    }
    if (!std::has_single_bit(each.every)) {
        fail("collection_steps.every", "expected a power of two");
    }
}

void check_columns(const model::MemorySamples& samples) {
    if (samples.lowest.size() != samples.times.size() ||
        samples.highest.size() != samples.times.size()) {
        fail("memory_samples", "columns of different lengths");
    }
}

void check_columns(const model::StorageAddresses& group) {
    if (!group.paths.empty() && group.paths.size() != group.addresses.size()) {
        fail("addresses", "columns of different lengths");
    }
}

// Checks the diagrams, the columns and the indexes of processes.
void check_consistency(const model::Report& report) {
    const std::size_t processes = report.processes.size();
    if (processes == 0) {
        fail("processes", "expected at least one process, found none");
    }
    check_processes(report.collections, "collections", processes);
    if (report.growing) {
        check_processes(*report.growing, "growing", processes);
    }
    if (report.live_owners) {
        check_processes(*report.live_owners, "live_owners", processes);
    }
    if (report.device_records) {
        check_processes(*report.device_records, "device_records", processes);
    }
    if (report.censuses) {
        check_processes(*report.censuses, "censuses", processes);
    }
    if (report.memory) {
        check_processes(*report.memory, "memory", processes);
        for (const model::MemoryAccount& account : *report.memory) {
            check_processes(account.holders, "memory.holders", processes);
        }
    }
    if (report.memory_steps) {
        check_processes(*report.memory_steps, "memory_steps", processes);
        for (const model::MemorySteps& each : *report.memory_steps) {
            check_columns(each);
        }
    }
    if (report.collection_steps) {
        check_processes(*report.collection_steps, "collection_steps", processes);
        std::ranges::for_each(*report.collection_steps, check_collection_steps);
    }
    if (report.memory_samples) {
        check_processes(*report.memory_samples, "memory_samples", processes);
        for (const model::MemorySamples& each : *report.memory_samples) {
            check_columns(each);
        }
    }
    if (report.addresses) {
        for (const model::StorageAddresses& group : *report.addresses) {
            check_columns(group);
        }
    }
    for (std::size_t i = 0; i < report.findings.size(); ++i) {
        const std::string path = "findings[" + std::to_string(i) + "]";
        check_picture(report.findings[i].picture, path + ".picture");
        check_processes(report.findings[i].by_process, path + ".by_process", processes);
    }
}

void check_header(const json& document) {
    if (!document.is_object()) {
        fail("not a cyclewatch report", "expected an object, found " + kind_of(document));
    }
    if (document.value("schema", json()) != kSchemaName) {
        fail("not a cyclewatch report", "it has no \"schema\": \"cyclewatch-report\"");
    }
    const json version = document.value("schema_version", json());
    require(version.is_number_unsigned() && version != 0,
            "schema_version",
            "a positive integer",
            version);
    if (version != model::kReportSchemaVersion) {
        fail("schema_version",
             "the report has version " + version.dump() + ", but this cyclewatch reads version " +
                 std::to_string(model::kReportSchemaVersion) +
                 (version > model::kReportSchemaVersion
                      ? ": use a newer version of cyclewatch"
                      : ": record the report again with this version"));
    }
}

model::Report read_document(std::string_view text) {
    const json document = parse(text);
    check_header(document);
    model::Report report;
    read(document, "", report);
    return report;
}

}  // namespace

base::Result<model::Report> read_json_report(std::string_view text) {
    try {
        std::optional<model::Report> direct = read_directly(text);
        model::Report report = direct ? *std::move(direct) : read_document(text);
        check_consistency(report);
        return report;
    } catch (const InvalidReport& error) {
        return base::Error{error.problem};
    }
}

}  // namespace cyclewatch::format
