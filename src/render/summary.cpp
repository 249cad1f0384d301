// SPDX-License-Identifier: Apache-2.0
#include "render/summary.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace cyclewatch::render {

std::string similar_paths(std::string_view path, std::uint64_t count) {
    const std::size_t arrow = path.rfind(" -> ");
    const bool names_one =
        path.find_first_of("0123456789") == std::string_view::npos &&
        (arrow == std::string_view::npos || path.find('.', arrow) != std::string_view::npos);
    return count > 1 && !names_one ? " (one of " + base::format_count(count) + " such paths)" : "";
}

namespace {

using base::format_bytes;

std::uint64_t total_cycles(const model::Report& report) {
    std::uint64_t cycles = 0;
    for (const model::Finding& finding : report.findings) {
        cycles += finding.occurrences;
    }
    return cycles;
}

// A collection has freed some of the memory that scans have found in these cycles.
bool is_collected_in_part(const model::Finding& finding) {
    return model::uncollected_bytes(finding) < finding.retained_bytes + finding.shared_bytes;
}

bool is_collected(const model::Finding& finding) {
    return finding.collected == model::Collected::yes;
}

// True if some collections were not searched, so that the totals are lower bounds.
bool is_sampled(const model::Report& report) {
    return report.stats.skipped.contains(model::kNotSearched);
}

// "auto" and "all" are settings, not device names.
std::string memory_watched(const std::vector<std::string>& devices) {
    const bool named = !devices.empty() && std::ranges::none_of(devices, [](const auto& device) {
        return device == "auto" || device == "all";
    });
    return named ? base::joined(devices) + " memory" : "device memory";
}

// "12 collections and 1 scan in 3.4 s"
std::string searches(const model::Stats& stats) {
    std::vector<std::string> counts;
    if (stats.collections > 0) {
        counts.push_back(base::counted(stats.collections, "collection"));
    }
    if (stats.scans > 0) {
        counts.push_back(base::counted(stats.scans, "scan"));
    }
    return base::joined(counts) + " in " + base::format_duration(stats.elapsed);
}

std::string quiet_sentence(const model::Report& report) {
    const model::Stats& stats = report.stats;
    const std::string watched = memory_watched(report.devices);
    if (stats.collections == 0 && stats.scans == 0) {
        return "No collection ran while cyclewatch was watching (" +
               base::format_duration(stats.elapsed) + ").";
    }
    if (is_sampled(report)) {
        const std::uint64_t searched = stats.collections - stats.skipped.at(model::kNotSearched);
        return "No unreachable " + watched + " was found in the " + base::format_count(searched) +
               " of " + base::counted(stats.collections, "collection") +
               " searched within the budget.";
    }
    const std::string found =
        searches(stats) + " found " + base::counted(stats.unreachable, "unreachable object");
    if (stats.suspected_bytes) {
        return base::format_bytes(*stats.suspected_bytes) + " of " + watched +
               " may be never freed; it is reported if the next searches find it, too: " + found +
               ".";
    }
    if (stats.owners == 0) {
        return "No unreachable " + watched + " was found: " + found +
               ", none of which owned such memory.";
    }
    return found + ", including " + base::counted(stats.owners, "owner") + " of " + watched +
           (stats.skipped.contains(model::kTooSmall)
                ? ", but no reference cycle that keeps as much of it as `min_bytes` asks for."
                : ", but no reference cycle that leads to such memory.");
}

// " Not examined: the objects that ..."; "" if everything was examined.
std::string gap_sentence(const model::Report& report) {
    const std::string objects = unexamined_words(report);
    return objects.empty() ? "" : " Not examined: " + objects + ".";
}

// " Live tensors grow by 4.0 KiB per step."; "" if none grow.
std::string growth_words(const model::Report& report) {
    if (!report.growing || report.growing->empty()) {
        return {};
    }
    model::GrowingOwner total = report.growing->front();
    total.rate = 0;
    for (const model::GrowingOwner& growing : *report.growing) {
        total.rate += growing.unit == total.unit ? growing.rate : 0;
    }
    return " Live tensors grow by " + growth_rate(total) + ".";
}

// True if the finding also retains memory that was saved for backward, whose size is not known.
bool retains_unowned(const model::Finding& finding) {
    return finding.unowned_bytes.has_value();
}

// The number of references to cut for one or two findings, and the number of bytes that cutting
// them frees.
struct Remedy {
    std::size_t references = 0;
    std::uint64_t bytes = 0;
    bool payload = true;    // all of them lead from a cycle to an owner, so cycles remain
    bool is_least = false;  // memory saved for backward, which nothing has measured, is freed too

