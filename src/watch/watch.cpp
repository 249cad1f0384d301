// SPDX-License-Identifier: Apache-2.0
#include "watch/watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "advice/library_code.h"
#include "base/text.h"
#include "compat/features.h"
#include "compat/gc_list.h"
#include "model/mistake.h"
#include "python/guards.h"
#include "python/state_lock.h"
#include "render/summary.h"
#include "watch/job_rank.h"
#include "watch/known_findings.h"
#include "watch/notification_queue.h"
#include "watch/program_info.h"
#include "watch/usage_sampler.h"

namespace cyclewatch::watch {
namespace {

constexpr const char* kFrozenObjects = "the objects frozen by gc.freeze()";
constexpr std::size_t kMostLiveOwners = 100;  // groups in the report
// Between writes of the report that only add samples of steps.
constexpr std::chrono::seconds kSampleWritePause{10};

// Report files of all watches of this process, including files not written yet. The set is never
// destroyed, because watches can outlive static objects.
std::set<std::string>& claimed_files() {
    static auto& files = *new std::set<std::string>;
    return files;
}

}  // namespace

Watch::Watch(Settings settings)
    : settings_(std::move(settings)),
      directory_existed_(::access(settings_.report_dir.c_str(), F_OK) == 0),
      budget_(settings_.budget) {
    open_store();
}

Watch::~Watch() {
    const python::StateLock lock;
    for (const std::string& path : claimed_) {
        claimed_files().erase(path);
    }
}

void Watch::open_store() {
    counter_ = std::make_shared<StatsCounter>();
    program_ = describe_program(counter_->started());
    step_ = -1;
    budget_ = Budget(settings_.budget);
    known_ = std::make_unique<KnownFindings>();
    steps_ = 0;
    growth_ = {};
    device_descriptions_ = {};
    step_sampler_ = {};
    samples_usage_ = false;
    store_ = std::make_shared<report::ReportStore>(program_, settings_.devices.words());
    store_->set_unexamined(model::kStillRunning);
    examined_ = Examined::nothing;
    located_.clear();
    unread_.clear();
    writer_ = nullptr;
}

void Watch::update_rank() const {
    const JobRank place = job_rank();
    store_->set_rank(place.rank, place.joined_size());
}

// Called at the first finding rather than at the start of the watch, because the program may set
// sys.argv and initialize torch.distributed in between.
void Watch::open_writer() {
    update_rank();
    if (writer_ != nullptr || settings_.formats.empty()) {
        return;
    }
    ReportWriter::Plan plan;
    plan.directory = settings_.report_dir;
    plan.create_directory = !directory_existed_;
    plan.stem =
        settings_.report_name.empty() ? report_stem(describe_program()) : settings_.report_name;
    plan.replace = settings_.replace_report;
    plan.formats = settings_.formats;
    plan.snapshot = [store = store_, counter = counter_] {
        return store->snapshot(counter->stats());
    };
    plan.is_reserved = [](const std::string& path) { return claimed_files().contains(path); };
    writer_ = std::make_shared<ReportWriter>(std::move(plan));
    for (const std::string& path : writer_->paths()) {
        if (claimed_files().insert(path).second) {
            claimed_.push_back(path);
        }
    }
    write_usage_samples(store_.get(), writer_);
    log_write_failures();
}

bool Watch::wants(std::string_view device, bool accelerator_usable) const {
    return settings_.devices.matches(device, accelerator_usable);
}

double Watch::seconds_since_start(Clock::time_point now) const {
    return seconds(now - counter_->started());
}

bool Watch::may_search(Clock::time_point now) const {
    return budget_.may_search(counter_->seconds_spent(), seconds_since_start(now));
}

Depth Watch::depth(Clock::time_point now, std::uint64_t unreachable) {
    return budget_.depth(counter_->seconds_spent(), seconds_since_start(now), unreachable);
}

void Watch::note_step(std::int64_t step) noexcept {
    step_ = step;
    reached_steps_ = reached_steps_ || observes_step();
    store_->begin_step(step, seconds_since_start(Clock::now()));
    start_due_usage_samples();
}

void Watch::count(const CollectionCost& cost) {
    const std::uint64_t freed = counter_->count(cost);
    start_due_usage_samples();
    if (!cost.scan) {
        const bool is_full = CYCLEWATCH_COLLECTIONS_ARE_FULL || cost.generation == 2;
        examined_ = is_full && cost.is_complete ? Examined::collected : Examined::nothing;
    }
    if (cost.scan) {
        return;
    }
    if (cost.generation > 0) {
        // Remembers the rank: many programs destroy their process group before they exit.
        (void)job_rank();
    }
    if (cost.depth != Depth::none) {
        budget_.searched(counter_->seconds_spent(),
                         seconds_since_start(Clock::now()),
                         cost.unreachable,
                         cost.own_seconds);
    }
    store_->add_pause(cost.collection_seconds, freed);
}

bool Watch::is_not_collected() {
    return cw_has_frozen_objects() != 0 || cw_collects_automatically() == 0;
}

std::optional<collector::HeapScope> Watch::due_scan(Clock::time_point now) {
    const bool frozen = cw_has_frozen_objects() != 0;
    if (settings_.scan_every == kScanIfNotCollected
            ? !is_not_collected()
            : settings_.scan_every == 0 || step_ % settings_.scan_every != 0) {
        return {};
    }
    if (!budget_.allows(young_scan_seconds_, seconds_since_start(now))) {
        skip("scans: over budget");
        return {};
    }
    const bool may_scan_frozen = now >= next_frozen_scan_;
    if (frozen && !may_scan_frozen) {
        skip("scans of frozen objects: over budget");
    }
    return collector::HeapScope{.generation = 0, .frozen = frozen && may_scan_frozen};
}

void Watch::scanned(collector::HeapScope scope, Clock::time_point began, const DeadBytes& dead) {
    const Clock::time_point now = Clock::now();
    if (!scope.frozen) {
        young_scan_seconds_ += seconds(now - began);
    } else if (settings_.budget < 1) {
        // A scan of frozen objects takes a long time but must not delay scans of young objects, so
        // it has a separate schedule.
        next_frozen_scan_ =
            now + std::chrono::duration_cast<Clock::duration>((now - began) / settings_.budget);
    }
    const auto since = [&](std::int64_t scanned_step) {
        const bool is_exact = scanned_step < 0 || scanned_step + 1 >= step_;
        return step_ < 0 ? std::string(". ")
                         : " since step " + std::to_string(step_) +
                               (is_exact ? ". " : " or an earlier one. ");
    };
    if (dead.collectable > 0 && cw_collects_automatically() == 0 && !logged_dead_) {
        logged_dead_ = true;
        warn_not_collected(
            "Automatic garbage collection is off, and unreachable tensors have retained " +
                base::format_bytes(dead.collectable) + since(scanned_step_) +
                "The memory is not freed until the program itself collects: gc.collect().",
            false);
    }
    if (dead.frozen > 0 && !logged_frozen_) {
        logged_frozen_ = true;
        warn_not_collected("Unreachable tensors frozen by gc.freeze() have retained " +
                               base::format_bytes(dead.frozen) + since(scanned_frozen_step_) +
                               "No collection frees them until the program calls gc.unfreeze().",
                           true);
    }
    scanned_step_ = step_;
    if (scope.frozen) {
        scanned_frozen_step_ = step_;
    }
    if (scope.frozen && scope.generation == 2) {
        examined_ = Examined::scanned;
    }
}

const char* Watch::unexamined() const {
    if (!observes_step() && !reached_steps_) {
        return "all objects, because the program reached none of the steps to observe";
    }
    if (!observes_step()) {
        return examined_ == Examined::scanned
                   ? "the objects that became unreachable outside the observed steps"
                   : "the objects that became unreachable outside the observed steps or were not "
                     "collected in them";
    }
    switch (examined_) {
        case Examined::nothing:
            return "the objects that became unreachable after the last full collection";
        case Examined::collected:
            return cw_has_frozen_objects() != 0 ? kFrozenObjects : "";
        case Examined::scanned:
            break;
    }
    return "";
}

void Watch::end() {
    stop_usage_samples(store_.get());
    store_->set_unexamined(unexamined());
    store_->set_elapsed(seconds_since_start(Clock::now()));
    update_rank();
    if (writer_ != nullptr) {
        writer_->changed(false);
    }
}

void Watch::end_scan(collector::HeapScope scope) {
    store_->set_unexamined(scope.generation < 2 ? "the objects in older generations"
                           : scope.frozen || cw_has_frozen_objects() == 0 ? ""
                                                                          : kFrozenObjects);
}

void Watch::end_search() {
    store_->set_unexamined("the objects that collections can free");
}

void Watch::note_failures(const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences) {
        if (logged_failures_.insert(sentence).second) {
            log(kWarning, sentence);
        }
    }
}

