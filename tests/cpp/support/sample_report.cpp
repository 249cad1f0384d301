// SPDX-License-Identifier: Apache-2.0
#include "support/sample_report.h"

#include <fstream>
#include <iterator>
#include <string>

#include "format/json.h"

namespace cyclewatch::testing {
namespace {

using model::Finding;
using model::OwnerSummary;
using model::Picture;
using model::Reference;

constexpr std::uint64_t kMiB = 1024 * 1024;

}  // namespace

model::Report make_quiet_report() {
    model::Report report;
    report.processes = {
        {"train.py", 4242, 0, "3.11.7", "0.1.0", "2026-01-31T12:00:00Z", "ride-along", ""}};
    report.devices = {"cuda"};
    report.stats.collections = 123;
    report.stats.unreachable = 45678;
    report.stats.seconds = 0.0125;
    report.stats.collection_seconds = 0.5;
    report.stats.elapsed = 34.5;
    report.stats.generations = {
        {.generation = 0, .collections = 110, .seconds = 0.11, .reclaimed = 41'000},
        {.generation = 1, .collections = 10, .seconds = 0.05, .reclaimed = 4'000},
        {.generation = 2,
         .collections = 3,
         .seconds = 0.34,
         .examined = 1'200'000,
         .reclaimed = 678}};
    model::update_shares(report.stats);
    return report;
}

model::Report make_sample_report() {
    static const model::Report report = [] {
        std::ifstream file(CYCLEWATCH_GOLDEN_DIR "/report.json", std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        return format::read_json_report(text).value();
    }();
    return report;
}

model::Report make_merged_report() {
    model::Report report = make_sample_report();
    report.processes.push_back(
        {"train.py", 4243, 1, "3.11.7", "0.1.0", "2026-01-31T12:00:01Z", "ride-along", ""});
    Finding& shared = report.findings.front();
    shared.by_process.push_back({1, 36, 100 * kMiB, 4.25, 140});
    shared.by_process.front().occurrences -= 36;
    shared.by_process.front().retained_bytes -= 100 * kMiB;
    report.findings.back().by_process.front().process = 1;
    for (std::size_t i = 6; i < report.collections.size(); ++i) {
        report.collections[i].process = 1;
    }
    report.stats.suspected_bytes = std::uint64_t{4096};
    report.findings.front().uncollected_bytes = std::uint64_t{1024};
    return report;
}

model::Report make_hostile_report(const std::string& text) {
    model::Report report = make_sample_report();
    model::ProgramInfo& program = report.processes.front();
    program.script = program.python_version = program.cyclewatch_version = text;
    program.started_at = program.strategy = text;
    program.unexamined = program.host = text;
    report.devices = {text};
    report.notes = {text};
    report.stats.skipped = {{text, 1}};
    model::GrowingOwner& growing = report.growing->front();
    growing.owner.type = growing.owner.device = growing.owner.shape = growing.owner.dtype = text;
    growing.owner.path = growing.owner.allocated_at = growing.held_by = text;
    model::LiveOwner& live = report.live_owners->front();
    live.owner = growing.owner;
    live.held_by.front().text = live.held_by.front().root.text = text;
    live.held_by.front().root.location = text;
    model::MemoryAccount& account = report.memory->front();
    account.device = account.source = account.headline = text;
    account.lines = {{.kind = text, .use = text, .bytes = 1}};
    account.signatures = {text};
    account.holders = {live};
    account.notes = {text};
    report.memory_steps->front().device = text;
    report.memory_samples->front().device = report.memory_samples->front().source = text;
    model::StorageAddresses& addresses = report.addresses->front();
    addresses.device = addresses.category = text;
    addresses.paths.assign(addresses.addresses.size(), text);
    report.addresses->back().signature = text;
    model::DeviceRecord& device = report.device_records->front();
    device.device = device.name = device.uuid = device.pci_id = device.error = text;
    const auto spoil = [&text](std::vector<Reference>& references) {
        for (Reference& reference : references) {
            reference.holder = reference.label = reference.target = text;
            reference.holder_path = reference.base_class = text;
            reference.location = reference.reason = text;
            reference.raw_path = {text, text};
            if (reference.source) {
                reference.source->lines = {text, text, text};
            }
        }
    };
    for (Finding& finding : report.findings) {
        finding.signature = finding.pattern = finding.title = finding.remedy = text;
        finding.advice = finding.cost = finding.status_reason = finding.note = text;
        spoil(finding.cycle);
        spoil(finding.cut);
        spoil(finding.alternatives);
        for (OwnerSummary& owner : finding.owners) {
            owner.type = owner.device = owner.shape = owner.dtype = text;
            owner.path = owner.allocated_at = text;
            owner.allocation_stack = {text, text};
        }
        for (model::Variant& variant : finding.variants) {
            variant.signature = variant.name = variant.title = variant.location = text;
        }
        for (Picture::Item& item : finding.picture.items) {
            item.text = item.detail = text;
        }
        for (Picture::Arrow& arrow : finding.picture.arrows) {
            arrow.label = text;
        }
    }
    for (model::CollectionRecord& record : report.collections) {
        record.note = text;
        for (model::FindingPart& part : record.findings) {
            part.signature = text;
        }
        for (model::DeviceMemory& memory : record.device_memory) {
            memory.device = text;
        }
    }
    return report;
}

}  // namespace cyclewatch::testing
