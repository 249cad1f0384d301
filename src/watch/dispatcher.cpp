// SPDX-License-Identifier: Apache-2.0
#include "watch/dispatcher.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "advice/catalog.h"
#include "collector/gc_hook.h"
#include "collector/object_arrays.h"
#include "compat/plain_instance.h"
#include "device/device_memory.h"
#include "python/guards.h"
#include "python/layout_check.h"
#include "watch/failure_hooks.h"
#include "watch/job_rank.h"
#include "watch/notification_queue.h"
#include "watch/oom_observer.h"
#include "watch/program_info.h"

namespace cyclewatch::watch {
namespace {

constexpr double kFlushSeconds = 10;

constexpr collector::HeapScope kWholeHeap{.generation = 2, .frozen = true};

// Number of forks between the process that loaded this module and this process.
std::atomic<unsigned> forks{0};

// Learns the layout of plain instances from a class that exists in every interpreter. Creating a
// class instead would leave garbage for the program's next collection.
void learn_plain_instances() {
    PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), "_frozen_importlib");
    PyObject* const sample = module != nullptr && PyModule_Check(module)
                                 ? PyDict_GetItemString(PyModule_GetDict(module), "ModuleSpec")
                                 : nullptr;
    if (sample != nullptr && PyType_Check(sample)) {
        cw_learn_plain_instances(reinterpret_cast<PyTypeObject*>(sample));
    }
}

}  // namespace

Dispatcher& Dispatcher::instance() {
    static Dispatcher& dispatcher = *[] {
        // This handler only counts forks. handle_fork() does everything else once the GIL is held.
        pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
        return new Dispatcher;  // never destroyed: the hook may outlive statics
    }();
    return dispatcher;
}

base::Result<std::shared_ptr<Watch>> Dispatcher::start(Settings settings) {
    handle_fork();
    if (is_ending()) {
        return std::make_shared<Watch>(std::move(settings));
    }
    std::string warning;
    if (watches_.empty()) {
        // The layout check creates objects, so it runs before the hook is installed.
        const std::string& layout_failure = python::check_layouts();
        learn_plain_instances();
        (void)advice::Catalog::built_in();  // parsed here, not during a collection
        const base::Result<collector::Installed> installed = collector::install(*this);
        if (!installed.ok()) {
            return base::Error{installed.error()};
        }
        warning = installed.value().warning;
        if (!layout_failure.empty()) {
            warning += (warning.empty() ? "" : " ") + layout_failure;
        }
        stages_.clock.restart();
    }
    auto watch = std::make_shared<Watch>(std::move(settings));
    watches_.push_back(watch);
    watch->sample_usage();
    watch->begin_report();
    update_observing();
    if (!warning.empty()) {
        watch->log(kWarning, warning);
    }
    return watch;
}

void Dispatcher::step(const std::shared_ptr<Watch>& watch, std::int64_t number) {
    report_resurrected();
    program_sets_steps_ = true;
    scan_before_leaving_steps(number, watch.get());
    watch->set_step(number);
    for (const auto& other : watches_) {
        if (other->settings().follow_steps) {
            other->note_step(number);
        }
    }
    update_observing();
    if (!watch->observes_step()) {
        return;
    }
    if (watch->is_census_due()) {
        take_census(watch);
    }
    const Clock::time_point began = Clock::now();
    if (watch->settings().scan_every != 0) {
        scan_now(watch, watch->due_scan(began), began);
    }
    sample_step(watch);
}

void Dispatcher::sample_step(const std::shared_ptr<Watch>& watch) {
    if (collector::is_under_way_here() || !is_active(watch)) {
        return;
    }
    try {
        handle_fork();
        watch->sample_step(Clock::now());
    } catch (const std::bad_alloc&) {
        watch->skip("samples of the memory in steps: out of memory");
    }
}

void Dispatcher::note_step(std::int64_t number, bool counted) {
    if (counted && program_sets_steps_) {
        return;
    }
    program_sets_steps_ = !counted;
    scan_before_leaving_steps(number, nullptr);
    for (const auto& watch : watches_) {
        watch->note_step(number);
    }
    update_observing();
}