    void add(const model::Finding& finding) {
        references += finding.cut.size();
        const std::uint64_t kept = finding.retained_bytes + finding.unowned_bytes.value_or(0);
        bytes += static_cast<std::uint64_t>(static_cast<double>(kept) * finding.freed_share);
        payload = payload && finding.cut.front().payload;
        is_least = is_least || retains_unowned(finding);
    }
};

std::string first_references(std::size_t count) {
    return count == 1   ? "first reference"
           : count == 2 ? "first two references"
                        : "first " + base::format_count(count) + " references";
}

// "freed once this and 4 other findings are fixed".
std::string freed_when(const model::Finding& finding) {
    if (finding.shared_with == 0) {
        return "freed once all other objects that refer to it are freed";
    }
    return "freed once this and " + base::counted(finding.shared_with, "other finding") +
           " are fixed";
}

std::string shared_remedy(const model::Finding& finding, std::string_view name) {
    return format_bytes(finding.shared_bytes) + " is freed once " + std::string(name) +
           (finding.shared_with == 0
                ? " is fixed and all other objects that refer to this memory are freed."
                : " and " + base::counted(finding.shared_with, "other finding") + " are fixed.");
}

// "/a/b/f1.py:12" -> "f1.py:12".
std::string file_of(const std::string& location) {
    return location.substr(location.rfind('/') + 1);
}

std::string script_of(const model::ProgramInfo& program) {
    return program.script.empty() ? "(interactive)" : program.script;
}

std::string many_processes_line(const std::vector<model::ProgramInfo>& processes) {
    std::set<std::string> scripts;
    std::set<std::string> starts;
    std::set<int> ranks;
    for (const model::ProgramInfo& program : processes) {
        scripts.insert(script_of(program));
        starts.insert(program.started_at);
        ranks.insert(program.rank);
    }
    std::string line = base::counted(processes.size(), "process", "processes") + " of " +
                       (scripts.size() > 3 ? base::counted(scripts.size(), "program")
                                           : base::joined({scripts.begin(), scripts.end()}));
    if (ranks.size() > 1 && *ranks.begin() >= 0) {
        line +=
            ", ranks " + std::to_string(*ranks.begin()) + " to " + std::to_string(*ranks.rbegin());
    }
    if (!starts.begin()->empty()) {
        line += ", watched since " + *starts.begin();
    }
    return line;
}

// Prefix of the name of a dict returned by locals(): "locals() of pkg.Engine.run".
constexpr std::string_view kLocals = "locals()";

// "Engine is part of a reference cycle that"
std::string subject_of(const model::Finding& finding) {
    const bool several = finding.occurrences > 1;
    const std::string cycles = several ? base::counted(finding.occurrences, "reference cycle") : "";
    if (finding.cycle.empty()) {
        return several ? cycles : "A reference cycle";
    }
    const std::string_view name = finding.cycle.front().holder;
    const std::string holder(name.starts_with(kLocals) ? kLocals : base::last_part(name));
    if (several) {
        return cycles + " through " + holder;
    }
    return holder + (finding.cycle.size() == 1 ? " refers to itself and"
                                               : " is part of a reference cycle that");
}

// "keeps 4.0 KiB of cuda:0 memory alive"
std::string effect_of(const model::Finding& finding) {
    const std::string verb_end = finding.occurrences > 1 ? " " : "s ";
    if (finding.retained_bytes == 0 && finding.shared_bytes == 0) {
        return "lead" + verb_end + "to device memory that other objects also refer to";
    }
    const std::uint64_t saved = finding.unowned_bytes.value_or(0);
    return "keep" + verb_end + kept_size(finding) + " of " + memory_kind(std::span(&finding, 1)) +
           " alive" + (finding.retained_bytes > 0 ? "" : ", " + sharing_words(finding)) +
           (saved > 0 ? ", and " + format_bytes(saved) + " saved for backward" : "") +
           (is_collected(finding) ? "" : " (" + collected_words(finding) + ")");
}

// The first ten ranks or ranges of ranks: "0", "3 to 17", "and 4 more".
std::vector<std::string> ranges_of(const std::set<int>& ranks) {
    constexpr std::size_t kMost = 10;
    std::vector<std::pair<int, int>> ranges;
    for (const int rank : ranks) {
        if (ranges.empty() || ranges.back().second != rank - 1) {
            ranges.emplace_back(rank, rank);
        }
        ranges.back().second = rank;
    }
    std::vector<std::string> words;
    for (const auto& [first, last] : ranges) {
        if (words.size() == kMost) {
            words.push_back("others");
            break;
        }
        words.push_back(std::to_string(first) +
                        (first == last ? "" : " to " + std::to_string(last)));
    }
    return words;
}

// summary_sentence() without the missing ranks.
std::string result_sentence(const model::Report& report) {
    if (report.findings.empty()) {
        return quiet_sentence(report) + gap_sentence(report) + growth_words(report);
    }
    double longest = 0;
    for (const model::Finding& finding : report.findings) {
        longest = std::max(longest, finding.dead_for_at_most);
    }
    const bool sampled = is_sampled(report);
    const std::string cycles =
        (sampled ? "At least " : "") + base::counted(total_cycles(report), "reference cycle");
    const bool is_least = sampled || std::ranges::any_of(report.findings, retains_unowned);
    std::uint64_t bytes = report.retained_bytes;
    for (const model::Finding& finding : report.findings) {
        bytes += finding.unowned_bytes.value_or(0);
    }
    const std::string memory =
        (is_least ? "at least " : "") + format_bytes(bytes) + " of " + memory_kind(report.findings);
    if (std::ranges::none_of(report.findings, &is_collected)) {
        const bool partly = std::ranges::any_of(report.findings, [](const model::Finding& finding) {
            return finding.collections > 0 || is_collected_in_part(finding);
        });
        return cycles +
               (total_cycles(report) == 1 ? " keeps "
                : partly                  ? " kept "
                                          : " keep ") +
               memory +
               (partly ? " alive, part of which no collection has freed yet."
                       : " alive that no collection has freed.");
    }
    std::string sentence = cycles + " kept " + memory + " alive";
    sentence += longest > 0
                    ? " for up to " + base::format_duration(longest) + " after its last use."
                    : " after its last use.";
    return sentence;
}

}  // namespace

