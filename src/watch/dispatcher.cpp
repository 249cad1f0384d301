// SPDX-License-Identifier: Apache-2.0
#include "watch/dispatcher.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "analysis/analyze.h"
#include "catalog/catalog.h"
#include "collector/gc_hook.h"
#include "compat/features.h"
#include "compat/plain_instance.h"
#include "device/device_memory.h"
#include "python/layout_check.h"
#include "watch/library_version.h"
#include "watch/notification_queue.h"

namespace cyclewatch::watch {
namespace {

constexpr int kWarning = 30;  // logging.WARNING
constexpr double kFlushSeconds = 10;

// How many forks lie between the first process that loaded this module and this one.
std::atomic<unsigned> forks{0};

double seconds(Clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

// From a class that every interpreter has: to make one would leave garbage, which the program's
// next collection would count.
void learn_plain_instances() {
    PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), "_frozen_importlib");
    PyObject* const sample = module != nullptr && PyModule_Check(module)
                                 ? PyDict_GetItemString(PyModule_GetDict(module), "ModuleSpec")
                                 : nullptr;
    if (sample != nullptr && PyType_Check(sample)) {
        cw_learn_plain_instances(reinterpret_cast<PyTypeObject*>(sample));
    }
}

// Words that need no memory: it may be what is missing.
constexpr const char* kOutOfMemory = "out of memory in the watch";

const char* reason_of(collector::Miss miss) {
    switch (miss) {
        case collector::Miss::none:
            return "";
        case collector::Miss::not_armed:
            return "the canary could not be armed";
        case collector::Miss::canary_held:
            return "somebody held the canary";
        case collector::Miss::not_listed:
            return "the collector's list was not there";
        case collector::Miss::broken_list:
            return "the collector's list had an unknown shape";
        case collector::Miss::out_of_memory:
            return kOutOfMemory;
    }
    return "";
}

}  // namespace

Dispatcher& Dispatcher::instance() {
    static Dispatcher& dispatcher = *[] {
        // The child only counts; everything else waits until the GIL is held.
        pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
        return new Dispatcher;  // never destroyed: the hook may outlive statics
    }();
    return dispatcher;
}

base::Result<std::shared_ptr<Watch>> Dispatcher::start(Settings settings,
                                                       ReportWriter::Render render) {
    handle_fork();
    if (is_over()) {
        return std::make_shared<Watch>(std::move(settings), std::move(render));
    }
    std::string warning;
    if (watches_.empty()) {
        // Before the hook: the check makes objects, and may be the first to do so.
        const python::LayoutCheck& layouts = python::check_layouts();
        learn_plain_instances();
        (void)catalog::Catalog::built_in();  // read now and not in a collection
        const base::Result<collector::Installed> installed = collector::install(*this);
        if (!installed.ok()) {
            return base::Error{installed.error()};
        }
        warning = installed.value().warning;
        if (!layouts.ok()) {
            warning += (warning.empty() ? "" : " ") + layouts.reason;
        }
        last_of_generation_.fill(Clock::now());
    }
    auto watch = std::make_shared<Watch>(std::move(settings), std::move(render));
    watches_.push_back(watch);
    if (!warning.empty()) {
        watch->log(kWarning, warning);
    }
    return watch;
}

void Dispatcher::stop(const std::shared_ptr<Watch>& watch) {
    handle_fork();
    if (std::erase(watches_, watch) == 0) {
        return;
    }
    if (watches_.empty()) {
        collector::remove();
        current_ = {};
    }
    (void)deliver_notices();  // an interrupt stays pending for the binding to raise
    watch->flush(kFlushSeconds);
    if (PyErr_Occurred() == nullptr) {
        (void)deliver_notices();
    }
}

void Dispatcher::end() {
    handle_fork();
    ended_by_ = std::this_thread::get_id();
    // The oldest first, and no more than there are: what is told now may start new ones for ever.
    for (std::size_t left = watches_.size(); left > 0 && !watches_.empty(); --left) {
        stop(std::shared_ptr<Watch>(watches_.front()));
    }
}

