// SPDX-License-Identifier: Apache-2.0
#include "support/graph_text.h"

#include <algorithm>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cyclewatch::test_support {
namespace {

using model::EdgeKind;
using model::NodeKind;
using model::PartRole;

const std::map<std::string, NodeKind, std::less<>> kKinds{
    {"object", NodeKind::object},
    {"dict", NodeKind::dict},
    {"list", NodeKind::list},
    {"tuple", NodeKind::tuple},
    {"set", NodeKind::set},
    {"cell", NodeKind::cell},
    {"function", NodeKind::function},
    {"builtin_function", NodeKind::builtin_function},
    {"method", NodeKind::bound_method},
    {"partial", NodeKind::partial},
    {"frame", NodeKind::frame},
    {"generator", NodeKind::generator},
    {"coroutine", NodeKind::coroutine},
    {"async_generator", NodeKind::async_generator},
    {"traceback", NodeKind::traceback},
    {"exception", NodeKind::exception},
    {"type", NodeKind::type},
    {"module", NodeKind::module},
    {"weakref", NodeKind::weakref},
    {"code", NodeKind::code},
    {"property", NodeKind::property}};

const std::map<std::string, std::pair<PartRole, NodeKind>, std::less<>> kRoles{
    {"instance_dict", {PartRole::instance_dict, NodeKind::dict}},
    {"type_dict", {PartRole::type_dict, NodeKind::dict}},
    {"module_dict", {PartRole::module_dict, NodeKind::dict}},
    {"closure", {PartRole::closure, NodeKind::tuple}},
    {"defaults", {PartRole::defaults, NodeKind::tuple}},
    {"partial_args", {PartRole::partial_args, NodeKind::tuple}},
    {"partial_keywords", {PartRole::partial_keywords, NodeKind::dict}},
    {"nn_children", {PartRole::nn_children, NodeKind::dict}},
    {"nn_hooks", {PartRole::nn_hooks, NodeKind::dict}},
    {"storage", {PartRole::storage, NodeKind::dict}}};

[[noreturn]] void reject(std::string_view word) {
    throw std::invalid_argument("graph text: cannot read \"" + std::string(word) + "\"");
}

bool is_name_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Removes and returns the leading characters that `accept` accepts.
template <typename Accept>
std::string take(std::string_view& text, Accept accept) {
    std::size_t length = 0;
    while (length < text.size() && accept(text[length])) {
        ++length;
    }
    const std::string taken(text.substr(0, length));
    text.remove_prefix(length);
    return taken;
}

std::uint32_t number(std::string_view text) {
    return static_cast<std::uint32_t>(std::stoul(std::string(text)));
}

struct NodeText {
    std::string kind;  // as written
    bool locals_snapshot = false;
    std::string end_method;
    std::string full_name;
    std::string location;
    std::string owner;  // the text in parentheses; "" if not an owner
    std::vector<std::pair<std::string, std::size_t>> references;  // label, target
};

// Parses a label as written in reports.
model::EdgeLabel parse_label(std::string_view text, model::StringTable& strings) {
    struct Form {
        std::string_view before;
        std::string_view after;
        EdgeKind kind;
        enum class Content : std::uint8_t { name, index, nothing } content = Content::name;
    };
    using Content = Form::Content;
    static constexpr Form kForms[] = {
        {".", "", EdgeKind::attribute},
        {"slot:", "", EdgeKind::slot},
        {"closure:", "", EdgeKind::closure},
        {"default:", "", EdgeKind::default_value},
        {"local:", "", EdgeKind::local},
        {"hook:", "", EdgeKind::hook},
        {"['", "']", EdgeKind::key_value},
        {"[<", ">]", EdgeKind::opaque_key_value},
        {"keywords['", "']", EdgeKind::partial_keyword},
        {"[", "]", EdgeKind::index, Content::index},
        {"args[", "]", EdgeKind::partial_argument, Content::index},
        {"stack[", "]", EdgeKind::stack, Content::index},
        {"C field at offset ", "", EdgeKind::field, Content::index},
        {"key", "", EdgeKind::dict_key, Content::nothing},
        {"element", "", EdgeKind::element, Content::nothing},
        {"?", "", EdgeKind::unknown, Content::nothing},
        {"", "", EdgeKind::member},
    };
    for (const Form& form : kForms) {
        if (!text.starts_with(form.before) || !text.ends_with(form.after)) {
            continue;
        }
        const std::size_t length = text.size() - form.before.size() - form.after.size();
        const std::string_view content = text.substr(form.before.size(), length);
        if (form.content == Content::index) {
            return {form.kind, model::kEmptyString, number(content)};
        }
        if (form.content == Content::name || content.empty()) {
            return {form.kind, strings.intern(content), 0};
        }
    }
    reject(text);
}

class Reader {
  public:
    explicit Reader(std::string_view text) {
        std::istringstream words{std::string(text)};
        for (std::string word; words >> word;) {
            read(word);
        }
    }

    model::Observation build(std::uint64_t shuffle) {
        std::vector<std::size_t> order(nodes_.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            order[i] = i;
        }
        if (shuffle != 0) {
            std::mt19937_64 random(shuffle);
            std::shuffle(order.begin(), order.end(), random);
            for (NodeText& node : nodes_) {
                std::shuffle(node.references.begin(), node.references.end(), random);
            }
        }
        std::vector<model::NodeId> id_of(nodes_.size());
        model::ReferenceGraphBuilder builder;
        for (const std::size_t i : order) {
            id_of[i] = builder.add_node(to_node(builder, i));
        }
        model::Observation observation;
        for (const std::size_t i : order) {
            for (const auto& [label, target] : nodes_[i].references) {
                builder.add_edge(id_of[i], id_of[target], to_label(builder, label));
            }
            add_owner(observation, nodes_[i], id_of[i]);
        }
        observation.graph = builder.finish();
        return observation;
    }

