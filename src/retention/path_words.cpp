// SPDX-License-Identifier: Apache-2.0
#include "retention/path_words.h"

#include <algorithm>

#include "base/text.h"
#include "capture/labelers/text.h"
#include "capture/object_summary.h"

namespace cyclewatch::retention {
namespace {

using model::EdgeKind;

// "train()", without the module.
std::string function_text(PyObject* function) {
    const capture::ObjectSummary summary = capture::summarize(function);
    std::string_view name = summary.name;
    if (!summary.module.empty() && name.starts_with(summary.module + ".")) {
        name.remove_prefix(summary.module.size() + 1);
    }
    return call_text(without_enclosing(name));
}

bool is_identifier(std::string_view name) {
    const auto is_letter = [](char c) {
        return Py_ISALNUM(c) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80;
    };
    return !name.empty() && Py_ISDIGIT(name.front()) == 0 && std::ranges::all_of(name, is_letter);
}

bool is_number(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) { return Py_ISDIGIT(c) != 0; });
}

}  // namespace

std::string_view without_enclosing(std::string_view name) {
    constexpr std::string_view kLocals = "<locals>.";
    const std::size_t at = name.rfind(kLocals);
    return at == std::string_view::npos ? name : name.substr(at + kLocals.size());
}

std::string call_text(std::string_view name) {
    return std::string(name) + (name.ends_with('>') ? "" : "()");
}

std::string place(const std::string& path, std::uint32_t line) {
    return path.empty() || line == 0 ? path : path + ":" + std::to_string(line);
}

std::string attribute_text(std::string_view name) {
    if (is_identifier(name)) {
        return "." + std::string(name);
    }
    return is_number(name) ? "[" + std::string(name) + "]" : "['" + std::string(name) + "']";
}

std::string suffix_of(const Label& label) {
    switch (label.kind) {
        case EdgeKind::attribute:
        case EdgeKind::slot:
            return attribute_text(label.name);
        case EdgeKind::member:
            return is_identifier(label.name) && label.name != "cached_result"
                       ? attribute_text(label.name)
                       : "";
        case EdgeKind::key_value:
            return label.index == model::kHiddenKey ? "[<str>]" : "['" + label.name + "']";
        case EdgeKind::partial_argument:
            return ".args[" + std::to_string(label.index) + "]";
        case EdgeKind::partial_keyword:
            return ".keywords['" + label.name + "']";
        case EdgeKind::opaque_key_value:
        case EdgeKind::captured_key_value:
        case EdgeKind::index:
        case EdgeKind::member_item:  // of a NumPy array: .flat[3], ['name'][3]
            return model::label_text(label.kind, label.name, label.index);
        default:
            return {};
    }
}

std::pair<std::string, std::string> words_of(const Step& step) {
    const std::string& name = step.label.name;
    switch (step.label.kind) {
        case EdgeKind::closure:
            return {function_text(step.from) + " closure " + name, name};
        case EdgeKind::default_value:
            return {function_text(step.from) + " default " + name, name};
        case EdgeKind::local:
            return {function_text(step.from) + " local " + name, name};
        case EdgeKind::hook:
            return {name, std::string(base::last_part(capture::summarize(step.to).name))};
        case EdgeKind::dict_key:
            if (is_cached_call(step)) {
                return {"cached call", "cached call"};
            }
            return {"key", "key"};
        case EdgeKind::element:
            return {"element", "element"};
        case EdgeKind::stack:
            return {"temporary value", "value"};
        case EdgeKind::member:
            return {name == "cached_result" ? "cached result" : name, "result"};
        default: {
            const std::string type(base::last_part(capture::type_name(Py_TYPE(step.to))));
            return {type, type};
        }
    }
}

}  // namespace cyclewatch::retention
