// SPDX-License-Identifier: Apache-2.0
#include "base/source_path.h"

#include "base/code_roots.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>

namespace cyclewatch::base {
namespace {

struct PathHash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
    std::size_t operator()(std::string_view text) const noexcept {
        return std::hash<std::string_view>()(text);
    }
};

struct RootTable {
    std::vector<CodeRoot> roots;  // as passed to set_code_roots()
    std::unordered_map<std::string, Origin, PathHash, std::equal_to<>> by_path;
};

std::atomic<const RootTable*> active_roots{nullptr};

bool has_part(std::string_view path, std::string_view part) {
    return path.find(part) != std::string_view::npos;
}

// Tries the path itself, then each folder that contains it, innermost first.
const Origin* find_root(const RootTable& table, std::string_view path) {
    for (std::size_t end = path.size(); end != std::string_view::npos; end = path.rfind('/')) {
        path = path.substr(0, end);
        const auto found = table.by_path.find(path);
        if (found != table.by_path.end()) {
            return &found->second;
        }
    }
    return nullptr;
}

}  // namespace

void set_code_roots(std::vector<CodeRoot> roots) {
    static auto& all = *new std::vector<std::unique_ptr<RootTable>>;  // also used during exit
    const auto same =
        std::ranges::find_if(all, [&roots](const auto& table) { return table->roots == roots; });
    if (same != all.end()) {
        active_roots = same->get();
        return;
    }
    auto table = std::make_unique<RootTable>();
    for (const CodeRoot& root : roots) {
        table->by_path.emplace(root.path, root.origin);
    }
    table->roots = std::move(roots);
    active_roots = all.emplace_back(std::move(table)).get();
}

Origin origin_of_path(std::string_view path) {
    const RootTable* const table = active_roots;
    if (const Origin* const found = table == nullptr ? nullptr : find_root(*table, path)) {
        return *found;
    }
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
