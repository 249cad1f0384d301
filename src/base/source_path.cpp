// SPDX-License-Identifier: Apache-2.0
#include "base/source_path.h"

namespace cyclewatch::base {
namespace {

bool has_part(std::string_view path, std::string_view part) {
    return path.find(part) != std::string_view::npos;
}

}  // namespace

Origin origin_of_path(std::string_view path) {
    if (has_part(path, "site-packages") || has_part(path, "dist-packages")) {
        return Origin::library;
    }
    if (has_part(path, "/lib/python3") || has_part(path, "<frozen ")) {
        return Origin::standard_library;
    }
    return Origin::user;
}

std::string text_of(const CallSite& site) {
    return site.path.empty() ? std::string() : site.path + ':' + std::to_string(site.line);
}

std::string_view path_of_location(std::string_view location) {
    const std::size_t end = location.rfind(':');
    const bool has_line = end != std::string_view::npos && end + 1 < location.size() &&
                          location.find_first_not_of("0123456789", end + 1) == location.npos;
    return location.substr(0, has_line ? end : location.npos);
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