double share_of(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) {
        return 0;
    }
    return std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

std::string memory_kind(std::span<const model::Finding> findings) {
    std::set<std::string> devices;
    for (const model::Finding& finding : findings) {
        for (const model::OwnerSummary& owner : finding.owners) {
            devices.insert(owner.device);
        }
    }
    return devices.size() == 1 && !devices.begin()->empty() ? *devices.begin() + " memory"
                                                            : "device memory";
}

std::string unexamined_words(const model::Report& report) {
    std::set<std::string> gaps;
    std::uint64_t processes = 0;
    for (const model::ProgramInfo& process : report.processes) {
        if (process.unexamined && !process.unexamined->empty()) {
            gaps.insert(*process.unexamined);
            ++processes;
        }
    }
    if (gaps.empty()) {
        return {};
    }
    const std::string words = base::joined({gaps.begin(), gaps.end()});
    return base::clean_text(
        report.processes.size() == 1
            ? words
            : words + " (in " + base::format_count(processes) + " of " +
                  base::counted(report.processes.size(), "process", "processes") + ")");
}

std::string missing_ranks_sentence(const model::Report& report) {
    if (!report.missing_ranks || report.missing_ranks->empty()) {
        return {};
    }
    std::set<int> ranks(report.missing_ranks->begin(), report.missing_ranks->end());
    const std::size_t missing = ranks.size();
    const std::string names = base::joined(ranges_of(ranks));
    for (const model::ProgramInfo& process : report.processes) {
        // Rank 0 gathers the reports; its own may have been made before the rank was known.
        ranks.insert(std::max(process.rank, 0));
    }
    return "No report from " + base::format_count(missing) + " of " +
           base::counted(ranks.size(), "rank") + " (" + names + ").";
}

