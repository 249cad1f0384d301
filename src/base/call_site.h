// SPDX-License-Identifier: Apache-2.0
// Places in source code that a traceback passes through, and which of them is worth saying.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace cyclewatch::base {

struct CallSite {
    std::string path;  // "": not known
    std::uint32_t line = 0;

    friend bool operator==(const CallSite&, const CallSite&) = default;
};

// "path:line"; "" if it is not known.
[[nodiscard]] std::string text_of(const CallSite& site);

// Chooses the call of a traceback that says where something was made: the innermost one of the
// user's own code, since a line of a library is no help; the innermost of all if there is none.
class CallChoice {
  public:
    // Takes the calls in order, the most recent one first. False once it is decided.
    bool offer(CallSite call);
    [[nodiscard]] CallSite take() { return std::move(chosen_); }

  private:
    CallSite chosen_;
    bool decided_ = false;
};

}  // namespace cyclewatch::base
