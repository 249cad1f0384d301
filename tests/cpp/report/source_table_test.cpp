// SPDX-License-Identifier: Apache-2.0
#include "report/source_table.h"

#include <gtest/gtest.h>

namespace cyclewatch::report {
namespace {

model::Finding finding_at(const std::string& location, model::ColumnRange columns) {
    model::Finding finding;
    finding.cut.resize(1);
    finding.cut.front().location = location;
    finding.cut.front().columns = columns;
    finding.alternatives = finding.cut;
    return finding;
}

TEST(SourceTable, AddsTheLinesToCutsAndAlternatives) {
    SourceTable table;
    table.add({{"a.py:2", {1, {"one", "é = two", "three"}}}});
    model::Finding finding = finding_at("a.py:2", {5, 8});
    table.fill(finding);
    // Bytes become code points.
    const model::SourceExcerpt expected{1, 2, 5, 8, {"one", "é = two", "three"}};
    EXPECT_EQ(finding.cut.front().source, expected);
    EXPECT_EQ(finding.alternatives.front().source, expected);
}

TEST(SourceTable, IgnoresOtherLocations) {
    SourceTable table;
    table.add({{"a.py:2", {1, {"one", "two"}}}});
    for (const char* location : {"", "a.py", "a.py:3", "b.py:2"}) {
        model::Finding finding = finding_at(location, {});
        table.fill(finding);
        EXPECT_FALSE(finding.cut.front().source.has_value()) << location;
    }
}

TEST(SourceTable, DropsColumnsOutsideTheLine) {
    SourceTable table;
    table.add({{"a.py:1", {1, {"ab..."}}}});
    model::Finding finding = finding_at("a.py:1", {2, 9});
    table.fill(finding);
    EXPECT_EQ(finding.cut.front().source, (model::SourceExcerpt{1, 1, 0, 0, {"ab..."}}));
}

}  // namespace
}  // namespace cyclewatch::report
