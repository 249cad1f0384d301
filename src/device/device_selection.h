// SPDX-License-Identifier: Apache-2.0
// Which devices to watch: devices="auto", ("cuda",), ("cpu", "cuda:1"), "all".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cyclewatch::device {

// The index in "cuda:<index>"; nullopt for any other text.
[[nodiscard]] std::optional<int> cuda_number(std::string_view device) noexcept;

// A default-constructed selection contains all devices.
class DeviceSelection {
  public:
    // Each word is "auto", "all", a known device kind, or a kind with an index ("cuda:1"). The
    // error names the invalid word and lists the valid words.
    static base::Result<DeviceSelection> parse(const std::vector<std::string>& words);

    // True if memory on `device` ("cuda:0", "cpu") is watched. "auto" selects every accelerator,
    // and the CPU unless `accelerator_usable` is true.
    [[nodiscard]] bool matches(std::string_view device, bool accelerator_usable) const;

    // As written by the user.
    [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }

  private:
    std::vector<std::string> words_{"all"};
};

}  // namespace cyclewatch::device