void Dispatcher::scan_before_leaving_steps(std::int64_t number, const Watch* stepped) {
    const auto is_leaving = [&](const std::shared_ptr<Watch>& watch) {
        const bool follows =
            stepped == nullptr || watch.get() == stepped || watch->settings().follow_steps;
        return follows && watch->settings().exit_scan && watch->observes_step() &&
               !watch->observes(number);
    };
    std::vector<std::shared_ptr<Watch>> leaving;
    std::ranges::copy_if(watches_, std::back_inserter(leaving), is_leaving);
    for (const auto& watch : leaving) {
        scan_now(watch, kWholeHeap, Clock::now(), true);
    }
}

void Dispatcher::update_observing() {
    observing_.clear();
    std::ranges::copy_if(watches_, std::back_inserter(observing_), [](const auto& watch) {
        return watch->observes_step();
    });
}

void Dispatcher::scan_if_not_collected(const std::shared_ptr<Watch>& watch) {
    if (watch->settings().scan_every == 0 || !watch->observes_step()) {
        return;
    }
    attach_oom_observer();
    const Clock::time_point began = Clock::now();
    scan_now(watch, watch->due_scan(began), began);
}

void Dispatcher::scan_now(const std::shared_ptr<Watch>& watch,
                          std::optional<collector::HeapScope> scope,
                          Clock::time_point began,
                          bool reads_graphs) {
    if (!scope || collector::is_under_way_here() || !is_active(watch)) {
        return;
    }
    try {
        handle_fork();
        watch->scanned(*scope, began, searches_.scan(watch, *scope, reads_graphs));
    } catch (const std::bad_alloc&) {
        watch->skip("scans: out of memory");
    } catch (const std::runtime_error&) {
        watch->skip("scans: other threads created objects during every attempt");
    }
}

void Dispatcher::take_census(const std::shared_ptr<Watch>& watch) {
    const Clock::time_point began = Clock::now();
    if (collector::is_under_way_here() || !is_active(watch) || !watch->observes_step()) {
        return;
    }
    try {
        handle_fork();
        if (!watch->can_afford_census(began)) {
            return;
        }
        const python::YoungCountGuard young_count;
        const python::GcPause pause;
        CensusSettings settings;
        settings.show_keys = watch->settings().capture_values;
        settings.devices = watch->settings().devices;
        watch->add_census(live_owners(settings), began);
    } catch (const std::bad_alloc&) {
        watch->skip("census: out of memory");
    }
}

void Dispatcher::prepare_heap_walk() {
    handle_fork();
    collector::find_generations();
    const python::YoungCountGuard young_count;
    const python::GcPause pause;
    (void)python::check_layouts();
    learn_plain_instances();
    collector::verify_arrays();
}

retention::WhyAlive Dispatcher::why_alive(PyObject* box,
                                          std::size_t paths,
                                          retention::CallerVariables caller,
                                          const device::TorchLayout* layout) {
    prepare_heap_walk();
    return retention::why_alive(box, paths, caller, registry(), layout);
}

LiveGroups Dispatcher::live_owners(const CensusSettings& settings) {
    prepare_heap_walk();
    return watch::live_owners(registry(), settings);
}

std::vector<OwnedStorage> Dispatcher::owned_storages(const CensusSettings& settings) {
    prepare_heap_walk();
    return watch::owned_storages(registry(), settings);
}

ReportedStorages Dispatcher::live_storages(const device::DeviceSelection& devices) {
    prepare_heap_walk();
    return watch::live_storages(registry(), devices);
}

std::shared_ptr<Watch> Dispatcher::prepare_scan(Settings settings) {
    prepare_heap_walk();
    (void)advice::Catalog::built_in();
    settings.budget = 1;
    return std::make_shared<Watch>(std::move(settings));
}

ScanResult Dispatcher::scan(Settings settings, collector::HeapScope scope) {
    const auto watch = prepare_scan(std::move(settings));
    searches_.scan(watch, scope, true);
    watch->end_scan(scope);
    watch->read_source();
    return {.report = watch->report(), .storages = watch->reported().list()};
}

