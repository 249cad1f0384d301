// SPDX-License-Identifier: Apache-2.0
#include "render/renderer.h"

#include <cgraph.h>
#include <pthread.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/byte_size.h"
#include "render/labels.h"
#include "render/picture_text.h"
#include "render/summary.h"

namespace cyclewatch::render {
namespace {

using model::Picture;

constexpr std::size_t kTextColumns = 40;

// cgraph takes char* for what it only reads.
char* c_text(const char* text) {
    return const_cast<char*>(text);
}

std::mutex& cgraph_mutex() {
    // Never destroyed: a report may still be written while the process is exiting.
    static auto* mutex = new std::mutex;
    return *mutex;
}

// A child of fork() must find neither the lock taken nor cgraph half way through a change.
std::unique_lock<std::mutex> lock_cgraph() {
    static const int registered = pthread_atfork([] { cgraph_mutex().lock(); },
                                                 [] { cgraph_mutex().unlock(); },
                                                 [] { cgraph_mutex().unlock(); });
    static_cast<void>(registered);
    return std::unique_lock(cgraph_mutex());
}

extern "C" int append_output(void* channel, const char* text) {
    try {
        static_cast<std::string*>(channel)->append(text);
        return 0;
    } catch (const std::bad_alloc&) {
        return -1;  // the caller is C
    }
}

extern "C" int ignore_flush(void* /*channel*/) {
    return 0;
}

// Numbers in the order of creation. cgraph's own are the addresses of names, by which it orders
// clusters: the same report would be written differently on every run. It keeps the names itself.
extern "C" void* open_numbers(Agraph_t* /*graph*/, Agdisc_t* /*discipline*/) {
    return new IDTYPE{0};
}

extern "C" long next_number(void* last, int /*type*/, char* name, IDTYPE* id, int create) {
    if (name != nullptr || create == 0) {
        return 0;
    }
    *id = ++*static_cast<IDTYPE*>(last);
    return 1;
}

extern "C" long refuse_number(void* /*last*/, int /*type*/, IDTYPE /*id*/) {
    return 0;
}

extern "C" void ignore_number(void* /*last*/, int /*type*/, IDTYPE /*id*/) {}

extern "C" void close_numbers(void* last) {
    delete static_cast<IDTYPE*>(last);
}

extern "C" void ignore_object(void* /*last*/, int /*type*/, void* /*object*/) {}

struct CloseGraph {
    void operator()(Agraph_t* graph) const noexcept { agclose(graph); }
};
using GraphHandle = std::unique_ptr<Agraph_t, CloseGraph>;

GraphHandle new_graph() {
    // Static because the graph keeps a pointer to them.
    static Agiodisc_t output{AgIoDisc.afread, append_output, ignore_flush};
    static Agiddisc_t numbers{open_numbers,
                              next_number,
                              refuse_number,
                              ignore_number,
                              nullptr,
                              close_numbers,
                              ignore_object};
    static Agdisc_t discipline{&AgMemDisc, &numbers, &output};
    GraphHandle graph(agopen(c_text("cyclewatch"), Agdirected, &discipline));
    if (!graph) {
        throw std::bad_alloc();
    }
    return graph;
}

void set(void* thing, const char* name, const std::string& value) {
    agsafeset(thing, c_text(name), c_text(value.c_str()), c_text(""));
}

std::string label_line(const std::string& text, std::size_t columns) {
    return escape_dot_label(truncate_middle(shown_name(text), columns));
}

std::string item_label(const Picture::Item& item) {
    std::string label = label_line(item.text, kTextColumns);
    if (item.owner) {
        label += "\\n" + base::format_bytes(item.bytes);
    }
    return label;
}

Agnode_t* add_item(Agraph_t* graph, const Picture::Item& item, const std::string& id) {
    Agnode_t* node = agnode(graph, c_text(id.c_str()), 1);
    set(node, "label", item_label(item));
    set(node, "tooltip", escape_dot_label(shown_name(item.detail)));
    if (item.on_cycle) {
        set(node, "color", "#3949ab");
        set(node, "penwidth", "2");
    }
    if (item.owner) {
        set(node, "color", "#00796b");
        set(node, "fillcolor", "#e0f2f1");
        set(node, "shape", "box");
        set(node, "style", "filled");
    }
    return node;
}

void add_arrow(Agraph_t* graph,
               const Picture::Arrow& arrow,
               Agnode_t* from,
               Agnode_t* to,
               const std::string& id) {
    // A key of its own: two references between the same objects are two edges.
    Agedge_t* edge = agedge(graph, from, to, c_text(id.c_str()), 1);
    const std::string text = label_line(arrow.label, kTextColumns);
    // The spaces keep the text off the line, which Graphviz draws as close as it can.
    set(edge, "label", (arrow.cut ? "  cut: " : "  ") + text + "  ");
    if (arrow.on_cycle) {
        set(edge, "color", "#3949ab");
        set(edge, "penwidth", "2");
    }
    if (arrow.cut) {
        set(edge, "color", "#c62828");
        set(edge, "fontcolor", "#c62828");
        set(edge, "style", "dashed");
    }
}

std::string cluster_label(const model::Finding& finding, std::size_t rank) {
    return "#" + std::to_string(rank) + "  " + base::format_bytes(model::reached_bytes(finding)) +
           "  " + label_line(finding.title, 100);
}

// The attributes that all pictures share.
void set_picture_style(Agraph_t* root) {
    const auto graph_default = [root](const char* name, const char* value) {
        agattr(root, AGRAPH, c_text(name), c_text(value));
    };
    const auto node_default = [root](const char* name, const char* value) {
        agattr(root, AGNODE, c_text(name), c_text(value));
    };
    const auto edge_default = [root](const char* name, const char* value) {
        agattr(root, AGEDGE, c_text(name), c_text(value));
    };
    // Courier inside the picture: fixed-width fonts are equally wide everywhere, so no text
    // leaves its box.
    graph_default("fontname", "Helvetica");
    graph_default("bgcolor", "transparent");
    graph_default("linelength", "0");  // names are never broken over lines of the file
    graph_default("nslimit", "4");     // bounds the effort of a layout
    graph_default("nslimit1", "4");
    graph_default("mclimit", "0.5");
    node_default("fontname", "Courier");
    node_default("fontsize", "12");
    node_default("shape", "box");
    node_default("style", "rounded");
    node_default("label", "");
    edge_default("fontname", "Courier");
    edge_default("fontsize", "10");
    edge_default("label", "");
}

// The picture of `finding` in its cluster. Names of nodes begin with "f<rank>".
void add_picture(Agraph_t* cluster, const Picture& picture, std::size_t rank) {
    const std::string prefix = "f" + std::to_string(rank);
    std::vector<Agnode_t*> nodes;
    const std::size_t shown = std::min(picture.items.size(), kMaxDrawnItems);
    for (std::size_t i = 0; i < shown; ++i) {
        nodes.push_back(add_item(cluster, picture.items[i], prefix + "n" + std::to_string(i)));
    }
    std::size_t arrows = 0;
    for (std::size_t i = 0; i < picture.arrows.size() && arrows < kMaxDrawnArrows; ++i) {
        const Picture::Arrow& arrow = picture.arrows[i];
        if (arrow.from < nodes.size() && arrow.to < nodes.size()) {
            const std::string id = prefix + "a" + std::to_string(i);
            add_arrow(cluster, arrow, nodes[arrow.from], nodes[arrow.to], id);
            ++arrows;
        }
    }
    if (const std::uint64_t more = undrawn_items(picture); more > 0) {
        const std::string id = prefix + "more";
        Agnode_t* node = agnode(cluster, c_text(id.c_str()), 1);
        set(node, "shape", "plaintext");
        set(node, "label", "and " + counted(more, "more object"));
    }
}

}  // namespace

std::string render_dot(const model::Report& report) {
    const std::unique_lock<std::mutex> lock = lock_cgraph();
    const GraphHandle root = new_graph();
    set_picture_style(root.get());
    agattr(root.get(), AGRAPH, c_text("label"), c_text(""));
    const std::size_t shown = std::min(report.findings.size(), kMaxDrawnFindings);
    for (std::size_t i = 0; i < shown; ++i) {
        const std::string name = "cluster_f" + std::to_string(i + 1);
        Agraph_t* cluster = agsubg(root.get(), c_text(name.c_str()), 1);
        set(cluster, "label", cluster_label(report.findings[i], i + 1));
        add_picture(cluster, report.findings[i].picture, i + 1);
    }
    if (shown < report.findings.size()) {
        const std::size_t more = report.findings.size() - shown;
        set(root.get(), "label", "and " + counted(more, "more finding"));
    }
    std::string out;
    if (agwrite(root.get(), &out) != 0) {
        throw std::bad_alloc();
    }
    return out;
}

}  // namespace cyclewatch::render
