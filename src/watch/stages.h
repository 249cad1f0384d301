// SPDX-License-Identifier: Apache-2.0
// The stages that a collection (pipeline.h) and a scan (heap_searches.h) have in common.
#pragma once

#include "advice/rules.h"
#include "device/owner_registry.h"
#include "watch/finding_reporter.h"
#include "watch/garbage_reader.h"
#include "watch/inherited_owners.h"
#include "watch/search.h"

namespace cyclewatch::watch {

struct Stages {
    device::OwnerRegistry registry;
    advice::Rules rules;
    SearchClock clock;
    InheritedOwners inherited;
    GarbageReader reader{registry, rules, inherited};
    FindingReporter reporter{rules};

    // Call this in a forked child.
    void reset() {
        clock.reset_number();
        reporter.reset();
    }
};

}  // namespace cyclewatch::watch
