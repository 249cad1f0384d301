// SPDX-License-Identifier: Apache-2.0
#include "model/reference_graph.h"

#include <gtest/gtest.h>

#include <utility>

#include "support/graph_text.h"

namespace cyclewatch::model {
namespace {

TEST(StringTable, GivesEqualTextOneId) {
    StringTable table;
    const StringId a = table.intern("a");
    EXPECT_EQ(table.intern("a"), a);
    EXPECT_NE(table.intern("b"), a);
    EXPECT_EQ(table.intern(""), kEmptyString);
    EXPECT_EQ(table.view(a), "a");
}

TEST(StringTable, KeepsItsViewsWhenItGrowsAndMoves) {
    StringTable table;
    const StringId first = table.intern("first");
    const std::string_view view = table.view(first);
    for (int i = 0; i < 10'000; ++i) {
        table.intern("text " + std::to_string(i));
    }
    StringTable moved = std::move(table);
    EXPECT_EQ(view, "first");
    EXPECT_EQ(moved.intern("first"), first);
    EXPECT_EQ(moved.intern("text 9999"), moved.intern("text 9999"));
}

TEST(ReferenceGraphBuilder, LeavesRowsEmptyThatNobodyFilled) {
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

TEST(EdgeLabel, ReadsAsTheGrammarSays) {
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

TEST(EdgeLabel, LosesItsIndexWhereOnlyTheKindCounts) {
    EXPECT_EQ(generic_label_text(EdgeKind::index, "", 7), "[x]");
    EXPECT_EQ(generic_label_text(EdgeKind::partial_argument, "", 7), "args[x]");
    EXPECT_EQ(generic_label_text(EdgeKind::attribute, "a", 0), ".a");
}

TEST(EdgeLabel, ShowsNeitherAddressesNorUuids) {
    EXPECT_EQ(without_ids("fsdp_state:6f9619ff-8b86-d011-b42d-00cf4fc964ff"), "fsdp_state:<uuid>");
    EXPECT_EQ(without_ids("state_6f9619ff_8b86_d011_b42d_00cf4fc964ff"), "state_<uuid>");
    EXPECT_EQ(without_ids("6f9619ff8b86d011b42d00cf4fc964ff"), "<uuid>");
    EXPECT_EQ(without_ids("hook_139872346112"), "hook_<id>");
    EXPECT_EQ(without_ids("hook139872346112x"), "hook<id>x");
    EXPECT_EQ(without_ids("at_0x7f3a2b9c1d40_"), "at_<id>_");
    EXPECT_EQ(without_ids("part_9f3b07aa"), "part_<id>");
    for (const char* name : {"", "defaced_facade", "conv2d_12", "year_2026", "0x12", "a-b-c"}) {
        EXPECT_EQ(without_ids(name), name);
    }
    EXPECT_EQ(label_text(EdgeKind::attribute, "hook_139872346112", 0), ".hook_<id>");
    EXPECT_EQ(label_text_of_many(EdgeKind::key_value, "hook_139872346112", 0), "['hook_<id>']");
    EXPECT_EQ(generic_label_text(EdgeKind::key_value, "hook_139872346112", 0),
              generic_label_text(EdgeKind::key_value, "hook_<id>", 0));
    EXPECT_EQ(generic_label_text(EdgeKind::field, "", 24), "C field at offset x");
}

TEST(EdgeLabel, KeepsOfAKeyWhatNamesItsKind) {
    EXPECT_EQ(key_shape("weights"), "weights");
    EXPECT_EQ(key_shape("request_17"), "request_#");
    EXPECT_EQ(key_shape("request_#"), "request_#");
    EXPECT_EQ(key_shape("conv2d"), "");
    EXPECT_EQ(key_shape("_9f3b07"), "");
    EXPECT_EQ(generic_label_text(EdgeKind::key_value, "layer1", 0), "['layer#']");
    EXPECT_EQ(generic_label_text(EdgeKind::attribute, "slot_17", 0), ".slot_#");
    EXPECT_EQ(generic_label_text(EdgeKind::attribute, "conv2d_1", 0), ".conv2d_#");
    EXPECT_EQ(generic_label_text(EdgeKind::partial_keyword, "k7", 0), "keywords['k#']");
    EXPECT_EQ(generic_label_text(EdgeKind::closure, "x1", 0), "closure:x1");
    EXPECT_EQ(label_text_of_many(EdgeKind::attribute, "slot_17", 0), ".slot_17");
    EXPECT_EQ(label_text_of_many(EdgeKind::index, "", 17), "[x]");
    EXPECT_EQ(label_text_of_many(EdgeKind::key_value, "secret", kHiddenKey), "[<str>]");
    EXPECT_EQ(generic_label_text(EdgeKind::key_value, "conv2d", 0), "[<str>]");
}

TEST(EdgeLabel, ShowsNoHiddenKeyAndYetKnowsIt) {
    EXPECT_EQ(label_text(EdgeKind::key_value, "ann", kHiddenKey), "[<str>]");
    EXPECT_EQ(generic_label_text(EdgeKind::key_value, "ann", kHiddenKey),
              generic_label_text(EdgeKind::key_value, "ann", 0));
}

TEST(EdgeLabel, DoesNotLetACapturedKeyIntoASignature) {
    EXPECT_EQ(generic_label_text(EdgeKind::captured_key_value, "'secret'", 0),
              generic_label_text(EdgeKind::opaque_key_value, "str", 0));
}

}  // namespace
}  // namespace cyclewatch::model
