// SPDX-License-Identifier: Apache-2.0
// The one listener behind the one hook: runs the pipeline once per collection and hands every
// active watch its share.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "catalog/rules.h"
#include "collector/collection_listener.h"
#include "watch/pipeline.h"
#include "watch/site_lookup.h"
#include "watch/watch.h"

namespace cyclewatch::watch {

class Dispatcher final : public collector::CollectionListener {
  public:
    static Dispatcher& instance();

    // Installs the hook with the first watch. The error is a sentence for the user.
    base::Result<std::shared_ptr<Watch>> start(Settings settings, ReportWriter::Render render);
    // Removes the hook with the last watch; delivers what is queued; waits for the report file.
    void stop(const std::shared_ptr<Watch>& watch);
    // For the end of the program: stops the watches that there are. One that another thread starts
    // from now on sees nothing: nobody would wait for its report, and a thread that CPython takes
    // away while it stops the others keeps the interpreter from ending.
    void end();
    [[nodiscard]] bool is_active(const std::shared_ptr<Watch>& watch) const;

    // Before anyone reads a watch: looks after a fork, puts a removed hook back, delivers.
    void refresh(const std::shared_ptr<Watch>& watch);

    device::OwnerRegistry& registry() { return pipeline_.registry(); }
    catalog::Rules& rules() { return rules_; }
    // After the rules have changed: what active watches have found so far is judged again.
    void reclassify();

    void on_start(int generation) noexcept override;
    void on_unreachable(const collector::UnreachableSet& unreachable) noexcept override;
    void on_stop(collector::Miss miss) noexcept override;

  private:
    // The collection under way.
    struct Current {
        bool inherited = false;  // it was under way at the fork: the parent's
        int generation = 0;
        Clock::time_point started;
        Clock::duration own{};
        std::uint64_t unreachable = 0;
        Depth depth = Depth::full;
        std::unique_ptr<CapturedCollection> collection;
        const char* dropped = "";    // why the observation was given up, "" if it was not
        CollectedStorages storages;  // that torch's history may tell of; null: none
    };

    Dispatcher() = default;
    void handle_fork();
    [[nodiscard]] bool is_over() const;
    // Whether the collection under way began before a fork that made this process. What it finds
    // is left to the parent: the writer's locks may be held here for ever, by no thread.
    [[nodiscard]] bool is_inherited() noexcept;
    [[nodiscard]] Depth shallowest_allowed(Clock::time_point now) const;
    void inspect(const collector::UnreachableSet& unreachable);
    void conclude(collector::Miss miss);
    void distribute(CapturedCollection& collection, const model::CollectionRecord& record);
    void deliver_to(Watch& watch, CapturedCollection& collection, model::CollectionRecord record);
    [[nodiscard]] Clock::time_point replace_last_reaching(Clock::time_point now);
    [[nodiscard]] model::CollectionRecord make_record(Clock::time_point now) const;
    void count_for_all(Clock::time_point now);
    void log_failed_readers();

    std::vector<std::shared_ptr<Watch>> watches_;
    Pipeline pipeline_;
    catalog::Rules rules_;
    SiteLookup site_lookup_;
    Current current_;
    bool accelerator_usable_ = false;
    std::uint64_t collections_ = 0;
    unsigned handled_forks_ = 0;  // handle_fork() is done with
    std::thread::id ended_by_;    // the thread that called end(), none before
    std::array<Clock::time_point, 3> last_of_generation_{};
};

}  // namespace cyclewatch::watch
