// SPDX-License-Identifier: Apache-2.0
// Builds the lines of one card, and defines how many lines each section of the card may have. Plain
// text. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"
#include "render/renderer.h"

namespace cyclewatch::render {

inline constexpr std::size_t kLeastWidth = 40;
inline constexpr std::size_t kIndent = 4;            // under the rank
inline constexpr std::size_t kMargin = 10;           // indent and keyword column (cut, cycle ...)
inline constexpr std::size_t kOwnerLines = 4;        // one line fewer on a compact card
inline constexpr std::size_t kFewestOwnerLines = 2;  // to make room for changes
inline constexpr std::size_t kAlternatives = 2;

// How much of the source code a card shows.
enum class SourceDetail : std::uint8_t {
    none,
    first,    // the line of the first reference to cut
    line,     // the line of each suggestion
    context,  // also the lines around each reference to cut
};

// How much a card shows.
struct Layout {
    // If false (a compact card), most sections and each path to an owner have one line fewer.
    bool roomy = true;
    SourceDetail detail = SourceDetail::context;
    std::size_t changes = 1;  // number of code changes to show
    std::size_t owner_lines = kOwnerLines;
    std::size_t alternatives = kAlternatives;
    bool tight = false;  // columns always share a line, even if locations must be truncated
    bool cycle = true;   // show the cycle in full, not only in the title
};

// Card::text() returns at most kMaxCardLines lines; further lines are omitted.
class Card {
  public:
    Card(std::size_t width, const Layout& layout);

    // Adds a line with an optional keyword in the margin.
    void add(std::string_view word, std::string_view text);
    // Adds `text`, wrapped to at most `max_lines` lines. Adds nothing if `text` is empty.
    void add_wrapped(std::string_view word, std::string_view text, std::size_t max_lines);
    // Adds `left`, and `right` aligned to the right edge; `right` is moved to separate lines if the
    // two do not fit on one line. `right` ends with a location, which is truncated only on a tight
    // card (Layout::tight).
    void add_columns(std::string_view word, std::string_view left, std::string_view right);
    // Like add_columns(), but a compact card uses one line and truncates both columns.
    void add_truncated_columns(std::string_view word,
                               std::string_view left,
                               std::string_view right);
    // Adds the code at the location of `reference`, with the expression underlined. `is_first`:
    // true for the first reference to cut.
    void add_source(const model::Reference& reference, SourceDetail most, bool is_first);
    void push(std::string line);

    [[nodiscard]] std::size_t width() const { return width_; }
    [[nodiscard]] const Layout& layout() const { return layout_; }
    [[nodiscard]] bool fits() const { return lines_.size() <= kMaxCardLines; }
    // Returns `lines`, minus one if the card is compact.
    [[nodiscard]] std::size_t at_most(std::size_t lines) const {
        return lines - (layout_.roomy ? 0 : 1);
    }
    [[nodiscard]] std::size_t room() const { return width_ - kMargin; }
    [[nodiscard]] std::string text() const;

  private:
    // Adds `path` on separate lines, broken after a separator or space if possible.
    void add_path(std::string_view path);

    std::size_t width_;
    Layout layout_;
    std::vector<std::string> lines_;
};

}  // namespace cyclewatch::render
