// SPDX-License-Identifier: Apache-2.0
#include "support/sample_report.h"

#include <string>

namespace cyclewatch::testing {
namespace {

using model::Finding;
using model::OwnerSummary;
using model::Picture;
using model::Reference;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

// A lambda that captures the object it is stored on.
Finding awaitable_finding() {
    Finding finding;
    finding.signature = "cw1-3f0a9c1be27d4458";
    finding.pattern = "closure-captures-self";
    finding.title =
        "AwaitableTensorWithViewCallback.callback -> <lambda>.closure:self -> "
        "AwaitableTensorWithViewCallback";
    finding.remedy = "cut <lambda>.closure:self (awaitable.py:44)";
    finding.retained_bytes = 256 * kMiB;
    finding.shared_bytes = 0;
    finding.attributed_bytes = finding.retained_bytes;
    finding.occurrences = 64;
    finding.largest_bytes = 4 * kMiB;
    finding.byte_seconds = 576.0 * kMiB;
    finding.advice =
        "Read self._view_dim into a local before the lambda, and let the lambda use that.";
    finding.by_process = {{0, 64, 256 * kMiB, 0.5, 100}};
    const std::string object = "examples.awaitable.AwaitableTensorWithViewCallback";
    const std::string lambda =
        "function examples.awaitable.AwaitableTensorWithViewCallback.__init__.<lambda>";
    const Reference callback{object,
                             ".callback",
                             lambda,
                             "examples/awaitable.py:43",
                             "",
                             {".__dict__", "['callback']"},
                             false};
    const Reference captured{lambda,
                             "closure:self",
                             object,
                             "examples/awaitable.py:44",
                             "the lambda is stored on the object that it captures; it needs only "
                             "self._view_dim, which can be read before the lambda is created",
                             {"__closure__", "[0]", "cell_contents"},
                             false};
    finding.cycle = {callback, captured};
    finding.cut = {captured};
    finding.cut.front().source = {.first_line = 43,
                                  .line = 44,
                                  .start_column = 13,
                                  .end_column = 59,
                                  .lines = {"        self.callback = (",
                                            "            lambda tensor: tensor.view(-1, "
                                            "self._view_dim)",
                                            "        )"}};
    finding.alternatives = {
        {object,
         ".callback",
         lambda,
         "examples/awaitable.py:43",
         "AwaitableTensor can no longer call `callback`",
         {},
         false},
        {"examples.awaitable.AwaitableTensor",
         "._result",
         "torch.Tensor",
         "examples/awaitable.py:27",
         "drops the data but keeps the cycle",
         {},
         true},
    };
    finding.owners = {
        {"torch.Tensor",
         "cuda:0",
         4 * kMiB,
         "[1024, 1024]",
         "float32",
         "AwaitableTensorWithViewCallback._inner._result",
         64,
         "examples/awaitable.py:26"},
    };
    finding.picture.items = {
        {"AwaitableTensorWithViewCallback", object, true, false, 0},
        {"<lambda>", "examples/awaitable.py:44", true, false, 0},
        {"AwaitableTensor", "examples.awaitable.AwaitableTensor", false, false, 0},
        {"torch.Tensor", "torch.Tensor [1024, 1024] float32", false, true, 4 * kMiB},
    };
    finding.picture.arrows = {
        {0, 1, ".callback", true, false},
        {1, 0, "closure:self", true, true},
        {0, 2, "._inner", false, false},
        {2, 3, "._result", false, false},
    };
    finding.first_seen = 0.5;
    finding.last_seen = 20.5;
    finding.dead_for_at_most = 2.25;
    finding.first_collection = 3;
    finding.collections = 9;
    return finding;
}

// Two nodes that refer to each other: neither reference is the better one to cut.
Finding tie_finding() {
    Finding finding;
    finding.signature = "cw1-00ff13d7a6c2e981";
    finding.pattern = "unknown";
    finding.title = "Node.other -> Node.other -> Node";
    finding.remedy = "cut Node.other (simple.py:18) or, just as well, Node.other (simple.py:19)";
    finding.retained_bytes = 50 * kMiB;
    finding.shared_bytes = 12 * kMiB;
    finding.shared_with = 1;
    finding.attributed_bytes = 62 * kMiB;
    finding.occurrences = 100;
    finding.largest_bytes = 512 * kKiB;
    finding.byte_seconds = 37.5 * kMiB;
    finding.by_process = {{0, 100, 50 * kMiB, 3, 140}};
    finding.verdict = model::Verdict::accepted;
    finding.note = "Will be fixed by the rewrite of the tree.";
    Reference other{"examples.simple.Node",
                    ".other",
                    "examples.simple.Node",
                    "examples/simple.py:18",
                    "both nodes refer to each other; a weak reference one way is enough",
                    {"inline value 'other'"},
                    false};
    Reference back = other;
    back.location = "examples/simple.py:19";
    finding.cut = {other};
    finding.alternatives = {back};
    finding.tie = true;
    other.reason.clear();
    back.reason.clear();
    finding.cycle = {other, back};
    finding.owners = {
        {"torch.Tensor", "cuda:0", 256 * kKiB, "[256, 256]", "float32", "Node.payload", 200, ""},
        {"torch.nn.parameter.Parameter",
         "cuda:0",
         12 * kMiB,
         "[1024, 3072]",
         "float32",
         "Node.head.weight",
         1,
         ""},
    };
    finding.omitted_owners = 7;
    finding.variants = {
        {finding.signature, "Node", finding.title, "examples/simple.py:18", 80, 40 * kMiB},
        {"cw1-7d0a5b29e1f3c846",
         "Leaf",
         "Leaf.other -> Node.other -> Leaf",
         "examples/simple.py:18",
         15,
         16 * kMiB},
        {"cw1-b6e21c08d4975fa3",
         "Root",
         "Node.other -> Root.other -> Node",
         "examples/simple.py:31",
         5,
         6 * kMiB},
    };
    finding.picture.items = {
        {"Node", "examples.simple.Node", true, false, 0},
        {"Node", "examples.simple.Node", true, false, 0},
        {"torch.Tensor", "torch.Tensor [256, 256] float32", false, true, 256 * kKiB},
        {"torch.Tensor", "torch.Tensor [256, 256] float32", false, true, 256 * kKiB},
        {"Parameter", "torch.nn.parameter.Parameter [1024, 3072]", false, true, 12 * kMiB},
    };
    finding.picture.arrows = {
        {0, 1, ".other", true, true},
        {1, 0, ".other", true, false},
        {0, 2, ".payload", false, false},
        {1, 3, ".payload", false, false},
        {0, 4, ".head.weight", false, false},
    };
    finding.first_seen = 3;
    finding.last_seen = 28;
    finding.dead_for_at_most = 0.75;
    finding.first_collection = 5;
    finding.collections = 4;
    return finding;
}

// An exception kept after its handler: two references must be cut together.
Finding traceback_finding() {
    Finding finding;
    finding.signature = "cw1-a41c5ee0920bd677";
    finding.pattern = "exception-kept";
    finding.title =
        "ShardError.__traceback__ -> traceback.tb_frame -> frame load_shard.local:err -> "
        "ShardError";
    finding.remedy = "cut load_shard.local:err (io.py:88) and load_shard.local:first (io.py:91)";
    finding.retained_bytes = 24 * kMiB;
    finding.attributed_bytes = finding.retained_bytes;
    finding.occurrences = 1;
    finding.largest_bytes = 24 * kMiB;
    finding.byte_seconds = 732.0 * kMiB;
    finding.status = model::Status::known;
    finding.status_reason = "in baseline.json since 2026-01-12";
    finding.by_process = {{0, 1, 24 * kMiB, 20.5, -1}};
    const std::string error = "train.io.ShardError";
    const std::string frame = "frame train.io.load_shard";
    finding.cycle = {
        {error, ".__traceback__", "traceback", "", "", {"__traceback__"}, false},
        {"traceback", "tb_frame", frame, "", "", {"tb_frame"}, false},
        {frame, "local:err", error, "train/io.py:88", "", {"f_locals", "err"}, false},
    };
    finding.cut = {
        {frame,
         "local:err",
         error,
         "train/io.py:88",
         "the variable err outlives its except block: delete it at the end of the function",
         {"local:err"},
         false},
        {frame,
         "local:first",
         error,
         "train/io.py:91",
         "the same exception is also stored in a second variable",
         {"local:first"},
         false},
    };
    finding.owners = {
        {"torch.Tensor",
         "cuda:0",
         16 * kMiB,
         "[4096, 1024]",
         "float32",
         "load_shard.local:batch",
         1,
         "train/io.py:80"},
        {"torch.Tensor",
         "cuda:0",
         8 * kMiB,
         "[2048, 1024]",
         "float32",
         "load_shard.local:extra",
         1,
         "train/io.py:81"},
    };
    finding.picture.items = {
        {"ShardError", "train.io.ShardError", true, false, 0},
        {"traceback", "", true, false, 0},
        {"frame load_shard", "train/io.py:88", true, false, 0},
        {"torch.Tensor", "torch.Tensor [4096, 1024] float32", false, true, 16 * kMiB},
        {"torch.Tensor", "torch.Tensor [2048, 1024] float32", false, true, 8 * kMiB},
    };
    finding.picture.arrows = {
        {0, 1, "__traceback__", true, false},
        {1, 2, "tb_frame", true, false},
        {2, 0, "local:err", true, true},
        {2, 0, "local:first", true, true},
        {2, 3, "local:batch", false, false},
        {2, 4, "local:extra", false, false},
    };
    finding.picture.omitted_items = 3;
    finding.first_seen = 20.5;
    finding.last_seen = 20.5;
    finding.dead_for_at_most = 30.5;
    finding.first_collection = 19;
    finding.collections = 1;
    return finding;
}

// The parts of collection `i`. Over all twelve, they add up to the findings.
std::vector<model::FindingPart> parts_of_collection(const model::Report& report, std::uint64_t i) {
    const auto& findings = report.findings;
    std::vector<model::FindingPart> parts;
    if (i < 9) {
        const std::uint64_t cycles = i == 8 ? 8 : 7;
        parts.push_back({findings[0].signature, cycles, cycles * 4 * kMiB});
    }
    if (i == 8) {
        parts.push_back({findings[2].signature, 1, 24 * kMiB});
    }
    if (i % 3 == 1) {
        parts.push_back({findings[1].signature, 25, 25 * 512 * kKiB});
    }
    return parts;
}

// Memory use rises between collections and falls in each of them.
void add_collections(model::Report& report) {
    std::uint64_t used = 640 * kMiB;
    for (std::uint64_t i = 0; i < 12; ++i) {
        model::CollectionRecord record;
        record.number = 3 + 2 * i;
        record.generation = i % 4 == 3 ? 2 : 0;
        record.started_at = 0.5 + 2.5 * static_cast<double>(i);
        record.duration = 0.004 + 0.001 * static_cast<double>(i % 4);
        record.own_seconds = 0.0005;
        record.dead_for_at_most = 2.25;
        record.unreachable = 120 + 1000 * (i % 4);
        record.owners = 1 + i % 5;
        record.step = 100 + 40 * static_cast<std::int64_t>(i);
        record.findings = parts_of_collection(report, i);
        record.released_bytes = i == 10 ? 12 * kMiB : 0;  // what two kinds of cycle share
        for (const model::FindingPart& part : record.findings) {
            record.released_bytes += part.retained_bytes;
        }
        used += record.released_bytes;
        record.device_memory = {{"cuda:0",
                                 used,
                                 used - record.released_bytes,
                                 80 * 1024 * kMiB,
                                 model::MemorySource::torch}};
        used += i % 2 == 0 ? 6 * kMiB : 0;
        used -= record.released_bytes;
        record.note = i == 7 ? "graph over the time budget: equal findings counted only" : "";
        report.collections.push_back(record);
    }
}

}  // namespace

model::Report make_quiet_report() {
    model::Report report;
    report.processes = {
        {"train.py", 4242, 0, "3.11.7", "0.1.0", "2026-01-31T12:00:00Z", "ride-along"}};
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
    model::Report report = make_quiet_report();
    report.findings = {awaitable_finding(), tie_finding(), traceback_finding()};
    report.retained_bytes = 342 * kMiB;
    add_collections(report);
    report.omitted_collections = 2;
    model::GrowingOwner& growing = report.growing.emplace().emplace_back();
    growing.owner.type = "torch.Tensor";
    growing.owner.device = "cuda:0";
    growing.owner.bytes = 4096;
    growing.owner.shape = "[1024]";
    growing.owner.dtype = "float32";
    growing.owner.path = "module global train.losses -> losses[x]";
    growing.owner.count = 12;
    growing.bytes = 12 * 4096ULL;
    growing.held_by = "module global train.losses -> losses[0]";
    growing.rate = 4096;
    growing.until_full = 3000;
    report.stats.owners = 266;
    for (model::GenerationTotals& totals : report.stats.generations) {
        totals.freeing = totals.generation == 2 ? 3 : 4;
        totals.freeing_seconds = totals.seconds / 2;
        totals.freed_bytes = 114 * kMiB;
    }
    report.stats.findings = 3;
    report.stats.skipped = {{"graph over the time budget", 1}, {"a reader raised", 2}};
    report.notes = {"2 graphs were cut at 100,000 objects."};
    return report;
}

model::Report make_merged_report() {
    model::Report report = make_sample_report();
    report.processes.push_back(
        {"train.py", 4243, 1, "3.11.7", "0.1.0", "2026-01-31T12:00:01Z", "ride-along"});
    Finding& shared = report.findings.front();
    shared.by_process.push_back({1, 36, 100 * kMiB, 4.25, 140});
    shared.by_process.front().occurrences -= 36;
    shared.by_process.front().retained_bytes -= 100 * kMiB;
    report.findings.back().by_process.front().process = 1;
    for (std::size_t i = 6; i < report.collections.size(); ++i) {
        report.collections[i].process = 1;
    }
    return report;
}

model::Report make_hostile_report(const std::string& text) {
    model::Report report = make_sample_report();
    model::ProgramInfo& program = report.processes.front();
    program.script = program.python_version = program.cyclewatch_version = text;
    program.started_at = program.strategy = text;
    report.devices = {text};
    report.notes = {text};
    report.stats.skipped = {{text, 1}};
    model::GrowingOwner& growing = report.growing->front();
    growing.owner.type = growing.owner.device = growing.owner.shape = growing.owner.dtype = text;
    growing.owner.path = growing.owner.allocated_at = growing.held_by = text;
    const auto spoil = [&text](std::vector<Reference>& references) {
        for (Reference& reference : references) {
            reference.holder = reference.label = reference.target = text;
            reference.holder_path = text;
            reference.location = reference.reason = text;
            reference.raw_path = {text, text};
            if (reference.source) {
                reference.source->lines = {text, text, text};
            }
        }
    };
    for (Finding& finding : report.findings) {
        finding.signature = finding.pattern = finding.title = finding.remedy = text;
        finding.advice = finding.status_reason = finding.note = text;
        spoil(finding.cycle);
        spoil(finding.cut);
        spoil(finding.alternatives);
        for (OwnerSummary& owner : finding.owners) {
            owner.type = owner.device = owner.shape = owner.dtype = text;
            owner.path = owner.allocated_at = text;
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
