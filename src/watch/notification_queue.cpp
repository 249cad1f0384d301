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

constexpr std::size_t kMaxWaiting = 1000;

struct Queue {
    std::list<std::function<void()>> notices;  // empty, it has allocated nothing
    pid_t process = 0;                         // whose notices these are
    bool scheduled = false;
    bool delivering = false;
};

// Never destroyed, as delivery may outlive statics. Made where it lies: noexcept code asks for it.
Queue& queue() noexcept {
    alignas(Queue) static std::array<std::byte, sizeof(Queue)> memory;
    static Queue& the_queue = *new (memory.data()) Queue;
    return the_queue;
}

void ask_for_delivery(Queue& q) noexcept;

int on_pending_call(void* /*unused*/) {
    const python::StateLock lock;
    queue().scheduled = false;
    if (queue().process != ::getpid()) {
        drop_notices();  // the parent's, which tells them itself
        return 0;
    }
    if (collector::is_under_way_here() || python::is_in_logging()) {
        return 0;  // until remind() asks again
    }
    return deliver_notices() ? 0 : -1;
}

void ask_for_delivery(Queue& q) noexcept {
    // The interpreter's table of pending calls may be full: the next post() tries again.
    q.scheduled = q.scheduled || Py_AddPendingCall(on_pending_call, nullptr) == 0;
}

void deliver_one(Queue& q) noexcept {
    try {
        const std::function<void()> notice = std::move(q.notices.front());
        q.notices.pop_front();
        notice();
    } catch (...) {
        // Out of memory: this one is lost.
    }
}

}  // namespace

bool post(std::function<void()> notice) {
    Queue& q = queue();
    q.process = ::getpid();
    const bool room = q.notices.size() < kMaxWaiting;
    if (room) {
        q.notices.push_back(std::move(notice));
    }
    ask_for_delivery(q);
    return room;
}

void remind() noexcept {
    if (!queue().notices.empty()) {
        ask_for_delivery(queue());
    }
}

bool deliver_notices() noexcept {
    Queue& q = queue();
    if (q.delivering) {
        return true;
    }
    q.delivering = true;
    const device::CompilerPause pause;
    python::ErrorStash stash;
    bool interrupted = false;
    for (std::size_t left = q.notices.size(); left > 0 && !q.notices.empty() && !interrupted;
         --left) {
        deliver_one(q);
        interrupted = PyErr_Occurred() != nullptr;
    }
    if (interrupted) {
        stash.drop();
    }
    q.delivering = false;
    if (!q.notices.empty()) {
        ask_for_delivery(q);
    }
    return !interrupted;
}

void drop_notices() noexcept {
    queue().notices.clear();
    queue().scheduled = false;
    queue().delivering = false;
}

}  // namespace cyclewatch::watch
