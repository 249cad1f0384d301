// SPDX-License-Identifier: Apache-2.0
#include "watch/notification_queue.h"

#include <Python.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <list>
#include <new>
#include <utility>

#include "collector/gc_hook.h"
#include "device/torch_compiler.h"
#include "python/guards.h"
#include "python/logging_frames.h"
#include "python/state_lock.h"

namespace cyclewatch::watch {
namespace {

constexpr std::size_t kMaxQueued = 1000;

struct Queue {
    std::list<std::function<void()>> notifications;
    pid_t process = 0;  // the process that queued them
    bool scheduled = false;
    bool delivering = false;
};

// Never destroyed, because delivery may outlive statics. Constructed without allocating.
Queue& queue() noexcept {
    alignas(Queue) static std::array<std::byte, sizeof(Queue)> memory;
    static Queue& instance = *new (memory.data()) Queue;
    return instance;
}

void schedule(Queue& q) noexcept;

int on_pending_call(void* /*unused*/) {
    const python::StateLock lock;
    queue().scheduled = false;
    if (queue().process != ::getpid()) {
        drop_notifications();  // of the parent, which delivers them itself
        return 0;
    }
    if (collector::is_under_way_here() || python::is_in_logging()) {
        return 0;  // reschedule_delivery() schedules it again
    }
    return deliver_notifications() ? 0 : -1;
}

void schedule(Queue& q) noexcept {
    // Fails if the table of pending calls is full; the next post() tries again.
    q.scheduled = q.scheduled || Py_AddPendingCall(on_pending_call, nullptr) == 0;
}

void deliver_one(Queue& q) noexcept {
    try {
        const std::function<void()> notification = std::move(q.notifications.front());
        q.notifications.pop_front();
        notification();
    } catch (...) {
        // Out of memory: this notification is lost.
    }
}

}  // namespace

bool post(std::function<void()> notification) {
    Queue& q = queue();
    q.process = ::getpid();
    const bool room = q.notifications.size() < kMaxQueued;
    if (room) {
        q.notifications.push_back(std::move(notification));
    }
    schedule(q);
    return room;
}

void reschedule_delivery() noexcept {
    if (!queue().notifications.empty()) {
        schedule(queue());
    }
}

bool deliver_notifications() noexcept {
    Queue& q = queue();
    if (q.delivering) {
        return true;
    }
    q.delivering = true;
    const device::CompilerPause pause;
    python::ErrorStash stash;
    bool interrupted = false;
    for (std::size_t left = q.notifications.size();
         left > 0 && !q.notifications.empty() && !interrupted;
         --left) {
        deliver_one(q);
        interrupted = PyErr_Occurred() != nullptr;
    }
    if (interrupted) {
        stash.drop();
    }
    q.delivering = false;
    if (!q.notifications.empty()) {
        schedule(q);
    }
    return !interrupted;
}

void drop_notifications() noexcept {
    queue().notifications.clear();
    queue().scheduled = false;
    queue().delivering = false;
}

}  // namespace cyclewatch::watch
