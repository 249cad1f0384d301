// SPDX-License-Identifier: Apache-2.0
// Samples the memory in use about ten times a second on a background thread. The thread exists only
// while there is a report to add the samples to. It never runs Python code. It uses at most 0.05 %
// of a core: it waits longer if samples take longer.
//
// On the CPU, the samples are the bytes allocated with malloc(). CUDA devices that torch uses are
// sampled once cyclewatch has found a device to be usable, and not on free-threaded builds; only
// these samples acquire the GIL.
#pragma once

#include <chrono>
#include <memory>

#include "report/report_store.h"
#include "watch/report_writer.h"

namespace cyclewatch::watch {

// Adds samples to `store` from now on, with times since `started`. Not in a forked child, unless it
// is called there, and not if the address space is limited (RLIMIT_AS), of which glibc reserves up
// to 128 MiB for the thread. REQUIRES: GIL held. Throws std::bad_alloc or std::system_error.
void start_usage_samples(std::shared_ptr<report::ReportStore> store,
                         std::chrono::steady_clock::time_point started);
// Lets `writer` write the report of `store` from time to time, so that it shows the samples while
// the program runs. Nothing if `store` is not sampled. REQUIRES: GIL held.
void write_usage_samples(const report::ReportStore* store,
                         const std::weak_ptr<ReportWriter>& writer);
// Idempotent. REQUIRES: GIL held.
void stop_usage_samples(const report::ReportStore* store) noexcept;

// Ends the thread and waits for it; it does not run again before resume_usage_samples(). The
// reports stay registered. Used before fork(), because CPython warns of a fork in a process that
// has threads, and at exit, because a thread must not wait for the GIL of a finalized interpreter.
// REQUIRES: GIL held; releases it.
void pause_usage_samples();
// Lets start_due_usage_samples() start the thread again. CPython 3.13 counts the threads after the
// functions that run in the parent of a fork, so the thread must not start yet. REQUIRES: GIL held.
void resume_usage_samples();
// Called at each collection and step. Cheap if the thread is not due. REQUIRES: GIL held.
void start_due_usage_samples() noexcept;

}  // namespace cyclewatch::watch
