// SPDX-License-Identifier: Apache-2.0
#include "render/graphviz_handles.h"

#include <gvplugin.h>
#include <pthread.h>

#include <array>
#include <map>
#include <string_view>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): Graphviz's names.
extern "C" {
// The plugins are linked, not looked up: no config6 file, no search path, no dlopen.
extern gvplugin_library_t gvplugin_dot_layout_LTX_library;
extern gvplugin_library_t gvplugin_core_LTX_library;
}
// NOLINTEND(readability-identifier-naming)

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

// Graphviz calls what is extern "C" here, and no exception passes through C: without memory these
// functions end the process, as Graphviz itself does.

// A child of fork() must find neither the lock taken nor Graphviz half way through a change.
void keep_whole_across_fork() {
    static const int registered = pthread_atfork([] { graphviz_mutex().lock(); },
                                                 [] { graphviz_mutex().unlock(); },
                                                 [] { graphviz_mutex().unlock(); });
    static_cast<void>(registered);
}

extern "C" int collect_complaint(char* message) noexcept {
    std::string& text = complaint_text();
    if (message != nullptr && text.size() < kMostComplaints) {
        text += message;
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

extern "C" int append_output(void* channel, const char* text) noexcept {
    static_cast<std::string*>(channel)->append(text);
    return 0;
}

extern "C" int ignore_flush(void* /*channel*/) {
    return 0;
}

// Names numbered as they come. cgraph's own way is to take their addresses, by which it then
// orders clusters: the same report would be written differently on every run.
struct NumberedNames {
    Agraph_t* graph = nullptr;
    std::map<std::string, IDTYPE, std::less<>> numbers;
    std::vector<char*> names;  // strings of cgraph's: it reads flags kept in front of them
    IDTYPE unnamed = 1;        // odd numbers; the names have the even ones
};

extern "C" void* open_names(Agraph_t* graph, Agdisc_t* /*discipline*/) noexcept {
    return new NumberedNames{.graph = graph, .numbers = {}, .names = {}};
}

extern "C" long number_of_name(
    void* state, int /*type*/, char* name, IDTYPE* id, int create) noexcept {
    auto& known = *static_cast<NumberedNames*>(state);
    if (name == nullptr) {
        *id = known.unnamed;
        known.unnamed += create != 0 ? 2 : 0;
        return create;
    }
    const auto found = known.numbers.find(std::string_view(name));
    if (found != known.numbers.end()) {
        *id = found->second;
        return 1;
    }
    if (create == 0) {
        return 0;
    }
    known.names.push_back(agstrdup(known.graph, name));
    *id = 2 * known.names.size();
    known.numbers.emplace(name, *id);
    return 1;
}

extern "C" long refuse_number(void* /*state*/, int /*type*/, IDTYPE /*id*/) {
    return 0;
}

extern "C" void keep_number(void* /*state*/, int /*type*/, IDTYPE /*id*/) {}

extern "C" char* name_of_number(void* state, int /*type*/, IDTYPE id) {
    auto& known = *static_cast<NumberedNames*>(state);
    const bool named = id % 2 == 0 && id >= 2 && id / 2 <= known.names.size();
    return named ? known.names[id / 2 - 1] : nullptr;
}

extern "C" void close_names(void* state) {
    delete static_cast<NumberedNames*>(state);
}

extern "C" void ignore_object(void* /*state*/, int /*type*/, void* /*object*/) {}

// Output into memory, names by number; static because the graph keeps a pointer to it.
Agdisc_t* our_discipline() {
    static Agiodisc_t io{AgIoDisc.afread, append_output, ignore_flush};
    static Agiddisc_t names{open_names,
                            number_of_name,
                            refuse_number,
                            keep_number,
                            name_of_number,
                            close_names,
                            ignore_object};
    static Agdisc_t discipline{&AgMemDisc, &names, &io};
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
    return GraphHandle(agopen(mutable_name.data(), Agdirected, our_discipline()));
}

base::Result<std::string> GraphvizSession::write_dot(Agraph_t* graph) const {
    std::string out;
    const int status = agwrite(graph, &out);
    if (status != 0) {
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
