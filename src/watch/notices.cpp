// SPDX-License-Identifier: Apache-2.0
#include "watch/notices.h"

#include <Python.h>

#include <deque>
#include <utility>

#include "python/guards.h"

namespace cyclewatch::watch {
namespace {

struct Queue {
    std::deque<std::function<void()>> notices;
    bool scheduled = false;
    bool delivering = false;
};

Queue& queue() {
    static Queue& the_queue = *new Queue;  // never destroyed: delivery may outlive statics
    return the_queue;
}

int on_pending_call(void* /*unused*/) {
    queue().scheduled = false;
    deliver_notices();
    return 0;  // a notice's failure is its own affair: the program goes on
}

}  // namespace

void post(std::function<void()> notice) {
    Queue& q = queue();
    q.notices.push_back(std::move(notice));
    // The interpreter's table of pending calls may be full: the next post() tries again.
    q.scheduled = q.scheduled || Py_AddPendingCall(on_pending_call, nullptr) == 0;
}

void deliver_notices() noexcept {
    Queue& q = queue();
    if (q.delivering) {
        return;
    }
    q.delivering = true;
    const python::ErrorStash stash;
    while (!q.notices.empty()) {
        const std::function<void()> notice = std::move(q.notices.front());
        q.notices.pop_front();
        notice();
    }
    q.delivering = false;
}

void drop_notices() noexcept {
    queue().notices.clear();
    queue().scheduled = false;
    queue().delivering = false;
}

}  // namespace cyclewatch::watch
