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
#include "device/readers/plain_attributes.h"
#include "device/readers/torch_functions.h"
#include "python/guards.h"
#include "python/references.h"
#include "python/state_lock.h"

namespace cyclewatch::watch {
namespace {

constexpr std::size_t kMaxQueued = 1000;
constexpr std::size_t kMaxChained = 100;
constexpr int kMaxFrames = 100;  // handlers rarely have deeper call stacks

bool belongs_to_logging(PyCodeObject* code) noexcept {
    return device::utf8(code->co_filename).ends_with("/logging/__init__.py");
}

// True if one of the innermost frames of the calling thread belongs to logging/__init__.py, which
// calls every handler. The running handler may hold a non-reentrant lock, for example the queue
// lock of logging.handlers.QueueHandler. Logging a report could then call the same handler again
// and deadlock.
bool is_in_logging() noexcept {
    const python::ErrorStash stash;
    python::OwnedRef frame = python::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
    for (int depth = 0; frame && depth < kMaxFrames; ++depth) {
        auto* const running = reinterpret_cast<PyFrameObject*>(frame.get());
        const python::OwnedRef code =
            python::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(running)));
        if (belongs_to_logging(reinterpret_cast<PyCodeObject*>(code.get()))) {
            return true;
        }
        frame = python::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(running)));
    }
    return false;
}

struct Queue {
    std::list<std::function<void()>> notifications;
    pid_t process = 0;  // the process that queued them
    bool scheduled = false;
    bool delivering = false;
};

// The queue is never destroyed, because notifications may be delivered after static destructors
// have run. The constructor does not allocate memory.
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
    if (collector::is_under_way_here() || is_in_logging()) {
        return 0;  // reschedule_delivery() schedules it again
    }
    return deliver_notifications() ? 0 : -1;
}

void schedule(Queue& q) noexcept {
    if (q.delivering) {
        // CPython 3.11 does not return to a traced function if a pending call is added while
        // another one runs Python code.
        return;
    }
    // Py_AddPendingCall() fails if the interpreter's table of pending calls is full; the next
    // post() then tries again.
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
    const device::torch_api::CompilerPause pause;
    python::ErrorStash stash;
    bool interrupted = false;
    // Includes what is posted meanwhile. The rest, of notifications that cause others without end,
    // is delivered after the next collection.
    for (std::size_t left = q.notifications.size() + kMaxChained;
         left > 0 && !q.notifications.empty() && !interrupted;
         --left) {
        deliver_one(q);
        interrupted = PyErr_Occurred() != nullptr;
    }
    q.delivering = false;
    if (interrupted) {
        stash.drop();
        reschedule_delivery();  // CPython calls no further pending call now
    }
    return !interrupted;
}

void drop_notifications() noexcept {
    queue().notifications.clear();
    queue().scheduled = false;
    queue().delivering = false;
}

}  // namespace cyclewatch::watch
