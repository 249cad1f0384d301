// SPDX-License-Identifier: Apache-2.0
// The addresses of storages on CUDA devices, with which `cyclewatch snapshot --owners` finds the
// owners of the blocks in a snapshot of torch. Addresses on the CPU are never listed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/report.h"
#include "model/retention.h"

namespace cyclewatch::report {

// Storages of reachable owners, and as many unreachable ones in each of the states of DeadStorage.
inline constexpr std::size_t kMaxAddresses = 1000;

// A storage that a search found unreachable.
struct DeadStorage {
    std::string device;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    double at = 0;          // seconds since the watch started, at the end of the search
    bool freed = false;     // the search was a collection, which freed it
    std::string signature;  // of its finding
};

// Creates Report::addresses.
class AddressList {
  public:
    // The storages of groups of reachable owners that were listed at `at`. An address is listed
    // once, so add the latest groups first.
    void add(std::span<const model::LiveOwner> owners, double at);
    void add(const DeadStorage& storage);
    // Missing if nothing was added.
    [[nodiscard]] std::optional<std::vector<model::StorageAddresses>> take();

  private:
    std::vector<model::StorageAddresses> groups_;
    std::set<std::pair<std::string, std::uint64_t>> reachable_;
};

// Adds the storages of owners that were listed when `report` was created.
void append_addresses(std::span<const model::LiveOwner> owners, model::Report& report);
// Adds the unreachable storages of `scan`, which was created shortly before `report`.
void append_dead_addresses(const model::Report& scan, model::Report& report);

// The storages that the searches of a watch found unreachable.
class DeadStorages {
  public:
    // Storages that are not freed are kept in preference to later ones; freed ones are not.
    void add(DeadStorage storage);
    // Call this after reported storages were freed. `exists`: false if the storage was freed.
    void update(const std::function<bool(const std::string& device, std::uint64_t)>& exists,
                double now);
    void append_to(AddressList& list) const;

  private:
    void add_freed(DeadStorage storage);

    std::map<std::pair<std::string, std::uint64_t>, DeadStorage> retained_;  // by identity
    std::deque<DeadStorage> freed_;                                          // oldest first
};

}  // namespace cyclewatch::report
