// SPDX-License-Identifier: Apache-2.0
// Compares the memory that an owner claims with the memory that CUDA has allocated at its address.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. PROMISES: the same as device_memory.h.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <unordered_map>

#include "device/device_memory.h"
#include "device/owner_reader.h"

namespace cyclewatch::device {

class ClaimCheck {
  public:
    explicit ClaimCheck(DeviceQueries& cuda = process_queries()) noexcept : cuda_(cuda) {}

    // True if `reading`, from an owner of `type`, contradicts CUDA: the address is on another
    // device or on the host, or the memory extends beyond CUDA's allocations on the device. False
    // if CUDA does not know the address, which may be an identifier. To save time, checks the first
    // owner of a type and then one in kInterval, but every owner of a type that was contradicted
    // before. May throw std::bad_alloc.
    [[nodiscard]] bool contradicts(PyTypeObject* type, const OwnerReading& reading);

    // Describes the contradiction that the last call found: "claims 4.0 GiB of cuda:0 at an address
    // that CUDA knows as 64.0 MiB of cuda:1".
    [[nodiscard]] const std::string& description() const noexcept { return description_; }

    static constexpr std::uint32_t kInterval = 1000;

  private:
    struct Type {
        std::uint32_t seen = 0;
        bool contradicted = false;
    };

    [[nodiscard]] bool check(const OwnerReading& reading);

    DeviceQueries& cuda_;
    std::unordered_map<PyTypeObject*, Type> types_;  // a freed type only causes another check
    std::string description_;
};

}  // namespace cyclewatch::device