MemoryUse Dispatcher::memory_use(const Settings& settings,
                                 CensusSettings census,
                                 const device::TorchLayout* layout) {
    const auto dead = prepare_scan(settings);
    const auto never_freed = prepare_scan(settings);
    LiveOwners found = searches_.scan_for_live_owners(dead, never_freed, layout);
    census.known = &never_freed->reported();
    census.dead = &dead->reported();
    LiveGroups live = watch::live_owners(registry(), census, std::move(found));
    dead->end_scan(kWholeHeap);
    dead->read_source();
    never_freed->end_search();
    never_freed->read_source();
    return {.dead = dead->report(), .never_freed = never_freed->report(), .live = std::move(live)};
}

model::Report Dispatcher::never_freed(Settings settings,
                                      const device::TorchLayout& layout,
                                      const std::vector<std::string>& failures,
                                      int settle,
                                      ReportedStorages& known) {
    return search_never_freed(std::move(settings), layout, failures, settle, &known, nullptr);
}

std::pair<model::Report, LiveGroups> Dispatcher::never_freed_or_live(
    Settings settings,
    const device::TorchLayout& layout,
    const std::vector<std::string>& failures,
    int settle,
    const CensusSettings& census) {
    LiveOwners owners;
    model::Report report =
        search_never_freed(std::move(settings), layout, failures, settle, nullptr, &owners);
    return {std::move(report), watch::live_owners(registry(), census, std::move(owners))};
}

model::Report Dispatcher::search_never_freed(Settings settings,
                                             const device::TorchLayout& layout,
                                             const std::vector<std::string>& failures,
                                             int settle,
                                             ReportedStorages* known,
                                             LiveOwners* live) {
    const auto watch = prepare_scan(std::move(settings));
    watch->note_failures(failures);
    if (known != nullptr) {
        std::swap(watch->reported(), *known);
    }
    searches_.find_never_freed(watch, layout, settle, live);
    if (known != nullptr) {
        std::swap(watch->reported(), *known);
    }
    watch->end_search();
    watch->read_source();
    return watch->report();
}

void Dispatcher::find_never_freed(const std::shared_ptr<Watch>& watch,
                                  const device::TorchLayout& layout,
                                  const std::vector<std::string>& failures,
                                  int settle) {
    if (collector::is_under_way_here() || !is_active(watch) || !watch->observes_step()) {
        return;
    }
    try {
        prepare_heap_walk();
        watch->note_failures(failures);
        searches_.find_never_freed(watch, layout, settle);
    } catch (const std::bad_alloc&) {
        watch->skip("searches for never freed memory: out of memory");
    }
}

std::map<std::string, std::uint64_t> Dispatcher::dead_bytes(Settings settings,
                                                            collector::HeapScope scope,
                                                            bool with_unexplained) {
    return searches_.dead_bytes(prepare_scan(std::move(settings)), scope, with_unexplained);
}

void Dispatcher::stop(const std::shared_ptr<Watch>& watch) {
    handle_fork();
    report_resurrected();
    if (std::erase(watches_, watch) == 0) {
        return;
    }
    std::erase(observing_, watch);
    watch->write_clean_report();
    watch->end();
    if (watches_.empty()) {
        collector::remove();
        pipeline_.reset();
    }
    (void)deliver_notifications();
    if (PyErr_Occurred() == nullptr) {
        watch->measure_devices();
    }
    watch->flush(kFlushSeconds);
    if (PyErr_Occurred() == nullptr) {
        (void)deliver_notifications();
    }
}

void Dispatcher::scan_at_end(const std::shared_ptr<Watch>& watch) {
    handle_fork();
    if (is_active(watch)) {
        const bool may_scan = watch->may_scan_at_end(child_, stages_.inherited.objects());
        if (watch->settings().exit_scan && may_scan) {
            scan_all(watch);
        }
    }
}

void Dispatcher::scan_all(const std::shared_ptr<Watch>& watch) {
    if (watch->observes_step()) {
        scan_now(watch, kWholeHeap, Clock::now(), true);
    }
}

