// SPDX-License-Identifier: Apache-2.0
#include "render/graph/graphviz.h"

#include <gvplugin.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <map>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "render/graph/picture_layout.h"

// NOLINTNEXTLINE(readability-identifier-naming): a name of Graphviz
extern "C" gvplugin_library_t gvplugin_dot_layout_LTX_library;

namespace cyclewatch::render {
namespace {

constexpr std::size_t kMostMessageBytes = 4096;

std::atomic<std::size_t> sessions{0};

// Never destroyed: pictures may be drawn while the process exits.
std::mutex& graphviz_mutex() {
    static auto* const mutex = new std::mutex;
    return *mutex;
}

std::string& message_text() {
    static auto* const text = new std::string;
    return *text;
}

// Otherwise a child that is forked while another thread draws would wait for the mutex forever.
void hold_mutex_across_fork() {
    [[maybe_unused]] static const int registered =
        pthread_atfork([] { graphviz_mutex().lock(); },
                       [] { graphviz_mutex().unlock(); },
                       [] { graphviz_mutex().unlock(); });
}

std::mutex& prepared_mutex() {
    hold_mutex_across_fork();
    return graphviz_mutex();
}

extern "C" int collect_message(char* message) {
    std::string& text = message_text();
    if (message != nullptr && text.size() < kMostMessageBytes) {
        try {
            text += message;
        } catch (const std::bad_alloc&) {
            // The message is lost.
        }
    }
    return 0;
}

// One for the process, because Graphviz leaks memory for each. The plugin is linked and listed, so
// that Graphviz does not search for plugins and reads no files. Null if Graphviz failed.
GVC_t* layout_context() {
    static GVC_t* const context = [] {
        static std::array<lt_symlist_t, 2> plugins{{
            {"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library},
            {nullptr, nullptr},
        }};
        return gvContextPlugins(plugins.data(), 0);
    }();
    return context;
}

locale_t numbers_with_points() {
    static const locale_t locale = newlocale(LC_NUMERIC_MASK, "C", nullptr);
    return locale;
}

// Numbers names in the order of their creation. Graphviz's default uses the address of a name, and
// sorts clusters by this number, so that the text would differ from run to run. Function templates,
// because the types of parameters differ between releases of Graphviz. Exceptions pass through
// Graphviz's frames, for which compilers emit unwind tables; Graph::use() then abandons the graph.
struct NumberedNames {
    Agraph_t* graph = nullptr;
    std::map<std::string, IDTYPE, std::less<>> numbers;
    std::vector<char*> names;  // strings of Graphviz
    IDTYPE anonymous = 1;      // odd; names have even numbers
};

void* open_names(Agraph_t* graph, Agdisc_t* /*discipline*/) {
    return new NumberedNames{.graph = graph, .numbers = {}, .names = {}, .anonymous = 1};
}

IDTYPE add_name(NumberedNames& known, char* name) {
    known.names.push_back(agstrdup(known.graph, name));
    const IDTYPE number = 2 * known.names.size();
    known.numbers.emplace(name, number);
    return number;
}

template <typename Answer, typename Create>
Answer number_of_name(void* state, int /*kind*/, char* name, IDTYPE* number, Create create) {
    auto& known = *static_cast<NumberedNames*>(state);
    if (name == nullptr) {
        *number = known.anonymous;
        known.anonymous += create ? 2 : 0;
        return create ? 1 : 0;
    }
    if (const auto found = known.numbers.find(std::string_view(name));
        found != known.numbers.end()) {
        *number = found->second;
        return 1;
    }
    if (create) {
        *number = add_name(known, name);
    }
    return create ? 1 : 0;
}

template <typename Answer>
Answer refuse_number(void* /*state*/, int /*kind*/, IDTYPE /*number*/) {
    return 0;
}

void keep_number(void* /*state*/, int /*kind*/, IDTYPE /*number*/) {}

char* name_of_number(void* state, int /*kind*/, IDTYPE number) {
    const auto& known = *static_cast<NumberedNames*>(state);
    const bool named = number % 2 == 0 && number >= 2 && number / 2 <= known.names.size();
    return named ? known.names[number / 2 - 1] : nullptr;
}

void close_names(void* state) {
    delete static_cast<NumberedNames*>(state);
}

void ignore_object(void* /*state*/, int /*kind*/, void* /*object*/) {}

int append_text(void* channel, const char* text) {
    static_cast<std::string*>(channel)->append(text);
    return 0;
}

int flush_text(void* /*channel*/) {
    return 0;
}

// Releases of Graphviz differ in the members of these structs.
template <typename Discipline>
Discipline make_name_discipline() {
    Discipline names{};
    names.open = open_names;
    names.map = number_of_name;
    if constexpr (requires { names.alloc; }) {
        names.alloc = refuse_number;
    }
    names.free = keep_number;
    names.print = name_of_number;
    names.close = close_names;
    names.idregister = ignore_object;
    return names;
}

template <typename Discipline>
Discipline make_discipline(Agiddisc_t* names, Agiodisc_t* output) {
    Discipline all{};
    if constexpr (requires { all.mem; }) {
        all.mem = &AgMemDisc;
    }
    all.id = names;
    all.io = output;
    return all;
}

Agdisc_t* discipline() {
    static auto names = make_name_discipline<Agiddisc_t>();
    static Agiodisc_t output{AgIoDisc.afread, append_text, flush_text};
    static auto all = make_discipline<Agdisc_t>(&names, &output);
    return &all;
}

}  // namespace

GraphvizSession::GraphvizSession() : GraphvizSession(Locked{}) {
    ++sessions;
    message_text().clear();
    // Before the first graph, because it sets the default label of all later graphs.
    static_cast<void>(layout_context());
}

GraphvizSession::GraphvizSession(Locked /*tag*/)
    : lock_(prepared_mutex()),
      previous_hook_(agseterrf(collect_message)),
      previous_level_(agseterr(AGWARN)),
      previous_locale_(uselocale(numbers_with_points())) {}

GraphvizSession::~GraphvizSession() {
    uselocale(previous_locale_);
    agseterr(previous_level_);
    agseterrf(previous_hook_);
}

const std::string& GraphvizSession::messages() const noexcept {
    return message_text();
}

std::size_t graphviz_sessions() noexcept {
    return sessions;
}

Graph::Graph(std::string name) : graph_(agopen(name.data(), Agdirected, discipline())) {}

Graph::~Graph() {
    if (graph_ != nullptr) {
        agclose(graph_);
    }
}

std::string Graph::dot() {
    std::string text;
    const bool written = use([&text](Agraph_t* graph) { agwrite(graph, &text); });
    return written ? text : std::string();
}

bool Graph::start_layout(Agraph_t* graph) {
    return layout_context() != nullptr && gvLayout(layout_context(), graph, "dot") == 0;
}

void Graph::free_layout(Agraph_t* graph) {
    gvFreeLayout(layout_context(), graph);
}

void set_attribute(void* object, std::string name, std::string value) {
    std::string otherwise;
    agsafeset(object, name.data(), value.data(), otherwise.data());
}

void set_default(Agraph_t* graph, int kind, std::string name, std::string value) {
    agattr(graph, kind, name.data(), value.data());
}

}  // namespace cyclewatch::render
