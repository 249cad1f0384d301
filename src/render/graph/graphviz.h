// SPDX-License-Identifier: Apache-2.0
// Access to Graphviz, whose state is process-wide: messages, string tables, statics of the layout.
// Only the files of this directory include Graphviz's headers. Thread-safe; uses no Python.
#pragma once

#include <cgraph.h>
#include <gvc.h>
#include <locale.h>

#include <exception>
#include <mutex>
#include <new>
#include <string>

namespace cyclewatch::render {

// Graphviz may be called only while a session exists. There is at most one session at a time, and
// fork() waits until it ends, so that a forked child can start its own. A session restores what it
// changes: Graphviz's error hook and level, and this thread's locale.
// Debian's shared library sets LC_NUMERIC of the process to "C" during a layout; a static library
// built by cmake/graphviz_static.cmake does not.
class GraphvizSession {
  public:
    GraphvizSession();
    ~GraphvizSession();
    GraphvizSession(const GraphvizSession&) = delete;
    GraphvizSession& operator=(const GraphvizSession&) = delete;

    // Messages of this session, which are not printed; truncated.
    [[nodiscard]] const std::string& messages() const noexcept;

  private:
    struct Locked {};
    explicit GraphvizSession(Locked /*tag*/);

    std::lock_guard<std::mutex> lock_;
    agusererrf previous_hook_;
    agerrlevel_t previous_level_;
    locale_t previous_locale_;
};

// A directed graph. Nodes, edges and clusters are written in the order in which they were added.
// REQUIRES: a session that outlives the graph.
class Graph {
  public:
    explicit Graph(std::string name);
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    // Calls `use` with the graph. Returns false if Graphviz gave up. Throws only std::bad_alloc. If
    // `use` throws, the graph is abandoned: closing a half-built graph would crash. After that,
    // use() does nothing and returns false.
    template <typename Use>
    bool use(Use use) {
        if (graph_ == nullptr) {
            return false;
        }
        try {
            use(graph_);
            return true;
        } catch (const std::bad_alloc&) {
            graph_ = nullptr;
            throw;
        } catch (const std::exception&) {
            graph_ = nullptr;
            return false;
        }
    }

    // The graph as DOT; "" if Graphviz gave up.
    [[nodiscard]] std::string dot();

    // Lays the graph out with `dot`, and calls `read` with the graph while the layout exists.
    // Returns false if Graphviz gave up.
    template <typename Read>
    bool lay_out(Read read) {
        bool done = false;
        const bool whole = use([&](Agraph_t* graph) {
            done = start_layout(graph);
            if (done) {
                read(graph);
            }
            free_layout(graph);
        });
        return whole && done;
    }

  private:
    static bool start_layout(Agraph_t* graph);
    static void free_layout(Agraph_t* graph);

    Agraph_t* graph_;
};

// Sets an attribute of a graph, node or edge.
void set_attribute(void* object, std::string name, std::string value);
// Sets the default of an attribute. `kind` is AGRAPH, AGNODE or AGEDGE.
void set_default(Agraph_t* graph, int kind, std::string name, std::string value);

}  // namespace cyclewatch::render
