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

}  // namespace cyclewatch::base