void Watch::begin_report() {
    if (settings_.clean_report && !settings_.is_worker && !settings_.report_name.empty()) {
        write_clean_report();
    }
}

void Watch::write_clean_report() {
    if (writer_ != nullptr || !settings_.clean_report) {
        return;
    }
    const JobRank place = job_rank();
    const bool is_worker = fork_ != 0 || settings_.is_worker;
    const bool is_rank = is_worker ? place.has_joined : place.rank >= 0;
    if (!is_rank && (is_worker || settings_.report_name.empty())) {
        return;  // only the ranks of a distributed run are counted
    }
    open_writer();
    if (writer_ != nullptr) {
        writer_->changed(true);
        log_write_failures();
    }
}

bool Watch::may_scan_at_end(unsigned child, std::size_t objects) const {
    constexpr unsigned kFirst = 4;
    constexpr double kSecondsPerObject = 4e-7;  // measured with 400,000 objects
    const double elapsed = seconds_since_start(Clock::now());
    return fork_ == 0 || child <= kFirst ||
           static_cast<double>(objects) * kSecondsPerObject <= settings_.budget * elapsed;
}

bool Watch::can_afford_census(Clock::time_point now) {
    const double spent = counter_->stats().seconds + census_seconds_;
    if (Budget(settings_.budget).depth(spent, seconds_since_start(now), 1) == Depth::full) {
        return true;
    }
    skip("census: over budget");
    return false;
}

