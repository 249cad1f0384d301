// SPDX-License-Identifier: Apache-2.0
#include "render/graphviz_handles.h"

#include <gvplugin.h>
#include <pthread.h>

#include <array>

extern "C" {
// The plugins are linked, not looked up: no config6 file, no search path, no dlopen.
extern gvplugin_library_t gvplugin_dot_layout_LTX_library;
extern gvplugin_library_t gvplugin_core_LTX_library;
}

namespace cyclewatch::render {
namespace {

constexpr std::size_t kMostComplaints = 4096;  // bytes

std::mutex& graphviz_mutex() {
    // Never destroyed: a report may still be drawn while the process is exiting.
    static auto* mutex = new std::mutex;
    return *mutex;
}

std::string& complaint_text() {
    static auto* text = new std::string;
    return *text;
}

// A child of fork() must find neither the lock taken nor Graphviz half way through a change.
void keep_whole_across_fork() {
    static const int registered = pthread_atfork([] { graphviz_mutex().lock(); },
                                                 [] { graphviz_mutex().unlock(); },
                                                 [] { graphviz_mutex().unlock(); });
    static_cast<void>(registered);
}

extern "C" int collect_complaint(char* message) {
    std::string& text = complaint_text();
    if (message != nullptr && text.size() < kMostComplaints) {
        try {
            text += message;
        } catch (const std::bad_alloc&) {
            // Losing a message is all that can be done: the caller is C.
        }
    }
    return 0;
}

GVC_t* plugin_context() {
    // One for the life of the process: making and freeing one each time leaks inside Graphviz.
    static GVC_t* context = [] {
        static std::array<lt_symlist_t, 3> plugins{{
            {"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library},
            {"gvplugin_core_LTX_library", &gvplugin_core_LTX_library},
            {nullptr, nullptr},
        }};
        return gvContextPlugins(plugins.data(), 0);
    }();
    return context;
}

extern "C" int append_output(void* channel, const char* text) {
    try {
        static_cast<std::string*>(channel)->append(text);
        return 0;
    } catch (const std::bad_alloc&) {
        return -1;
    }
}

extern "C" int ignore_flush(void* /*channel*/) {
    return 0;
}

// The memory output of cgraph; static because the graph keeps a pointer to it.
Agdisc_t* memory_discipline() {
    static Agiodisc_t io{AgIoDisc.afread, append_output, ignore_flush};
    static Agdisc_t discipline{&AgMemDisc, &AgIdDisc, &io};
    return &discipline;
}

// The type of the length changed between Graphviz releases; deduced, so that all compile.
template <typename Length>
int render_data(int (*render)(GVC_t*, graph_t*, const char*, char**, Length*),
                GVC_t* context,
                Agraph_t* graph,
                std::string& out) {
    char* data = nullptr;
    Length length = 0;
    const int status = render(context, graph, "svg", &data, &length);
    if (data != nullptr) {
        out.assign(data, length);
        gvFreeRenderData(data);
    }
    return status;
}

}  // namespace

GraphvizSession::GraphvizSession() {
    keep_whole_across_fork();
    lock_ = std::unique_lock(graphviz_mutex());
    complaint_text().clear();
    previous_hook_ = agseterrf(collect_complaint);
    previous_level_ = agseterr(AGWARN);
}

GraphvizSession::~GraphvizSession() {
    agseterr(previous_level_);
    agseterrf(previous_hook_);
}

GraphHandle GraphvizSession::new_graph(const std::string& name) const {
    std::string mutable_name = name;  // the C API takes char* and copies
    return GraphHandle(agopen(mutable_name.data(), Agdirected, memory_discipline()));
}

base::Result<std::string> GraphvizSession::write_dot(Agraph_t* graph) const {
    std::string out;
    if (agwrite(graph, &out) != 0) {
        return base::Error{"Graphviz could not write the DOT text: " + complaints()};
    }
    return out;
}

base::Result<std::string> GraphvizSession::draw_svg(Agraph_t* graph) const {
    GVC_t* context = plugin_context();
    if (context == nullptr) {
        return base::Error{"Graphviz could not be started; save the report as .html or .json"};
    }
    if (gvLayout(context, graph, "dot") != 0) {
        return base::Error{"Graphviz could not lay the picture out: " + complaints()};
    }
    std::string out;
    const int status = render_data(gvRenderData, context, graph, out);
    gvFreeLayout(context, graph);
    if (status != 0 || out.empty()) {
        return base::Error{"Graphviz could not draw the picture: " + complaints()};
    }
    return out;
}

const std::string& GraphvizSession::complaints() const noexcept {
    return complaint_text();
}

}  // namespace cyclewatch::render
