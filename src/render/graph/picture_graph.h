// SPDX-License-Identifier: Apache-2.0
// A picture as a graph of Graphviz, which is written as DOT and laid out.
#pragma once

#include <cgraph.h>

#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"
#include "render/graph/graphviz.h"
#include "render/graph/picture_layout.h"

namespace cyclewatch::render {

// The nodes and edges of one picture, in a graph that may contain several.
struct PictureElements {
    std::vector<Agnode_t*> nodes;    // for the drawn items
    std::vector<PictureLine> lines;  // without geometry
    std::vector<Agedge_t*> edges;    // for the lines
};

// Adds the defaults of all pictures. `graph` must not have nodes yet.
void set_picture_defaults(Agraph_t* graph);
// Adds a picture to `graph`, which may be a cluster. The names of its nodes start with `prefix`.
PictureElements add_picture(Agraph_t* graph,
                            const model::Picture& picture,
                            const std::string& prefix);

// One picture. Holds Graphviz's session while it exists.
class PictureGraph {
  public:
    explicit PictureGraph(const model::Picture& picture);

    // Top down or, if the picture then needs less space than its page has, left to right. Nothing
    // if Graphviz gave up.
    [[nodiscard]] std::optional<PictureLayout> lay_out();

    // "" if Graphviz gave up.
    [[nodiscard]] std::string dot() { return graph_.dot(); }

  private:
    [[nodiscard]] std::optional<PictureLayout> lay_out(const std::string& direction);

    GraphvizSession session_;
    Graph graph_;
    PictureElements elements_;
};

}  // namespace cyclewatch::render