void Dispatcher::report_resurrected() {
    try {
        pipeline_.report_resurrected(watches_);
    } catch (const std::bad_alloc&) {
        for (const auto& watch : watches_) {
            watch->skip("owners resurrected by a finalizer: out of memory");
        }
    }
}

void Dispatcher::end() {
    handle_fork();
    ending_thread_ = std::this_thread::get_id();
    // Stops the oldest watch first. Stops only as many watches as exist now, because a notification
    // may start another watch.
    for (std::size_t left = watches_.size(); left > 0 && !watches_.empty(); --left) {
        const std::shared_ptr<Watch> watch = watches_.front();
        scan_at_end(watch);
        stop(watch);
    }
}

bool Dispatcher::is_ending() const {
    return ending_thread_ != std::thread::id() && ending_thread_ != std::this_thread::get_id();
}

bool Dispatcher::is_active(const std::shared_ptr<Watch>& watch) const {
    return std::ranges::find(watches_, watch) != watches_.end();
}

void Dispatcher::refresh(const std::shared_ptr<Watch>& watch) {
    handle_fork();
    report_resurrected();
    if (is_active(watch) && !collector::in_place()) {
        collector::put_back();
        for (const auto& active : watches_) {
            active->skip("the hook was removed from gc.callbacks");
            active->log(kWarning,
                        "The program removed cyclewatch from gc.callbacks. Collections were not "
                        "observed until it was added again.");
        }
    }
    watch->log_write_failures();
    (void)deliver_notifications();
}

void Dispatcher::reclassify() {
    handle_fork();
    for (const auto& watch : watches_) {
        watch->revise([this](model::Finding& finding) { rules().judge(finding, loaded_version); });
    }
}

void Dispatcher::handle_fork() {
    const unsigned number = forks.load();
    if (number == handled_forks_) {
        return;
    }
    drop_notifications();
    stages_.reset();
    pipeline_.reset();
    searches_.reset();
    ending_thread_ = {};
    inherited_ = true;
    for (const auto& watch : watches_) {
        watch->start_over(number);
    }
    update_observing();
    handled_forks_ = number;  // set last, so that the next call retries after an allocation failure
}

void Dispatcher::after_fork_in_child() {
    child_ = std::exchange(children_, 0);
    leave_job();
    handle_fork();
    if (!watches_.empty() && !collector::is_under_way_here()) {
        prepare_heap_walk();
        stages_.registry.refresh();
        stages_.inherited.list(stages_.registry);
    }
}

bool Dispatcher::is_inherited() noexcept {
    try {
        handle_fork();
        return inherited_;
    } catch (...) {
        return true;  // out of memory: the next collection tries again
    }
}

void Dispatcher::on_start(int generation) noexcept {
    try {
        handle_fork();
        inherited_ = false;
        for (const auto& watch : watches_) {
            watch->forget_freed_storages();
        }
        pipeline_.report_resurrected(watches_);
        pipeline_.begin(generation);
    } catch (...) {
        pipeline_.drop_capture();
    }
}

bool Dispatcher::wants_unreachable() noexcept {
    return is_inherited() || pipeline_.wants_unreachable(observing_);
}

void Dispatcher::on_unreachable(const collector::UnreachableSet& unreachable) noexcept {
    if (is_inherited()) {
        return;
    }
    try {
        pipeline_.before_sweep(unreachable, observing_);
    } catch (...) {
        pipeline_.drop_capture();
    }
}

void Dispatcher::on_stop(const collector::CollectionOutcome& outcome) noexcept {
    if (is_inherited()) {
        return;
    }
    try {
        pipeline_.after_sweep(outcome, observing_);
        if (can_attach_oom_observer()) {
            (void)post(attach_oom_observer);
        }
        if (can_install_failure_hooks() && registry().expects_owners()) {
            (void)post(install_failure_hooks);
        }
    } catch (...) {
        pipeline_.drop_capture();
    }
    pipeline_.count(observing_);
    reschedule_delivery();
}

}  // namespace cyclewatch::watch
