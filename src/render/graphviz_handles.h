// SPDX-License-Identifier: Apache-2.0
// RAII for Graphviz: its graphs, and the one lock it needs. Graphviz keeps process-wide state
// (string tables, error hooks, plugin lists), so everything of it happens under GraphvizSession.
#pragma once

#include <cgraph.h>
#include <gvc.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace cyclewatch::render {

struct CloseGraph {
    void operator()(Agraph_t* graph) const noexcept { agclose(graph); }
};
using GraphHandle = std::unique_ptr<Agraph_t, CloseGraph>;

// Graphviz for one thread at a time, from construction to destruction; also across fork(),
// which waits for a session to end. What Graphviz has to say meanwhile is collected here and
// never reaches the host program's stderr. An allocation that fails inside Graphviz ends the
// process.
class GraphvizSession {
  public:
    GraphvizSession();
    ~GraphvizSession();
    GraphvizSession(const GraphvizSession&) = delete;
    GraphvizSession& operator=(const GraphvizSession&) = delete;

    // An empty directed graph; null if Graphviz cannot even make that.
    [[nodiscard]] GraphHandle new_graph(const std::string& name) const;

    // The graph as DOT text.
    [[nodiscard]] base::Result<std::string> write_dot(Agraph_t* graph) const;

    // The graph laid out by dot and drawn as an SVG document.
    [[nodiscard]] base::Result<std::string> draw_svg(Agraph_t* graph) const;

    // What Graphviz complained about since the session began; "" if nothing.
    [[nodiscard]] const std::string& complaints() const noexcept;

  private:
    std::unique_lock<std::mutex> lock_;
    agusererrf previous_hook_;
    agerrlevel_t previous_level_;
};

}  // namespace cyclewatch::render
