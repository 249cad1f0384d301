// SPDX-License-Identifier: Apache-2.0
#include "watch/known_findings.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/wide_hash.h"

namespace cyclewatch::watch {
namespace {

GarbageShape shape(std::uint64_t key, std::vector<std::uint64_t> storage_keys) {
    return {base::WideHash().add(key), 1, {}, std::move(storage_keys)};
}

TEST(KnownFindings, StoragesHaveTheSignatureOfTheirFinding) {
    std::vector<model::Finding> findings(2);
    findings[0].signature = "cw1-first";
    findings[1].signature = "cw1-second";
    KnownFindings known;
    known.add(shape(1, {10, 11, 12}),
              findings,
              {&findings[0].signature, nullptr, &findings[1].signature});

    // The storages of a later collection have another order.
    const GarbageShape later = shape(1, {12, 11, 10});
    EXPECT_EQ(known.signature_of(later, 0), "cw1-second");
    EXPECT_EQ(known.signature_of(later, 1), "");
    EXPECT_EQ(known.signature_of(later, 2), "cw1-first");
    EXPECT_EQ(known.signature_of(later, 3), "");
    EXPECT_EQ(known.signature_of(shape(2, {12}), 0), "");

    known.reject(later);
    EXPECT_EQ(known.signature_of(later, 0), "");
}

}  // namespace
}  // namespace cyclewatch::watch