std::string summary_sentence(const model::Report& report) {
    const std::string missing = missing_ranks_sentence(report);
    return (missing.empty() ? "" : missing + " ") + result_sentence(report);
}
std::string remedy_sentence(const model::Report& report) {
    const auto is_new = [](const model::Finding& finding) {
        return finding.status == model::Status::fresh;
    };
    const auto first_new = std::ranges::find_if(report.findings, is_new);
    if (first_new == report.findings.end()) {
        return report.findings.empty() ? "" : "No new findings; reasons below.";
    }
    const model::Finding& first = *first_new;
    if (first.retained_bytes == 0) {
        return first.shared_bytes == 0 ? "" : shared_remedy(first, "the first finding");
    }
    if (first.cut.empty() || first.freed_share <= 0) {
        return {};
    }
    Remedy remedy;
    remedy.add(first);
    const auto second = std::find_if(std::next(first_new), report.findings.end(), is_new);
    // Retained bytes are never shared between findings, so they can be added up.
    if (second != report.findings.end() && !second->cut.empty() && second->retained_bytes > 0) {
        remedy.add(*second);
    }
    const auto count = static_cast<std::uint64_t>(std::ranges::count_if(report.findings, is_new));
    const std::string gain =
        remedy.is_least || std::ranges::any_of(report.findings, retains_unowned)
            ? (remedy.is_least ? "at least " : "") + format_bytes(remedy.bytes)
            : format_bytes(remedy.bytes) + " (" +
                  base::format_percent(share_of(remedy.bytes, report.retained_bytes)) + ")";
    const std::string verb = remedy.payload ? "Dropping" : "Cutting";
    const std::string more =
        first.shared_bytes == 0 ? "" : " Another " + shared_remedy(first, "the first finding");
    if (count == 1) {
        return verb + " the reference" + (remedy.references > 1 ? "s" : "") + " below frees " +
               gain + "." + more;
    }
    const bool all_new = count == report.findings.size();
    return verb + " the " + first_references(remedy.references) + " below frees " + gain +
           ". There are " + base::counted(count, all_new ? "finding" : "new finding") + "." + more;
}

std::string collected_words(const model::Finding& finding) {
    switch (finding.collected) {
        case model::Collected::yes:
            break;
        case model::Collected::not_yet:
            if (is_collected_in_part(finding)) {
                return base::format_bytes(model::uncollected_bytes(finding)) + " not collected yet";
            }
            return finding.collections > 0 ? "not all collected yet" : "not collected yet";
        case model::Collected::never:
            return finding.occurrences == 1
                       ? "frozen: no collection will free this"
                       : "frozen, at least in part: no collection will free that part";
        case model::Collected::uncollectable:
            return "hidden from the collector: no collection will free this";
    }
    return "";
}

std::string sharing_words(const model::Finding& finding) {
    return "shared with " + (finding.shared_with == 0
                                 ? std::string("objects outside any cycle")
                                 : base::counted(finding.shared_with, "other finding"));
}

std::string kept_size(const model::Finding& finding) {
    return (retains_unowned(finding) ? "at least " : "") +
           format_bytes(finding.retained_bytes > 0 ? finding.retained_bytes : finding.shared_bytes);
}

std::string size_words(const model::Finding& finding) {
    const bool own = finding.retained_bytes > 0;
    std::string text = kept_size(finding) + " in " + base::counted(finding.occurrences, "cycle");
    if (finding.shared_bytes > 0) {
        text += own ? ", and " + format_bytes(finding.shared_bytes) + " " : ", ";
        text += sharing_words(finding);
    }
    if (!is_collected(finding)) {
        text += ", " + collected_words(finding);
    }
    return text;
}

bool is_never_freed(const model::Finding& finding) {
    return finding.status == model::Status::fresh &&
           finding.collected == model::Collected::uncollectable;
}

std::string unowned_words(const model::Finding& finding) {
    const std::uint64_t bytes = finding.unowned_bytes.value_or(0);
    if (bytes == 0) {
        return "";
    }
    return "a further " + format_bytes(bytes) +
           (finding.collected == model::Collected::not_yet
                ? " that these tensors have saved for backward"
                : " freed that no tensor explains, most likely saved for backward");
}

