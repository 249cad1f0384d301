// SPDX-License-Identifier: Apache-2.0
#include "watch/suspected_storages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace cyclewatch::watch {
namespace {

class Storage final : public device::WeakStorage {
  public:
    explicit Storage(const bool& released) : released_(released) {}
    [[nodiscard]] bool released() noexcept override { return released_; }

  private:
    const bool& released_;
};

struct Found {
    std::uint64_t storage;
    std::uint64_t bytes;
};

// Returns the storages that are reported by a search that finds `all`.
std::vector<std::uint64_t> search(SuspectedStorages& suspects,
                                  int settle,
                                  std::initializer_list<Found> all,
                                  const bool* released = nullptr) {
    std::vector<std::uint64_t> settled;
    const auto read = [&](const Found& found) {
        device::OwnerReading reading;
        reading.device = "cpu";
        reading.storage = found.storage;
        reading.bytes = found.bytes;
        if (released != nullptr) {
            reading.weak_storage = std::make_unique<Storage>(*released);
        }
        if (suspects.is_settled(reading)) {
            settled.push_back(found.storage);
        }
    };
    suspects.begin(settle);
    std::ranges::for_each(all, read);
    if (suspects.end()) {
        settled.clear();
        std::ranges::for_each(all, read);
    }
    return settled;
}

using Storages = std::vector<std::uint64_t>;

TEST(SuspectedStorages, SettleAfterSeveralSearchesInARow) {
    SuspectedStorages suspects;
    EXPECT_EQ(search(suspects, 2, {{1, 10}}), Storages());
    EXPECT_EQ(search(suspects, 2, {{1, 10}, {2, 70}}), Storages());
    EXPECT_EQ(suspects.count(), 2U);
    EXPECT_EQ(suspects.bytes(), 80U);
    EXPECT_EQ(search(suspects, 2, {{1, 10}, {2, 70}}), Storages({1}));
    EXPECT_EQ(suspects.count(), 1U);
    EXPECT_EQ(search(suspects, 2, {{2, 70}}), Storages({2}));
    EXPECT_EQ(search(suspects, 2, {{1, 10}, {2, 70}}), Storages({2})) << "1 was not found before";
}

TEST(SuspectedStorages, SettleAtOnceIfNoSearchIsRequired) {
    SuspectedStorages suspects;
    EXPECT_EQ(search(suspects, 0, {{1, 10}}), Storages({1}));
    EXPECT_EQ(search(suspects, -1, {{2, 10}}), Storages({2}));
}

TEST(SuspectedStorages, SettleEarlierIfTheirNumberGrows) {
    SuspectedStorages suspects;
    EXPECT_EQ(search(suspects, 9, {{1, 10}, {7, 99}}), Storages());
    EXPECT_EQ(search(suspects, 9, {{1, 10}, {2, 10}, {7, 99}}), Storages({1}));
    EXPECT_EQ(suspects.count(), 2U) << "2 is new, and the number of 7 did not grow";
    EXPECT_EQ(search(suspects, 9, {{1, 10}, {2, 10}, {3, 10}, {7, 99}}), Storages({1, 2}));
    EXPECT_EQ(search(suspects, 9, {{1, 10}, {2, 10}, {3, 10}, {7, 99}}), Storages())
        << "the number no longer grows";
}

TEST(SuspectedStorages, AFreedStorageIsForgottenAlthoughItsAddressIsReused) {
    SuspectedStorages suspects;
    bool released = false;
    EXPECT_EQ(search(suspects, 1, {{1, 10}}, &released), Storages());
    released = true;
    EXPECT_EQ(search(suspects, 1, {{1, 10}}, nullptr), Storages());
}

}  // namespace
}  // namespace cyclewatch::watch
