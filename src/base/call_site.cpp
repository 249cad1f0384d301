// SPDX-License-Identifier: Apache-2.0
#include "base/call_site.h"

#include "base/source_path.h"

namespace cyclewatch::base {

std::string text_of(const CallSite& site) {
    return site.path.empty() ? std::string() : site.path + ':' + std::to_string(site.line);
}

bool CallChoice::offer(CallSite call) {
    if (decided_ || call.line == 0 || call.path.empty()) {
        return !decided_;
    }
    decided_ = origin_of_path(call.path) == Origin::user;
    if (decided_ || chosen_.path.empty()) {
        chosen_ = std::move(call);
    }
    return !decided_;
}

}  // namespace cyclewatch::base
