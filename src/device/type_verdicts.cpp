// SPDX-License-Identifier: Apache-2.0
#include "device/type_verdicts.h"

#include <array>

#include "compat/object_layout.h"

namespace cyclewatch::device {
namespace {

constexpr TypeVerdict kNoVerdict{};

// Copying this array is faster than filling remembered_ in place.
constexpr auto kNoneRemembered = [] {
    std::array<const TypeVerdict*, 256> verdicts{};
    verdicts.fill(&kNoVerdict);
    return verdicts;
}();

}  // namespace

void TypeVerdicts::begin(OwnerRegistry& registry) noexcept {
    remembered_ = kNoneRemembered;
    ++round_;
    if (registry_ != &registry || registry_version_ != registry.version() || round_ == 0) {
        registry_ = &registry;
        registry_version_ = registry.version();
        verdicts_.fill({});
        round_ = 1;
    }
}

void TypeVerdicts::renew(TypeVerdict& verdict, PyTypeObject* type) noexcept {
    // A type version identifies one state of one type, and is never reused. 0 is not a version.
    const std::uint32_t version = cyclewatch_type_version(type);
    if (verdict.traversal.type() != type || verdict.version != version || version == 0) {
        classify(verdict, type);
        verdict.version = version;
    }
    verdict.round = round_;
}

void TypeVerdicts::classify(TypeVerdict& verdict, PyTypeObject* type) noexcept {
    verdict.traversal = python::TypeTraversal(type);
    if (!outlives_set(reinterpret_cast<PyObject*>(type))) {
        verdict.traversal.include_type();
    }
    verdict.reader = registry_->reader_for(type);
    if (verdict.reader != nullptr) {
        verdict.role = TypeRole::owner;
    } else if (verdict.traversal.may_have_gc_header()) {
        verdict.role = TypeRole::container;
    } else {
        verdict.role = TypeRole::inert;
    }
}

}  // namespace cyclewatch::device