// Estimates how long each growing group of owners will take to fill its device, if the capacity of
// the device is known.
void Watch::project_growth(std::vector<model::GrowingOwner>& growing) {
    std::vector<model::Storage> storages;
    for (const model::GrowingOwner& each : growing) {
        storages.emplace_back().device = each.owner.device;
    }
    const std::vector<model::DeviceMemory> devices = memory_.before(storages);
    for (model::GrowingOwner& each : growing) {
        const auto at = std::ranges::find(devices, each.owner.device, &model::DeviceMemory::device);
        if (at != devices.end() && at->total > at->used_before && each.rate > 0) {
            each.until_full = static_cast<double>(at->total - at->used_before) / each.rate;
        }
    }
    // A bounded deque stops growing; the device may have room for all that it can contain.
    std::erase_if(growing, [&devices](const model::GrowingOwner& each) {
        const auto at = std::ranges::find(devices, each.owner.device, &model::DeviceMemory::device);
        return each.bytes_when_full > 0 && at != devices.end() &&
               each.bytes_when_full - each.bytes <= at->total - at->used_before;
    });
}

void Watch::add_census(const LiveGroups& found, Clock::time_point began) {
    const std::span<const model::LiveOwner> owners = found.groups;
    if (!found.unread_graphs.empty()) {
        store_->note(found.unread_graphs);
    }
    const bool in_steps = settings_.census_every > 0;
    std::vector<model::GrowingOwner> fresh =
        growth_.add(in_steps ? static_cast<double>(steps_) : seconds_since_start(began),
                    owners,
                    in_steps ? model::GrowthUnit::step : model::GrowthUnit::second,
                    settings_.min_bytes);
    std::vector<model::GrowingOwner> growing = growth_.growing();
    project_growth(growing);
    project_growth(fresh);
    store_->set_census(std::move(growing),
                       owners,
                       kMostLiveOwners,
                       {.at = seconds_since_start(began), .step = step_});
    model::CategorySizes& sizes = census_sizes_.emplace();
    for (const model::LiveOwner& each : owners) {
        model::add_size(sizes, each);
    }
    census_seconds_ = seconds(Clock::now() - began);
    counter_->add_seconds(census_seconds_);
    if (fresh.empty()) {
        if (writer_ != nullptr) {
            writer_->changed(false);
        }
        return;
    }
    open_writer();
    if (writer_ != nullptr) {
        writer_->changed(true);
        log_write_failures();
    }
    std::string text = "Tensor memory grows: " + render::growth_sentence(fresh.front());
    if (fresh.size() > 1) {
        text += " " + base::counted(fresh.size() - 1, "other group") + " of tensors " +
                (fresh.size() > 2 ? "grow" : "grows") + ".";
    }
    if (settings_.listeners.on_log) {
        enqueue([self = shared_from_this(), text] {
            self->settings_.listeners.on_log(kWarning, text);
        });
    }
}

