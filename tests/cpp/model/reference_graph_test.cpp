// SPDX-License-Identifier: Apache-2.0
#include "model/reference_graph.h"

#include <gtest/gtest.h>

#include <utility>

#include "support/graph_text.h"

namespace cyclewatch::model {
namespace {

TEST(StringTable, KeepsItsViewsWhenItGrowsAndMoves) {
    StringTable table;
    const StringId first = table.intern("first");
    EXPECT_EQ(table.intern(""), kEmptyString);
    const std::string_view view = table.view(first);
    for (int i = 0; i < 10'000; ++i) {
        table.intern("text " + std::to_string(i));
    }
    StringTable moved = std::move(table);
    EXPECT_EQ(view, "first");
    EXPECT_EQ(moved.intern("first"), first);
    EXPECT_EQ(moved.intern("text 9999"), moved.intern("text 9999"));
}

TEST(ReferenceGraphBuilder, LeavesSkippedRowsEmpty) {
    ReferenceGraphBuilder builder;
    for (int i = 0; i < 5; ++i) {
        builder.add_node({});
    }
    builder.add_edge(NodeId{1}, NodeId{0}, {});
    builder.add_edge(NodeId{1}, NodeId{4}, {});
    builder.add_edge(NodeId{3}, NodeId{1}, {});
    const ReferenceGraph graph = builder.finish();
    ASSERT_EQ(graph.first_edge.size(), 6U);
    EXPECT_TRUE(graph.edges_of(NodeId{0}).empty());
    EXPECT_EQ(graph.edges_of(NodeId{1}).size(), 2U);
    EXPECT_TRUE(graph.edges_of(NodeId{2}).empty());
    EXPECT_EQ(graph.edges_of(NodeId{3})[0].target, NodeId{1});
    EXPECT_TRUE(graph.edges_of(NodeId{4}).empty());
}

TEST(ReferenceGraphBuilder, IsEmptyAgainAfterFinish) {
    ReferenceGraphBuilder builder;
    builder.add_node({});
    EXPECT_EQ(builder.finish().nodes.size(), 1U);
    const ReferenceGraph second = builder.finish();
    EXPECT_TRUE(second.nodes.empty());
    EXPECT_EQ(second.first_edge.size(), 1U);
}

TEST(EdgeLabel, FollowsTheGrammar) {
    for (const char* text : {".attr",
                             "slot:name",
                             "__self__",
                             "['key']",
                             "[<int>]",
                             "key",
                             "[3]",
                             "element",
                             "args[0]",
                             "keywords['k']",
                             "closure:self",
                             "default:x",
                             "local:err",
                             "stack[2]",
                             "C field at offset 24",
                             "?"}) {
        StringTable strings;
        const EdgeLabel label = test_support::parse_label(text, strings);
        EXPECT_EQ(label_text(label.kind, strings.view(label.name), label.index), text);
    }
}

TEST(EdgeLabel, ReplacesAddressesAndUuids) {
    const std::pair<const char*, const char*> cases[] = {
        {"fsdp_state:6f9619ff-8b86-d011-b42d-00cf4fc964ff", "fsdp_state:<uuid>"},
        {"state_6f9619ff_8b86_d011_b42d_00cf4fc964ff", "state_<uuid>"},
        {"6f9619ff8b86d011b42d00cf4fc964ff", "<uuid>"},
        {"hook_139872346112", "hook_<id>"},
        {"hook139872346112x", "hook<id>x"},
        {"at_0x7f3a2b9c1d40_", "at_<id>_"},
        {"part_9f3b07aa", "part_<id>"},
    };
    for (const auto& [name, expected] : cases) {
        EXPECT_EQ(without_ids(name), expected);
    }
    for (const char* name : {"", "defaced_facade", "conv2d_12", "year_2026", "0x12", "a-b-c"}) {
        EXPECT_EQ(without_ids(name), name);
    }
}

TEST(EdgeLabel, ReplacesNumbersInKeys) {
    const std::pair<const char*, const char*> cases[] = {{"weights", "weights"},
                                                         {"request_17", "request_#"},
                                                         {"request_#", "request_#"},
                                                         {"conv2d", ""},
                                                         {"_9f3b07", ""}};
    for (const auto& [key, expected] : cases) {
        EXPECT_EQ(key_shape(key), expected);
    }
}

TEST(EdgeLabel, HasAFormForOneForManyAndForSignatures) {
    const struct {
        EdgeKind kind;
        const char* name;
        std::uint32_t index;
        const char* one;
        const char* many;
        const char* signature;
    } cases[] = {
        {EdgeKind::index, "", 7, "[7]", "[x]", "[x]"},
        {EdgeKind::partial_argument, "", 7, "args[7]", "args[x]", "args[x]"},
        {EdgeKind::field,
         "",
         24,
         "C field at offset 24",
         "C field at offset x",
         "C field at offset x"},
        {EdgeKind::closure, "x1", 0, "closure:x1", "closure:x1", "closure:x1"},
        {EdgeKind::attribute, "a", 0, ".a", ".a", ".a"},
        {EdgeKind::attribute, "slot_17", 0, ".slot_17", ".slot_17", ".slot_#"},
        {EdgeKind::attribute, "conv2d_1", 0, ".conv2d_1", ".conv2d_1", ".conv2d_#"},
        {EdgeKind::attribute, "hook_139872346112", 0, ".hook_<id>", ".hook_<id>", ".hook_<id>"},
        {EdgeKind::partial_keyword, "k7", 0, "keywords['k7']", "keywords['k7']", "keywords['k#']"},
        {EdgeKind::key_value, "layer1", 0, "['layer1']", "['layer1']", "['layer#']"},
        {EdgeKind::key_value, "conv2d", 0, "['conv2d']", "['conv2d']", "[<str>]"},
        {EdgeKind::key_value, "ann", kHiddenKey, "[<str>]", "[<str>]", "['ann']"},
        {EdgeKind::captured_key_value, "'a b'", 0, "['a b']", "['a b']", "[<str>]"},
    };
    for (const auto& label : cases) {
        EXPECT_EQ(label_text(label.kind, label.name, label.index), label.one);
        EXPECT_EQ(label_text_of_many(label.kind, label.name, label.index), label.many);
        EXPECT_EQ(generic_label_text(label.kind, label.name, label.index), label.signature);
    }
}

}  // namespace
}  // namespace cyclewatch::model
