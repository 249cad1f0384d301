// SPDX-License-Identifier: Apache-2.0
#include "device/claim_check.h"

#include <optional>

#include "base/text.h"
#include "device/device_selection.h"

namespace cyclewatch::device {
namespace {

std::string name_of(const PointerFacts& facts) {
    return facts.kind == MemoryKind::host ? std::string("host memory")
                                          : "cuda:" + std::to_string(facts.device);
}

}  // namespace

bool ClaimCheck::contradicts(PyTypeObject* type, const OwnerReading& reading) {
    const std::optional<int> device = cuda_number(reading.device);
    if (!device || reading.bytes == 0) {
        return false;
    }
    Type& known = types_[type];
    const bool due = known.contradicted || known.seen % kInterval == 0;
    ++known.seen;
    if (!due || !check(reading)) {
        return false;
    }
    known.contradicted = true;
    return true;
}

bool ClaimCheck::check(const OwnerReading& reading) {
    const std::optional<PointerFacts> facts = cuda_.pointer_facts(reading.storage);
    if (!facts || facts->kind == MemoryKind::unregistered) {
        return false;
    }
    const std::optional<AddressRange> range = cuda_.allocation_at(reading.storage);
    const auto on_claimed_device = [&reading](const PointerFacts& each) {
        return each.kind == MemoryKind::device && each.device == cuda_number(reading.device);
    };
    bool fits = true;
    if (range) {
        const std::uint64_t offset = reading.storage - range->start;
        fits = offset <= range->bytes && reading.bytes <= range->bytes - offset;
    }
    if (!fits) {
        // Memory that was mapped piece by piece consists of several allocations.
        const std::optional<PointerFacts> last =
            cuda_.pointer_facts(reading.storage + reading.bytes - 1);
        fits = !last || on_claimed_device(*last);
    }
    if (fits && on_claimed_device(*facts)) {
        return false;
    }
    description_ = "claims " + base::format_bytes(reading.bytes) + " of " + reading.device +
                   " at an address that CUDA knows as " +
                   (range ? base::format_bytes(range->bytes) + " of " : std::string()) +
                   name_of(*facts);
    return true;
}

}  // namespace cyclewatch::device
