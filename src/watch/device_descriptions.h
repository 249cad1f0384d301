// SPDX-License-Identifier: Apache-2.0
// Collects the device records of one watch's report.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/observation.h"
#include "model/report.h"

namespace cyclewatch::watch {

// A device whose record is missing or out of date.
struct DescriptionRequest {
    int device = 0;  // the index in "cuda:<index>"
    std::uint64_t collection = 0;
    std::uint64_t dead = 0;  // bytes of unreachable storages on the device
    std::optional<model::DeviceMemory> sample;
};

class DeviceDescriptions {
  public:
    // The devices of the collection's storages that are described for the first time, or on which
    // no earlier collection found as many dead bytes. RUNS PYTHON: never. May throw std::bad_alloc.
    [[nodiscard]] std::vector<DescriptionRequest> requests(const model::Observation& observation);

    // Queries CUDA. Returns the new record, or nullopt if CUDA must not be queried on this thread.
    // REQUIRES: no collection in progress. RUNS PYTHON: never. May throw std::bad_alloc.
    [[nodiscard]] std::optional<model::DeviceRecord> describe(const DescriptionRequest& request);

    // Queries CUDA for the current use of the devices that are described. Returns their new
    // records. REQUIRES: no collection in progress. RUNS PYTHON: never. May throw std::bad_alloc.
    [[nodiscard]] std::vector<model::DeviceRecord> measure();

    // The sentence for an error that was pending before a collection; "" if the error has been
    // reported before. All later records contain the error.
    [[nodiscard]] std::string error_sentence(std::uint64_t collection, int error);

  private:
    struct Device {
        std::uint64_t dead = 0;  // maximum of all requests
        int attempts = 0;        // to describe the device
        std::optional<model::DeviceRecord> record;
    };

    std::map<int, Device> devices_;
    std::set<int> reported_errors_;
    std::string last_error_;
};

}  // namespace cyclewatch::watch
