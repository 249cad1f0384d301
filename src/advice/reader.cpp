// SPDX-License-Identifier: Apache-2.0
#include "advice/reader.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "advice/slots.h"

namespace cyclewatch::advice {
namespace {

using nlohmann::json;
using Keys = std::initializer_list<std::string_view>;

std::string listed(Keys words) {
    std::string text;
    for (const std::string_view word : words) {
        text.append(text.empty() ? "" : ", ").append(word);
    }
    return text;
}

// Thrown if a table is invalid. Caught in this file.
struct Problem {
    std::string sentence;
};

// A TOML table and its name, which error messages show. The top-level table has an empty name.
class Table {
  public:
    Table(const json& value, std::string name) : value_(value), name_(std::move(name)) {
        if (!value_.is_object()) {
            throw Problem{(name_.empty() ? "the file" : name_) +
                          " is not a table; write it as key = value lines"};
        }
    }

    [[nodiscard]] auto members() const { return value_.items(); }
    void allow_only(Keys keys) const {
        for (const auto& [key, value] : members()) {
            if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
                throw Problem{name_ + " has no key \"" + key + "\"; the keys are " + listed(keys)};
            }
        }
    }
    // Returns nullptr if the table has no such key.
    [[nodiscard]] const json* find(const char* key) const {
        const auto found = value_.find(key);
        return found != value_.end() ? &*found : nullptr;
    }
    [[nodiscard]] std::string sub(const std::string& key) const {
        return name_.empty() ? key : name_ + "." + key;
    }

    [[nodiscard]] std::string text(const char* key, std::string missing = {}) const {
        const json* const value = find(key);
        if (value == nullptr) {
            return missing;
        }
        if (!value->is_string()) {
            throw Problem{sub(key) + " is not a string; put it in quotes"};
        }
        return value->get<std::string>();
    }
    [[nodiscard]] std::string required(const char* key) const {
        std::string value = text(key);
        if (value.empty()) {
            throw Problem{name_ + " needs " + key + " = \"...\""};
        }
        return value;
    }
    [[nodiscard]] const json& list(const char* key) const {
        static const json none = json::array();
        const json* const value = find(key);
        if (value == nullptr) {
            return none;
        }
        if (!value->is_array()) {
            throw Problem{sub(key) + " is not a list; write it in square brackets"};
        }
        return *value;
    }
    [[nodiscard]] std::vector<std::string> texts(const char* key) const {
        std::vector<std::string> values;
        for (const json& value : list(key)) {
            if (!value.is_string()) {
                throw Problem{sub(key) + " has an entry that is not a string; put it in quotes"};
            }
            values.push_back(value.get<std::string>());
        }
        return values;
    }
    // Rejects texts with unknown slots.
    [[nodiscard]] std::string text_with_slots(const char* key, std::string missing) const {
        std::string value = text(key, std::move(missing));
        if (const std::string slot = unknown_slot(value); !slot.empty()) {
            throw Problem{sub(key) + " has an unknown slot {" + slot + "}; the slots are " +
                          std::string(kSlotNames)};
        }
        return value;
    }

