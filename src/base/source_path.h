// SPDX-License-Identifier: Apache-2.0
// Classifies source files as user, library or standard library by their path, and chooses which
// frame of a call stack is reported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cyclewatch::base {

enum class Origin : std::uint8_t { user, library, standard_library };

// Returns `user` unless the path is in site-packages, dist-packages or the standard library.
[[nodiscard]] Origin origin_of_path(std::string_view path);

struct CallSite {
    std::string path;  // "": unknown
    std::uint32_t line = 0;

    friend bool operator==(const CallSite&, const CallSite&) = default;
};

// "path:line"; "" if unknown.
[[nodiscard]] std::string text_of(const CallSite& site);

// The path in a location such as "path:line", or the whole location if it does not contain a line.
[[nodiscard]] std::string_view path_of_location(std::string_view location);

// Chooses which frame of a call stack is reported as an allocation site. Prefers the innermost
// frame in user code, because users cannot change library code. If no frame is in user code,
// chooses the innermost frame.
class CallChoice {
  public:
    // Considers one frame. Must be called for each frame, innermost first. Returns false once the
    // choice is final.
    bool offer(CallSite call);
    [[nodiscard]] CallSite take() { return std::move(chosen_); }

  private:
    CallSite chosen_;
    bool decided_ = false;
};

}  // namespace cyclewatch::base