  private:
    void read(std::string_view word) {
        const std::size_t arrow = word.find("->");
        if (arrow == std::string_view::npos) {
            read_node(word);
            return;
        }
        std::string_view left = word.substr(0, arrow);
        const std::string holder = take(left, is_name_character);
        if (holder.empty() || left.empty()) {
            reject(word);
        }
        if (left.front() == '/') {
            left.remove_prefix(1);
        }
        const std::size_t from = index_of_name(holder);
        const std::size_t to = read_node(word.substr(arrow + 2));
        nodes_[from].references.emplace_back(left, to);
    }

    std::size_t read_node(std::string_view text) {
        const std::string_view whole = text;
        const std::string name = take(text, is_name_character);
        if (name.empty()) {
            reject(whole);
        }
        const std::size_t index = index_of_name(name);
        NodeText& node = nodes_[index];
        while (text.starts_with(':')) {
            text.remove_prefix(1);
            const std::string kind = take(text, is_name_character);
            if (kind == "owner") {
                const std::size_t end = text.find(')');
                if (!text.starts_with('(') || end == std::string_view::npos) {
                    reject(whole);
                }
                node.owner = text.substr(1, end - 1);
                text.remove_prefix(end + 1);
            } else if (kind == "locals") {
                node.kind = "dict";
                node.locals_snapshot = true;
            } else if (kKinds.contains(kind) || kRoles.contains(kind)) {
                node.kind = kind;
            } else {
                reject(whole);
            }
        }
        if (text.starts_with('=')) {
            text.remove_prefix(1);
            node.full_name = take(text, [](char c) { return c != '@' && c != '!'; });
        }
        if (text.starts_with('!')) {
            text.remove_prefix(1);
            node.end_method = take(text, is_name_character);
        }
        if (text.starts_with('@')) {
            node.location = text.substr(1);
            text = {};
        }
        if (!text.empty()) {
            reject(whole);
        }
        return index;
    }

    std::size_t index_of_name(const std::string& name) {
        const auto [entry, fresh] = index_.try_emplace(name, nodes_.size());
        if (fresh) {
            nodes_.emplace_back();
            names_.push_back(name);
        }
        return entry->second;
    }

    model::Node to_node(model::ReferenceGraphBuilder& builder, std::size_t index) const {
        const NodeText& text = nodes_[index];
        model::Node node;
        if (const auto role = kRoles.find(text.kind); role != kRoles.end()) {
            node.role = role->second.first;
            node.kind = role->second.second;
        } else if (!text.kind.empty()) {
            node.kind = kKinds.at(text.kind);
        }
        node.locals_snapshot = text.locals_snapshot;
        node.supports_weakref = node.kind != NodeKind::dict && node.kind != NodeKind::list &&
                                node.kind != NodeKind::tuple;
        node.end_method = builder.intern(text.end_method);
        std::string name = text.full_name.empty() ? default_name(node.kind, index) : text.full_name;
        const std::size_t dot = name.find('.');
        node.module = builder.intern(dot == std::string::npos ? "" : name.substr(0, dot));
        node.name = builder.intern(name);
        const std::size_t colon = text.location.rfind(':');
        if (colon != std::string::npos) {
            node.location.path = builder.intern(text.location.substr(0, colon));
            node.location.line = number(text.location.substr(colon + 1));
        }
        return node;
    }

    [[nodiscard]] std::string default_name(NodeKind kind, std::size_t index) const {
        static const std::map<NodeKind, std::string> kNames{
            {NodeKind::dict, "dict"},
            {NodeKind::list, "list"},
            {NodeKind::tuple, "tuple"},
            {NodeKind::set, "set"},
            {NodeKind::cell, "cell"},
            {NodeKind::bound_method, "method"},
            {NodeKind::partial, "functools.partial"},
            {NodeKind::traceback, "traceback"}};
        const auto name = kNames.find(kind);
        return name == kNames.end() ? "m." + names_[index] : name->second;
    }

    static model::EdgeLabel to_label(model::ReferenceGraphBuilder& builder, std::string_view text) {
        model::StringTable table;
        model::EdgeLabel label = parse_label(text, table);
        label.name = builder.intern(table.view(label.name));
        return label;
    }

    void add_owner(model::Observation& observation, const NodeText& node, model::NodeId id) {
        if (node.owner.empty()) {
            return;
        }
        std::istringstream fields(node.owner);
        std::string bytes;
        std::string name;
        std::string held;
        std::getline(fields, bytes, ',');
        std::getline(fields, name, ',');
        std::getline(fields, held, ',');
        const auto next = static_cast<model::StorageId>(observation.storages.size());
        model::StorageId storage = next;
        if (!name.empty()) {
            storage = storages_.try_emplace(name, next).first->second;
        }
        if (storage == next) {
            observation.storages.push_back({"cuda:0", std::stoull(bytes), held != "held"});
        }
        observation.owners.push_back({id, storage, "torch.Tensor", "[" + bytes + "]", "float32"});
    }

    std::map<std::string, std::size_t> index_;
    std::vector<std::string> names_;
    std::vector<NodeText> nodes_;
    std::map<std::string, model::StorageId> storages_;
};

}  // namespace

model::Observation observe(std::string_view text, std::uint64_t shuffle) {
    return Reader(text).build(shuffle);
}

}  // namespace cyclewatch::test_support
