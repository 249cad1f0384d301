// SPDX-License-Identifier: Apache-2.0
// Which devices a watch looks at: devices="auto", ("cuda",), ("cpu", "cuda:1"), "all".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cyclewatch::device {

// Device kinds users may name: "cpu" "cuda" "xpu" "mps" "mtia" "hpu" "npu" "xla" ... plus
// "auto" and "all".
[[nodiscard]] const std::vector<std::string>& known_device_names();

// The number of "cuda:<number>"; nothing of any other word.
[[nodiscard]] std::optional<int> cuda_number(std::string_view device) noexcept;

class DeviceSelection {
  public:
    // Each word is "auto", "all", a known device kind, or a kind with an index ("cuda:1").
    // The error names the word and lists the valid ones.
    static base::Result<DeviceSelection> parse(const std::vector<std::string>& words);

    // True if memory on `device` ("cuda:0", "cpu") is watched. "auto" means: every accelerator
    // when one is usable (`accelerator_usable`), else the CPU.
    [[nodiscard]] bool matches(std::string_view device, bool accelerator_usable) const;

    // As the user wrote it.
    [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }

  private:
    std::vector<std::string> words_;
};

}  // namespace cyclewatch::device
