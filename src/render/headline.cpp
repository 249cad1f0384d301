// SPDX-License-Identifier: Apache-2.0
#include "render/headline.h"

#include <span>
#include <string_view>

#include "base/byte_size.h"
#include "base/dotted_name.h"
#include "render/labels.h"
#include "render/summary.h"

namespace cyclewatch::render {
namespace {

// A dict that locals() made: "locals() of pkg.Engine.run".
constexpr std::string_view kLocals = "locals()";

// "Engine is part of a reference loop that"
std::string who(const model::Finding& finding) {
    const bool several = finding.occurrences > 1;
    const std::string loops = several ? counted(finding.occurrences, "reference loop") : "";
    if (finding.loop.empty()) {
        return several ? loops : "A reference loop";
    }
    const std::string_view name = finding.loop.front().holder;
    const std::string holder(name.starts_with(kLocals) ? kLocals : base::last_part(name));
    if (several) {
        return loops + " through " + holder;
    }
    return holder + (finding.loop.size() == 1 ? " refers to itself and"
                                              : " is part of a reference loop that");
}

// "keeps 4.0 KiB of cuda:0 memory alive"
std::string does_what(const model::Finding& finding) {
    const std::string verb_end = finding.occurrences > 1 ? " " : "s ";
    if (finding.held_bytes == 0 && finding.shared_bytes == 0) {
        return "lead" + verb_end + "to device memory that something else holds too";
    }
    const bool own = finding.held_bytes > 0;
    return "keep" + verb_end + base::format_bytes(own ? finding.held_bytes : finding.shared_bytes) +
           " of " + memory_kind(std::span(&finding, 1)) + " alive" +
           (own ? "" : ", " + sharing_words(finding));
}

}  // namespace

std::string headline(const model::Finding& finding) {
    const std::string text = who(finding) + " " + does_what(finding);
    return clean_text(text + (finding.remedy.empty() ? "." : ": " + finding.remedy + "."));
}

}  // namespace cyclewatch::render