void Watch::warn_not_collected(std::string sentences, bool frozen) {
    enqueue([self = shared_from_this(), sentences = std::move(sentences), frozen] {
        const python::YoungCountGuard young_count;
        const python::GcPause pause;
        const auto& find = self->settings_.listeners.find_switch;
        const std::string place = find ? find(frozen) : "";
        const std::string verb = frozen ? " They were frozen in " : " It was switched off in ";
        self->log(kWarning, sentences + (place.empty() ? "" : verb + place + "."));
    });
}

void Watch::skip(const std::string& reason, std::uint64_t times) {
    if (times > 0) {
        counter_->skip(reason, times);
    }
}

std::vector<model::Finding> Watch::large_enough(std::vector<model::Finding> findings) {
    const std::size_t before = findings.size();
    std::erase_if(findings, [this](const model::Finding& finding) {
        // A lower bound says nothing of what the autograd graph of the owner keeps.
        return !finding.unowned_bytes &&
               finding.retained_bytes + finding.shared_bytes < settings_.min_bytes;
    });
    skip(model::kTooSmall, before - findings.size());
    return findings;
}

std::shared_ptr<CollectionResult> Watch::add(const model::CollectionRecord& record,
                                             std::vector<model::Finding> findings,
                                             std::vector<report::DeadStorage> dead,
                                             bool repeated) {
    findings = large_enough(std::move(findings));
    std::erase_if(dead, [&findings](const report::DeadStorage& storage) {
        return std::ranges::find(findings, storage.signature, &model::Finding::signature) ==
               findings.end();
    });
    store_->add_dead(std::move(dead));
    auto result = std::make_shared<CollectionResult>();
    if (settings_.listeners.on_report) {
        result->found = findings;
    }
    sample_usage();  // not earlier in a forked child, which may fork again
    const bool frees_now = !record.scan && record.note != model::kFreedLater;
    const std::uint64_t of_scans = frees_now ? forget_reported() : 0;
    report::Added added =
        store_->add(record, std::move(findings), repeated, settings_.repeat, of_scans);
    if (settings_.listeners.read_source) {
        note_locations(added.fresh);
        note_locations(added.seen);
    }
    result->fresh = std::move(added.fresh);
    result->again = std::move(added.again);
    counter_->add_owners(record.owners, result->fresh.size());
    if (record.note == model::kFreedLater) {
        counter_->add_freed_later(record.generation, record.released_bytes);
    } else if (!record.scan) {
        counter_->add_freed(record.released_bytes + of_scans);
    }
    open_writer();
    if (writer_ != nullptr) {
        writer_->changed(!result->fresh.empty());
        log_write_failures();
    }
    return result;
}

void Watch::note_locations(const std::vector<model::Finding>& findings) {
    for (const model::Finding& finding : findings) {
        for (const auto* references : {&finding.cut, &finding.alternatives}) {
            for (const model::Reference& reference : *references) {
                const std::string key = report::source_key(reference);
                if (!key.empty() && located_.insert(key).second) {
                    unread_.push_back(key);
                }
            }
        }
    }
}

void Watch::read_source() {
    const std::vector<std::string> locations = std::exchange(unread_, {});
    if (locations.empty()) {
        return;
    }
    const python::YoungCountGuard young_count;
    const python::GcPause pause;
    report::SourceLines lines = settings_.listeners.read_source(locations);
    if (!lines.empty()) {
        store_->add_source(std::move(lines));
        if (writer_ != nullptr) {
            writer_->changed(false);
        }
    }
}

