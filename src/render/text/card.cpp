// SPDX-License-Identifier: Apache-2.0
#include "render/text/card.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "render/excerpt.h"

namespace cyclewatch::render {
namespace {

std::string trimmed(const std::string& text) {
    return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace

Card::Card(std::size_t width, const Layout& layout)
    : width_(std::max(width, kLeastWidth)), layout_(layout) {}

void Card::add(std::string_view word, std::string_view text) {
    std::string line(kIndent, ' ');
    line += word;
    line.resize(std::max(line.size() + (word.empty() ? 0 : 1), kMargin), ' ');
    push(line + std::string(text));
}

void Card::add_wrapped(std::string_view word, std::string_view text, std::size_t max_lines) {
    if (text.empty()) {
        return;
    }
    for (const std::string& part : base::wrap_text(text, room(), max_lines)) {
        add(word, part);
        word = {};
    }
}

void Card::add_columns(std::string_view word, std::string_view left, std::string_view right) {
    if (layout_.tight) {
        add_truncated_columns(word, left, right);
        return;
    }
    const std::size_t columns = base::text_width(right);
    if (right.empty() || base::text_width(left) + columns + 2 > room()) {
        add(word, base::truncate_middle(left, room()));
        add_path(right);
        return;
    }
    std::string line(left);
    line.append(room() - base::text_width(left) - columns, ' ');
    add(word, line.append(right));
}

void Card::add_truncated_columns(std::string_view word,
                                 std::string_view left,
                                 std::string_view right) {
    if (layout_.roomy || right.empty()) {
        add_columns(word, left, right);
        return;
    }
    const std::string tail = base::truncate_middle(right, room() / 2);
    const std::size_t left_room = room() - base::text_width(tail) - 2;
    std::string line = base::truncate_middle(left, left_room);
    line.append(left_room - base::text_width(line) + 2, ' ');
    add(word, line + tail);
}

void Card::add_path(std::string_view path) {
    while (!path.empty()) {
        std::size_t end = std::max<std::size_t>(base::prefix_bytes(path, room() - 2), 1);
        if (end < path.size()) {
            // Break after a separator, if there is one, to keep the file name on one line.
            const std::size_t separator = path.substr(0, end).find_last_of("/\\ ");
            end = separator == std::string_view::npos ? end : separator + 1;
        }
        add("", "  " + std::string(path.substr(0, end)));
        path.remove_prefix(end);
    }
}

void Card::add_source(const model::Reference& reference, SourceDetail most, bool is_first) {
    const SourceDetail detail = std::min(layout_.detail, most);
    if (!reference.source || detail < (is_first ? SourceDetail::first : SourceDetail::line)) {
        return;
    }
    for (const ExcerptLine& line : excerpt_lines(*reference.source)) {
        if (detail != SourceDetail::context && !line.is_at_location) {
            continue;
        }
        const std::string text = line.before + line.expression + line.after;
        if (detail != SourceDetail::context) {
            add("", "> " + trimmed(line.number) + " | " + trimmed(text));
            continue;
        }
        const std::string margin = (line.is_at_location ? "> " : "  ") + line.number + " | ";
        add("", margin + text);
        if (!line.expression.empty()) {
            add("",
                std::string(margin.size() - 2, ' ') + "| " +
                    std::string(base::text_width(line.before), ' ') +
                    std::string(base::text_width(line.expression), '~'));
        }
    }
}

void Card::push(std::string line) {
    line = base::truncate_end(line, width_);
    line.erase(line.find_last_not_of(' ') + 1);
    lines_.push_back(std::move(line));
}

std::string Card::text() const {
    std::string all;
    for (std::size_t i = 0; i < std::min(lines_.size(), kMaxCardLines); ++i) {
        all += (i == 0 ? "" : "\n") + lines_[i];
    }
    return all;
}

}  // namespace cyclewatch::render