bool Dispatcher::is_over() const {
    return ended_by_ != std::thread::id() && ended_by_ != std::this_thread::get_id();
}

bool Dispatcher::is_active(const std::shared_ptr<Watch>& watch) const {
    return std::ranges::find(watches_, watch) != watches_.end();
}

void Dispatcher::refresh(const std::shared_ptr<Watch>& watch) {
    handle_fork();
    if (is_active(watch) && !collector::in_place()) {
        collector::put_back();
        for (const auto& active : watches_) {
            active->skip("times the hook was taken out of gc.callbacks");
            active->log(kWarning,
                        "The program took cyclewatch out of gc.callbacks; collections until it "
                        "was put back were not seen.");
        }
    }
    watch->log_write_failures();
    (void)deliver_notices();  // an interrupt stays pending for the binding to raise
}

void Dispatcher::reclassify() {
    handle_fork();
    for (const auto& watch : watches_) {
        watch->revise([this](model::Finding& finding) { rules_.judge(finding, loaded_version); });
    }
}

void Dispatcher::handle_fork() {
    const unsigned number = forks.load();
    if (number == handled_forks_) {
        return;
    }
    drop_notices();
    site_lookup_ = {};
    ended_by_ = {};
    current_ = {};
    current_.inherited = true;
    collections_ = 0;
    for (const auto& watch : watches_) {
        watch->start_over(number);
    }
    handled_forks_ = number;  // last: whoever runs out of memory on the way is not done
}

bool Dispatcher::is_inherited() noexcept {
    try {
        handle_fork();
        return current_.inherited;
    } catch (...) {
        return true;  // out of memory: the next collection tries again
    }
}

Depth Dispatcher::shallowest_allowed(Clock::time_point now) const {
    Depth depth = Depth::full;
    for (const auto& watch : watches_) {
        depth = std::max(depth, watch->depth(now));
    }
    return depth;
}

void Dispatcher::on_start(int generation) noexcept {
    const Clock::time_point entered = Clock::now();
    try {
        handle_fork();
        current_ = {};
        current_.generation = generation;
        current_.started = entered;
        ++collections_;
        pipeline_.registry().refresh();
    } catch (...) {
        current_.dropped = kOutOfMemory;
    }
    current_.own = Clock::now() - entered;
}

void Dispatcher::on_unreachable(const collector::UnreachableSet& unreachable) noexcept {
    const Clock::time_point entered = unreachable.began();
    if (is_inherited()) {
        return;
    }
    current_.unreachable = unreachable.objects().size();
    if (!pipeline_.registry().empty()) {
        try {
            inspect(unreachable);
        } catch (...) {
            current_.collection.reset();
            current_.dropped = kOutOfMemory;
        }
    }
    current_.own += Clock::now() - entered;
}

void Dispatcher::inspect(const collector::UnreachableSet& unreachable) {
    current_.depth = shallowest_allowed(current_.started);
    accelerator_usable_ = device::accelerator_usable();
    const auto wanted = [this](std::string_view device) {
        return std::ranges::any_of(
            watches_, [&](const auto& watch) { return watch->wants(device, accelerator_usable_); });
    };
    // One capture serves every watch; keys are shown only where all of them asked for values.
    const bool values = std::ranges::all_of(
        watches_, [](const auto& watch) { return watch->settings().capture_values; });
    current_.collection = pipeline_.inspect(unreachable, wanted, current_.depth, values);
    if (current_.collection != nullptr) {
        collector::change_young_count(current_.collection->objects_made);
    }
}

void Dispatcher::on_stop(collector::Miss miss) noexcept {
    const Clock::time_point entered = Clock::now();
    if (is_inherited()) {
        return;
    }
    try {
        conclude(miss);
    } catch (...) {
        current_.dropped = kOutOfMemory;
    }
    current_.collection.reset();
    current_.storages.reset();
    const Clock::time_point now = Clock::now();
    current_.own += now - entered;
    try {
        count_for_all(now);
    } catch (...) {
        // Statistics are the one thing left to lose.
    }
    remind();
}