std::string variants_words(const model::Finding& finding, std::size_t most) {
    const auto shown = std::ranges::find(finding.variants, finding.title, &model::Variant::title);
    const std::string here = shown == finding.variants.end() ? "" : shown->location;
    std::vector<std::string> names;
    std::uint64_t cycles = 0;
    for (const model::Variant& variant : finding.variants) {
        const bool elsewhere = !variant.location.empty() && variant.location != here;
        if (variant.title == finding.title && !elsewhere) {
            continue;
        }
        cycles += variant.occurrences;
        const std::string name =
            base::shown_name(variant.name) +
            (elsewhere ? " at " + base::shown_name(file_of(variant.location)) : "");
        if (std::ranges::find(names, name) == names.end()) {
            names.push_back(name);
        }
    }
    if (names.empty()) {
        return {};
    }
    const std::uint64_t rest =
        finding.omitted_variants + names.size() - std::min(names.size(), most);
    names.resize(std::min(names.size(), most));
    if (rest > 0) {
        names.push_back(base::format_count(rest) + " more");
    }
    return "in " + base::joined(names) + " (" + base::counted(cycles, "cycle") + ")";
}

std::string occasions(const model::Finding& finding) {
    std::vector<std::string> counts;
    const std::uint64_t scans = finding.scans.value_or(0);
    if (finding.collections > 0 || scans == 0) {
        counts.push_back(base::counted(finding.collections, "collection"));
    }
    if (scans > 0) {
        counts.push_back(base::counted(scans, "scan"));
    }
    return base::joined(counts);
}

std::string seen_sentence(const model::Finding& finding) {
    std::string text = base::counted(finding.occurrences, "cycle") + " in " + occasions(finding);
    if (finding.occurrences > 1 && finding.largest_bytes > 0) {
        text += ", the largest " + format_bytes(finding.largest_bytes);
    }
    if (finding.dead_for_at_most > 0) {
        text += "; unreachable for up to " + base::format_duration(finding.dead_for_at_most);
    }
    if (finding.shared_bytes > 0) {
        text += "; " + format_bytes(finding.shared_bytes) + " " + freed_when(finding);
    }
    return text;
}

std::string live_owner_sentence(const model::LiveOwner& live) {
    const model::OwnerSummary& owner = live.owner;
    std::string text =
        format_bytes(live.bytes) + ": " + base::format_count(owner.count) + " x " + owner.type;
    for (const std::string& detail : {owner.shape, owner.dtype}) {
        text += detail.empty() ? "" : " " + detail;
    }
    text += " on " + owner.device + ", " + std::string(model::word_of(live.category));
    text += owner.allocated_at.empty() ? "" : ", allocated at " + owner.allocated_at;
    if (!live.held_by.empty()) {
        const model::RetentionPath& path = live.held_by.front();
        text += ", held by " + path.text + similar_paths(path.text, owner.count);
        if (path.remedy && path.cut_frees) {
            text += (owner.count > 1 ? ". To free them, " : ". To free it, ") + *path.remedy;
        } else if (path.remedy && live.held_by.size() > 1 && live.held_by[1].remedy) {
            const std::string& second = *live.held_by[1].remedy;
            text += ", and by " + live.held_by[1].text + ". To free it, " + *path.remedy;
            text += second == *path.remedy ? "" : ", and " + second;
        } else if (path.remedy && live.category == model::OwnerCategory::other) {
            text += ". Other references may hold " + std::string(owner.count > 1 ? "them" : "it") +
                    ", too; to remove this one, " + *path.remedy;
        }
    }
    return base::clean_text(text + ".");
}

std::string census_words(const model::Report& report) {
    if (!report.censuses || report.censuses->empty()) {
        return {};
    }
    const std::vector<model::CensusTime>& times = *report.censuses;
    const auto [first, last] = std::ranges::minmax(times, {}, &model::CensusTime::step);
    const auto number = [](std::int64_t step) {
        return base::format_count(static_cast<std::uint64_t>(step));
    };
    const bool several = first.step != last.step;
    std::string text = first.step < 0 ? "" : several ? "steps " : "step ";
    text += first.step < 0 ? "" : number(first.step) + (several ? " to " + number(last.step) : "");
    if (times.size() > 1) {
        const std::string processes = base::counted(times.size(), "process", "processes");
        return (text.empty() ? "the end" : text) + " of " + processes;
    }
    return (text.empty() ? "" : text + ", ") + base::format_duration(times.front().at) +
           " into the run";
}

std::string growth_rate(const model::GrowingOwner& growing) {
    return format_bytes(static_cast<std::uint64_t>(std::max(growing.rate, 0.0))) + " per " +
           std::string(model::word_of(growing.unit));
}