void Watch::notify(const model::CollectionRecord& record,
                   const std::shared_ptr<CollectionResult>& result) {
    const Listeners& listeners = settings_.listeners;
    if (!unread_.empty() && (listeners.on_finding || listeners.on_report || writer_ != nullptr)) {
        enqueue([self = shared_from_this()] { self->read_source(); });
    }
    if (listeners.on_finding) {
        notify_findings(result);
    }
    if (listeners.on_report) {
        notify_report(record, result);
    }
}

void Watch::describe_devices(const model::Observation& observation, int cuda_error) {
    if (cuda_error != 0) {
        const std::string sentence =
            device_descriptions_.error_sentence(observation.record.number, cuda_error);
        if (!sentence.empty()) {
            log(kWarning, sentence);
        }
    }
    for (DescriptionRequest& request : device_descriptions_.requests(observation)) {
        if (!wants("cuda:" + std::to_string(request.device), true)) {
            continue;
        }
        enqueue([self = shared_from_this(), request = std::move(request)] {
            std::optional<model::DeviceRecord> record =
                self->device_descriptions_.describe(request);
            if (record) {
                self->store_->set_device(std::move(*record));
                if (self->writer_ != nullptr) {
                    self->writer_->changed(false);
                }
            }
        });
    }
}

void Watch::measure_devices() {
    std::vector<model::DeviceRecord> records = device_descriptions_.measure();
    for (model::DeviceRecord& record : records) {
        store_->set_device(std::move(record));
    }
    if (!records.empty() && writer_ != nullptr) {
        writer_->changed(false);
    }
}

void Watch::sample_step(Clock::time_point now) {
    if (!step_sampler_.is_due(now)) {
        return;
    }
    const std::map<std::string, std::uint64_t> dead =
        reported_.empty() ? std::map<std::string, std::uint64_t>() : reported_.sizes();
    for (device::StepCounters& each : step_sampler_.sample(settings_.devices, now)) {
        const auto found = dead.find(each.device);
        store_->add_sample(each.device,
                           {.step = step_,
                            .at = seconds_since_start(now),
                            .in_use = each.in_use,
                            .allocated = each.allocated,
                            .peak = each.peak,
                            .dead = found == dead.end() ? 0 : found->second});
    }
    step_sampler_.pause_after(now);
    if (writer_ != nullptr && now >= next_sample_write_) {
        writer_->changed(false);
        next_sample_write_ = now + kSampleWritePause;
    }
}

void Watch::sample_usage() {
    if (samples_usage_ || settings_.formats.empty()) {
        return;  // only pages show the samples
    }
    try {
        start_usage_samples(store_, counter_->started());
    } catch (const std::system_error& error) {
        skip(std::string("samples of the memory in use: ") + error.what());
    }
    samples_usage_ = true;
}

void Watch::add_account(model::MemoryAccount account) {
    account.at = seconds_since_start(Clock::now());
    account.step = step_;
    store_->set_account(std::move(account));
    if (writer_ != nullptr) {
        writer_->changed(false);
    }
}

void Watch::enqueue(std::function<void()> notification) {
    if (!post(std::move(notification))) {
        skip("notifications dropped: too many were waiting for the main thread to run Python code");
    }
}

void Watch::notify_findings(const std::shared_ptr<CollectionResult>& result) {
    const std::string path = writer_ != nullptr ? writer_->path() : "";
    for (const bool again : {false, true}) {
        for (model::Finding& finding : again ? result->again : result->fresh) {
            const bool is_new = finding.status == model::Status::fresh;
            if (!(again ? is_new : advice::warns(finding))) {
                continue;
            }
            // `result` keeps `finding` alive.
            enqueue([self = shared_from_this(), result, &finding, path, again] {
                self->store_->fill_source(finding);
                self->settings_.listeners.on_finding(finding, path, again);
            });
        }
    }
}

void Watch::notify_report(const model::CollectionRecord& record,
                          const std::shared_ptr<CollectionResult>& result) {
    enqueue([self = shared_from_this(),
             record,
             result,
             program = program_,
             place = job_rank(),
             figures = stats()] {
        report::ReportStore once(program, self->settings_.devices.words());
        once.set_rank(place.rank, place.joined_size());
        once.add(record, std::move(result->found));
        auto report = std::make_shared<model::Report>(once.snapshot(figures));
        for (model::Finding& finding : report->findings) {
            self->store_->fill_source(finding);
        }
        self->settings_.listeners.on_report(std::move(report));
    });
}

