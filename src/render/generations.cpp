// SPDX-License-Identifier: Apache-2.0
#include "render/generations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/text.h"

namespace cyclewatch::render {
namespace {

constexpr std::size_t kMostSignatures = 3;

struct Totals {
    std::uint64_t collections = 0;
    std::uint64_t freeing = 0;
    std::uint64_t freed_bytes = 0;
    double idle_seconds = 0;  // of the collections that freed no device memory
};

Totals totals_of(const model::Stats& stats) {
    Totals sum;
    for (const model::GenerationTotals& each : stats.generations) {
        sum.collections += each.collections;
        sum.freeing += each.freeing;
        sum.freed_bytes += each.freed_bytes;
        sum.idle_seconds += std::max(each.seconds - each.freeing_seconds, 0.0);
    }
    return sum;
}

// "1.9 % of the run".
std::string cost_words(double seconds, double elapsed) {
    return elapsed > 0 ? base::format_percent(std::min(seconds / elapsed, 1.0)) + " of the run"
                       : base::format_duration(seconds);
}

// The findings whose memory has been freed by collections.
struct Freed {
    std::vector<std::string> signatures;
    bool by_library = false;  // one of them cannot be fixed in the program
};

Freed freed_findings(const model::Report& report) {
    Freed freed;
    for (const model::Finding& finding : report.findings) {
        if (finding.collected == model::Collected::yes) {
            freed.signatures.push_back(base::shown_name(finding.signature));
            freed.by_library = freed.by_library || finding.status == model::Status::library;
        }
    }
    return freed;
}

std::string listed(const std::vector<std::string>& signatures) {
    const std::size_t shown = std::min(signatures.size(), kMostSignatures);
    const std::size_t more = signatures.size() - shown;
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
        text += i == 0 ? "" : i + 1 == shown && more == 0 ? " and " : ", ";
        text += signatures[i];
    }
    return text + (more > 0 ? " and " + base::format_count(more) + " more" : "");
}

std::string advice_for(const Freed& freed) {
    if (freed.signatures.empty()) {
        return ".";
    }
    const std::string names = ": " + listed(freed.signatures) + ". ";
    if (freed.by_library) {
        return names +
               "Not all of these findings can be fixed in the program, so collections are needed.";
    }
    return names + (freed.signatures.size() == 1 ? "Fix it" : "Fix them") +
           ", and automatic collection can be disabled.";
}

// If some collections were not searched, it is unknown whether they freed device memory.
std::string sampled_sentence(const Totals& sum, std::uint64_t searched, const Freed& freed) {
    const std::string scope = "The budget was enough to search " + base::format_count(searched) +
                              " of " + base::counted(sum.collections, "collection");
    if (searched == 0) {
        return scope + ".";
    }
    if (sum.freeing == 0) {
        return scope + (searched == 1 ? ", which freed no device memory."
                                      : ", none of which freed device memory.");
    }
    return scope + ", which freed at least " + base::format_bytes(sum.freed_bytes) +
           (freed.signatures.empty() ? "." : ": " + listed(freed.signatures) + ".");
}

// True if no unreachable device memory was found, and nothing was left out of the search.
bool needs_no_collections(const model::Report& report) {
    return report.findings.empty() && report.stats.owners == 0 && report.stats.skipped.empty() &&
           std::ranges::all_of(report.processes, [](const model::ProgramInfo& process) {
               return process.unexamined && process.unexamined->empty();
           });
}

std::string idle_sentence(const Totals& sum, const model::Report& report) {
    const bool one = sum.collections == 1;
    return (one ? "The only collection"
                : "None of the " + base::counted(sum.collections, "collection")) +
           (one ? " freed no device memory and took " : " freed device memory; they took ") +
           cost_words(sum.idle_seconds, report.stats.elapsed) +
           (needs_no_collections(report)
                ? ". Disabling automatic collection would not increase device memory use."
                : ".");
}

}  // namespace

std::string collections_sentence(const model::Report& report) {
    const Totals sum = totals_of(report.stats);
    if (sum.collections == 0) {
        return {};
    }
    const auto skipped = report.stats.skipped.find(model::kNotSearched);
    if (skipped != report.stats.skipped.end()) {
        const std::uint64_t searched = sum.collections - std::min(skipped->second, sum.collections);
        return sampled_sentence(sum, searched, freed_findings(report));
    }
    if (sum.freeing == 0) {
        return idle_sentence(sum, report);
    }
    const std::string gain =
        base::format_bytes(sum.freed_bytes) + advice_for(freed_findings(report));
    const std::uint64_t idle = sum.collections - std::min(sum.freeing, sum.collections);
    if (idle == 0) {
        return (sum.freeing == 1 ? "The only collection freed "
                                 : "All " + base::counted(sum.freeing, "collection") +
                                       " freed device memory, in total ") +
               gain;
    }
    return base::format_count(idle) + " of " + base::counted(sum.collections, "collection") +
           " freed no device memory and took " +
           cost_words(sum.idle_seconds, report.stats.elapsed) + "; the other " +
           (sum.freeing == 1 ? "one" : base::format_count(sum.freeing)) + " freed " + gain;
}

std::vector<std::string> generation_lines(const model::Report& report) {
    std::vector<std::string> lines;
    for (const model::GenerationTotals& each : report.stats.generations) {
        std::string line = "generation " + std::to_string(each.generation) + ": " +
                           base::counted(each.collections, "collection") + " in " +
                           base::format_duration(each.seconds) + " (" +
                           base::format_percent(each.share) + " of the run), " +
                           base::counted(each.reclaimed, "object") + " reclaimed";
        if (each.examined > 0) {
            line += " of " + base::format_count(each.examined) + " examined";
        }
        if (each.freed_bytes > 0) {
            line += ", " + base::format_bytes(each.freed_bytes) + " of device memory freed";
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace cyclewatch::render