void Dispatcher::conclude(collector::Miss miss) {
    if (miss != collector::Miss::none) {
        current_.dropped = reason_of(miss);
    }
    if (miss == collector::Miss::broken_list) {
        for (const auto& watch : watches_) {
            watch->log(kWarning,
                       "cyclewatch met a collector list of unknown shape, switched its "
                       "ride-along off and goes on with trial deletion, which is slower.");
        }
    }
    const Clock::time_point now = Clock::now();
    const double dead_for_at_most = seconds(current_.started - replace_last_reaching(now));
    if (current_.collection != nullptr) {
        model::CollectionRecord record = make_record(now);
        record.dead_for_at_most = dead_for_at_most;
        pipeline_.read_after_sweep(*current_.collection);
        collector::change_young_count(-current_.collection->objects_left);
        current_.storages = collected_storages(*current_.collection);
        distribute(*current_.collection, record);
        log_failed_readers();
    }
}

// When a collection last ended that reached at least as far as this one, which ends `now`: what is
// unreachable now was alive then, or not yet made.
Clock::time_point Dispatcher::replace_last_reaching(Clock::time_point now) {
    const int reached = CYCLEWATCH_COLLECTIONS_ARE_FULL ? 2 : current_.generation;
    const auto generation = static_cast<std::size_t>(std::clamp(reached, 0, 2));
    const Clock::time_point last =
        *std::max_element(last_of_generation_.begin() + generation, last_of_generation_.end());
    last_of_generation_[generation] = now;
    return last;
}

model::CollectionRecord Dispatcher::make_record(Clock::time_point now) const {
    model::CollectionRecord record;
    record.number = collections_;
    record.generation = current_.generation;
    record.duration = seconds(now - current_.started);
    record.own_seconds = seconds(current_.own);
    record.unreachable = current_.unreachable;
    record.note = current_.depth == Depth::owners_only
                      ? "over budget: owners were counted, no graph was made"
                      : current_.dropped;
    return record;
}

void Dispatcher::distribute(CapturedCollection& collection, const model::CollectionRecord& record) {
    for (const auto& watch : std::vector(watches_)) {
        deliver_to(*watch, collection, record);
    }
}

void Dispatcher::deliver_to(Watch& watch,
                            CapturedCollection& collection,
                            model::CollectionRecord record) {
    const auto wanted = [&](std::string_view device) {
        return watch.wants(device, accelerator_usable_);
    };
    model::Observation observation = observation_of(collection, wanted);
    record.started_at = watch.seconds_since_start(current_.started);
    record.owners = observation.record.owners;
    record.released_bytes = observation.record.released_bytes;
    record.step = watch.step();
    record.device_memory = std::move(observation.record.device_memory);
    observation.record = record;
    watch.skip("owners whose reader failed", collection.failed_readings);
    watch.skip("objects not captured: over the limit for one collection",
               observation.omitted_nodes);
    watch.skip("references not captured: over the limit for one collection",
               observation.omitted_references);
    watch.skip("collections without a graph: over budget",
               current_.depth == Depth::owners_only ? 1 : 0);
    if (record.owners > 0) {
        std::vector<model::Finding> findings = analysis::analyze(observation);
        for (model::Finding& finding : findings) {
            rules_.judge(finding, loaded_version);
        }
        std::vector<SiteQuestion> questions = take_questions(findings, current_.storages);
        const std::shared_ptr<CollectionResult> result = watch.add(record, std::move(findings));
        site_lookup_.ask(watch.shared_from_this(), result, std::move(questions));
        watch.notify(record, result);
    }
    collection.captured.graph = std::move(observation.graph);
}

void Dispatcher::log_failed_readers() {
    for (const std::string& failure : pipeline_.registry().take_failures()) {
        for (const auto& watch : watches_) {
            watch->log(kWarning, failure);
        }
    }
}

void Dispatcher::count_for_all(Clock::time_point now) {
    const CollectionCost cost{
        current_.unreachable, seconds(current_.own), seconds(now - current_.started)};
    for (const auto& watch : watches_) {
        watch->count(cost);
        if (*current_.dropped != '\0') {
            watch->skip(current_.dropped);
        }
    }
}

}  // namespace cyclewatch::watch