void Watch::set_suspected(std::uint64_t bytes) {
    counter_->set_suspected(bytes);
}

void Watch::forget_freed_storages(const model::CollectionRecord* by) {
    const std::uint64_t bytes = forget_reported();
    if (by != nullptr && bytes > 0) {
        counter_->add_freed(bytes);
        model::CollectionRecord record = *by;
        record.started_at = seconds_since_start(Clock::now()) - record.duration;
        record.step = step_;
        record.released_bytes = bytes;
        store_->add_collection(record);
    }
}

std::uint64_t Watch::forget_reported() {
    const std::uint64_t bytes = reported_.forget_freed();
    if (!reported_.take_changed()) {
        return bytes;
    }
    store_->update_dead(
        [this](const std::string& device, std::uint64_t storage) {
            return reported_.contains(device, storage);
        },
        seconds_since_start(Clock::now()));
    const std::map<std::string, ReportedStorages::Remaining> remaining = reported_.remaining();
    revise([&remaining](model::Finding& finding) {
        if (finding.collected == model::Collected::yes) {
            return;
        }
        finding.collected = model::Collected::yes;
        finding.uncollected_bytes.reset();
        for (const std::string& signature : model::signatures_of(finding)) {
            if (const auto found = remaining.find(signature); found != remaining.end()) {
                finding.collected = std::max(finding.collected, found->second.state);
                finding.uncollected_bytes =
                    finding.uncollected_bytes.value_or(0) + found->second.bytes;
            }
        }
    });
    return bytes;
}

void Watch::revise(const std::function<void(model::Finding&)>& change) {
    store_->revise(change);
    if (writer_ != nullptr) {
        writer_->changed(false);
    }
}

model::Report Watch::report() const {
    update_rank();
    model::Report report = store_->snapshot(stats());
    model::ProgramInfo& program = report.processes.front();
    if (program.unexamined == model::kStillRunning) {
        program.unexamined = unexamined();
    }
    return report;
}

std::vector<std::string> Watch::report_paths() const {
    return writer_ != nullptr ? writer_->paths() : std::vector<std::string>();
}

std::vector<std::string> Watch::report_failures() const {
    return writer_ != nullptr ? writer_->failures() : std::vector<std::string>();
}

void Watch::log(int level, const std::string& sentence) {
    store_->note(sentence);
    pass_to_listener(level, sentence);
}

void Watch::log_state(int level, const std::string& topic, const std::string& sentence) {
    store_->set_note(topic, sentence);
    if (!sentence.empty()) {
        pass_to_listener(level, sentence);
    }
}

void Watch::pass_to_listener(int level, const std::string& sentence) {
    if (settings_.listeners.on_log) {
        enqueue([self = shared_from_this(), level, sentence] {
            self->settings_.listeners.on_log(level, sentence);
        });
    }
}

void Watch::log_write_failures() {
    if (writer_ != nullptr) {
        for (const std::string& sentence : writer_->take_problems()) {
            log(kWarning, sentence);
        }
    }
}

void Watch::flush(double seconds) {
    if (writer_ == nullptr) {
        return;
    }
    {
        const std::shared_ptr<ReportWriter> writer = writer_;
        const python::GilRelease release;
        writer->flush(seconds);
    }
    log_write_failures();
}

void Watch::start_over(unsigned fork) {
    // The store, writer and counter of the parent process are leaked. Their locks may be held by
    // the parent's writer thread, which does not exist in this process.
    static auto& abandoned = *new std::vector<std::shared_ptr<void>>;
    if (fork == fork_) {
        return;  // handle_fork() tries again after an allocation failure
    }
    std::string name = settings_.report_name;
    if (!name.empty()) {
        name += "-" + std::to_string(::getpid());
    }
    abandoned.insert(abandoned.end(), {store_, writer_, counter_});
    open_store();
    settings_.report_name = std::move(name);
    fork_ = fork;
}

}  // namespace cyclewatch::watch
