// SPDX-License-Identifier: Apache-2.0
// Everything one watch has found so far. Bounded: ten thousand equal leaks are one finding.
// Thread-safe; never calls Python.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/finding.h"
#include "model/observation.h"
#include "model/report.h"

namespace cyclewatch::report {

inline constexpr std::size_t kMaxFindings = 1000;  // signatures; a note counts the rest
inline constexpr std::size_t kMaxNotes = 100;

// The sentence of a report that could not hold `number` kinds of cycles.
[[nodiscard]] std::string not_kept_note(const std::string& number);

// What add() says about each finding it was given.
struct Added {
    std::vector<model::Finding> fresh;  // signatures seen for the first time, as stored
    std::vector<model::Finding> seen;   // merged state of the others
};

class ReportStore {
  public:
    ReportStore(model::ProgramInfo program, std::vector<std::string> devices);

    // Merges the findings of one collection and keeps its record. `findings` may be empty. What is
    // the same mistake as a stored finding joins it and goes by its signature.
    Added add(const model::CollectionRecord& record, std::vector<model::Finding> findings);

    // Lets `change` have every finding, when what is thought or known of them has changed. It must
    // leave their signatures and their bytes as they are, and must not call the store.
    void revise(const std::function<void(model::Finding&)>& change);

    // Sentences for the report's notes; each is kept once.
    void note(const std::string& sentence);

    // A consistent copy. `stats` is filled by the caller that owns the clocks.
    [[nodiscard]] model::Report snapshot(const model::Stats& stats) const;

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace cyclewatch::report