std::string time_until_full(const model::GrowingOwner& growing) {
    // The rate is not constant for longer, so a later time would only mislead.
    constexpr double kMostSteps = 10'000'000;
    constexpr double kMostSeconds = 30.0 * 24 * 3600;
    const bool is_step = growing.unit == model::GrowthUnit::step;
    if (growing.until_full < 0 || growing.until_full > (is_step ? kMostSteps : kMostSeconds)) {
        return {};
    }
    if (growing.unit == model::GrowthUnit::second) {
        return base::format_duration(growing.until_full);
    }
    return base::counted(static_cast<std::uint64_t>(growing.until_full), "step");
}

std::string growth_sentence(const model::GrowingOwner& growing) {
    const model::OwnerSummary& owner = growing.owner;
    std::string text =
        "+" + growth_rate(growing) + ": " + base::format_count(owner.count) + " x " + owner.type;
    for (const std::string& detail : {owner.shape, owner.dtype}) {
        text += detail.empty() ? "" : " " + detail;
    }
    text += " on " + owner.device + " (" + format_bytes(growing.bytes) + ")";
    if (!growing.held_by.empty()) {
        text += ", held by " + growing.held_by + similar_paths(growing.held_by, owner.count);
    }
    if (growing.graph_nodes) {
        const auto added = static_cast<std::uint64_t>(growing.graph_nodes_rate.value_or(0));
        text += ". It keeps an autograd graph of " + base::counted(*growing.graph_nodes, "node") +
                " alive, which grows by " + base::counted(added, "node") + " per " +
                std::string(model::word_of(growing.unit));
    }
    const std::string time = growing.graph_nodes ? "" : time_until_full(growing);
    if (!time.empty()) {
        text += ". The memory will be full in " + time + " at this rate";
    }
    text += growing.remedy ? ". To stop the growth, " + *growing.remedy : "";
    return base::clean_text(text + ".");
}

std::string overhead_sentence(const model::Report& report) {
    const model::Stats& stats = report.stats;
    const bool has_census = report.growing.has_value();
    // scan() and never_freed() run nothing that their time could be compared with.
    constexpr double kScanOnly = 0.5;
    if (stats.collections == 0 && stats.scans == 1 && !has_census &&
        stats.seconds > kScanOnly * stats.elapsed) {
        return "The scan took " + base::format_duration(stats.seconds) + ".";
    }
    std::string text = "Overhead: " + base::format_duration(stats.seconds) + " in " +
                       base::counted(stats.collections, "collection") +
                       (stats.scans > 0 ? " and " + base::counted(stats.scans, "scan") : "") +
                       (has_census ? " and in censuses" : "") + " over " +
                       base::format_duration(stats.elapsed);
    if (stats.elapsed > 0) {
        text += " (" + base::format_percent(stats.seconds / stats.elapsed) + " of the run time)";
    }
    return text + ".";
}

std::vector<std::string> omissions(const model::Report& report) {
    std::vector<std::string> lines;
    for (const auto& [reason, count] : report.stats.skipped) {
        lines.push_back("Skipped " + base::counted(count, "time") + ": " + reason + ".");
    }
    lines.insert(lines.end(), report.notes.begin(), report.notes.end());
    if (report.omitted_collections > 0) {
        lines.push_back(base::counted(report.omitted_collections, "collection record") +
                        " omitted to limit the size of the report.");
    }
    return lines;
}

std::string program_line(const std::vector<model::ProgramInfo>& processes) {
    if (processes.empty()) {
        return "no process";
    }
    if (processes.size() > 1) {
        return many_processes_line(processes);
    }
    const model::ProgramInfo& program = processes.front();
    std::string line = script_of(program);
    line += ", process " + std::to_string(program.pid);
    if (program.rank >= 0) {
        line += ", rank " + std::to_string(program.rank);
    }
    if (!program.started_at.empty()) {
        line += ", watched since " + program.started_at;
    }
    if (!program.python_version.empty()) {
        line += ", Python " + program.python_version;
    }
    if (!program.cyclewatch_version.empty()) {
        line += ", cyclewatch " + program.cyclewatch_version;
    }
    if (!program.strategy.empty()) {
        line += ", " + program.strategy;
    }
    return line;
}

std::string headline(const model::Finding& finding) {
    const std::string text = subject_of(finding) + " " + effect_of(finding);
    return base::clean_text(text + (finding.remedy.empty() ? "." : ": " + finding.remedy + "."));
}

}  // namespace cyclewatch::render