  private:
    const json& value_;
    std::string name_;
};

Step read_step(const json& value, std::string name) {
    const Table table(value, std::move(name));
    table.allow_only({"holder", "label", "target"});
    Step step;
    step.holder = table.text("holder", "*");
    step.label = table.text("label", "*");
    step.target = table.text("target", "*");
    return step;
}

Library read_library(const json& value, std::string name) {
    const Table table(value, std::move(name));
    table.allow_only({"package", "versions"});
    Library library;
    library.package = table.required("package");
    library.versions = table.required("versions");
    std::optional<VersionRange> range = VersionRange::parse(library.versions);
    if (!range) {
        throw Problem{table.sub("versions") +
                      " is not a version range; write, for example, \">=1.2,<1.4\""};
    }
    library.range = std::move(*range);
    return library;
}

Pattern read_pattern(const json& value, std::string name) {
    const Table table(value, std::move(name));
    table.allow_only({"id",
                      "title",
                      "shape",
                      "explanation",
                      "advice",
                      "cost",
                      "variants",
                      "before",
                      "after",
                      "links",
                      "tags",
                      "library",
                      "steps",
                      "suggests"});
    Pattern pattern;
    pattern.id = table.required("id");
    pattern.title = table.required("title");
    pattern.shape = table.text("shape");
    (void)table.required("explanation");
    pattern.words.explanation = table.text_with_slots("explanation", "");
    pattern.words.advice = table.text_with_slots("advice", "");
    pattern.words.cost = table.text_with_slots("cost", "");
    pattern.before = table.text("before");
    pattern.after = table.text("after");
    pattern.links = table.texts("links");
    for (const std::string& tag : table.texts("tags")) {
        if (tag != "benign") {
            throw Problem{table.sub("tags") + " has an unknown tag \"" + tag +
                          "\"; the only tag is \"benign\" (for a leak of a library, use the key "
                          "\"library\")"};
        }
        pattern.benign = true;
    }
    if (const json* const library = table.find("library")) {
        pattern.library = read_library(*library, table.sub("library"));
    }
    std::size_t number = 0;
    for (const json& step : table.list("steps")) {
        pattern.steps.push_back(
            read_step(step, table.sub("steps") + "[" + std::to_string(number++) + "]"));
    }
    if (const json* const suggests = table.find("suggests")) {
        pattern.suggests = read_step(*suggests, table.sub("suggests"));
    }
    if (const json* const variants = table.find("variants")) {
        for (const auto& [key, words] : Table(*variants, table.sub("variants")).members()) {
            const Table variant(words, table.sub("variants." + key));
            variant.allow_only({"explanation", "advice", "cost"});
            pattern.variants[key] = {
                variant.text_with_slots("explanation", pattern.words.explanation),
                variant.text_with_slots("advice", pattern.words.advice),
                variant.text_with_slots("cost", pattern.words.cost)};
        }
    }
    return pattern;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

Suppression read_suppression(const json& value, std::string name) {
    const Table table(value, std::move(name));
    table.allow_only({"signature", "pattern", "reason"});
    Suppression suppression;
    suppression.signature = table.text("signature");
    suppression.pattern = table.text("pattern");
    suppression.reason = table.text("reason");
    return suppression;
}

class Reader {
  public:
    explicit Reader(const std::vector<std::string>* known) : known_(known) {
        if (known_ != nullptr) {
            ids_ = *known_;
        }
    }

    Contents run(std::string_view text) {
        const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
        try {
            const Table table(document, "");
            each(table, "pattern", [this](const json& value, const std::string& name) {
                add_pattern(value, name);
            });
            each(table, "ignore", [this](const json& value, const std::string& name) {
                add_suppression(value, name);
            });
        } catch (const Problem& problem) {
            contents_.problems.push_back(problem.sentence);
        }
        return std::move(contents_);
    }

  private:
    // Skips invalid tables.
    void each(const Table& table, const char* key, auto&& add) {
        std::size_t number = 0;
        for (const json& value : table.list(key)) {
            try {
                add(value, std::string(key) + "[" + std::to_string(number++) + "]");
            } catch (const Problem& problem) {
                contents_.problems.push_back(problem.sentence);
            }
        }
    }

    void add_pattern(const json& value, const std::string& name) {
        Pattern pattern = read_pattern(value, name);
        if (contains(ids_, pattern.id)) {
            throw Problem{name + ".id = \"" + pattern.id + "\" is already used; choose another id"};
        }
        if (known_ != nullptr && !pattern.has_shape()) {
            throw Problem{name + " does not describe a cycle; add steps = [{holder = \"...\", " +
                          "label = \"...\"}]"};
        }
        if (known_ != nullptr && !pattern.variants.empty()) {
            throw Problem{name + " has variants, which only built-in patterns may have; " +
                          "write a pattern for each"};
        }
        ids_.push_back(pattern.id);
        contents_.patterns.push_back(std::move(pattern));
    }

    void add_suppression(const json& value, const std::string& name) {
        Suppression suppression = read_suppression(value, name);
        if (const std::string problem = problem_of(suppression, ids_); !problem.empty()) {
            throw Problem{name + ": " + problem};
        }
        contents_.suppressions.push_back(std::move(suppression));
    }

    const std::vector<std::string>* known_;
    std::vector<std::string> ids_;
    Contents contents_;
};

}  // namespace

std::string problem_of(const Suppression& suppression, const std::vector<std::string>& ids) {
    constexpr std::string_view kPrefix = "cw1-";
    constexpr std::size_t kDigits = 16;
    const std::string& signature = suppression.signature;
    if (signature.empty() && suppression.pattern.empty()) {
        return "a signature or a pattern is required";
    }
    if (!signature.empty() &&
        (!signature.starts_with(kPrefix) || signature.size() != kPrefix.size() + kDigits)) {
        return "\"" + signature +
               "\" is not a signature; copy it from the report: \"cw1-\" and 16 digits";
    }
    if (!suppression.pattern.empty() && !contains(ids, suppression.pattern)) {
        std::string known;
        for (const std::string& id : ids) {
            known += (known.empty() ? "" : ", ") + id;
        }
        return "\"" + suppression.pattern + "\" is not a pattern; the patterns are " + known;
    }
    if (suppression.reason.find_first_not_of(" \t\n") == std::string::npos) {
        return "a reason is required: a few words on why the finding is acceptable";
    }
    return {};
}

Contents read(std::string_view json, const std::vector<std::string>* known) {
    return Reader(known).run(json);
}

}  // namespace cyclewatch::advice
