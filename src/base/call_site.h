// SPDX-License-Identifier: Apache-2.0
// The source locations in a call stack, and the choice of the one to report.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace cyclewatch::base {

struct CallSite {
    std::string path;  // "": unknown
    std::uint32_t line = 0;

    friend bool operator==(const CallSite&, const CallSite&) = default;
};

// "path:line"; "" if unknown.
[[nodiscard]] std::string text_of(const CallSite& site);

// Chooses the frame of a call stack to report as an allocation site: the innermost frame in user
// code, because a location in a library does not help, or the innermost frame of all if there is
// none in user code.
class CallChoice {
  public:
    // Offers the frames in order, innermost first. Returns false once the choice is final.
    bool offer(CallSite call);
    [[nodiscard]] CallSite take() { return std::move(chosen_); }

  private:
    CallSite chosen_;
    bool decided_ = false;
};

}  // namespace cyclewatch::base
