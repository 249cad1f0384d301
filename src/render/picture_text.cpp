// SPDX-License-Identifier: Apache-2.0
#include "render/picture_text.h"

#include <algorithm>

#include "base/text.h"
#include "render/graph/picture_layout.h"

namespace cyclewatch::render {
namespace {

using model::Picture;

constexpr std::size_t kNameColumns = 30;
constexpr std::size_t kSecondColumns = 34;
constexpr std::size_t kArrowColumns = 26;

}  // namespace

BoxText box_text(const Picture::Item& item) {
    BoxText text;
    text.name = base::truncate_middle(base::shown_name(item.text), kNameColumns);
    if (item.owner && item.bytes > 0) {
        text.second_line = base::format_bytes(item.bytes);
    } else {
        // Shorten "pkg.Type at folder/file:line" to "file:line": the first line of the box already
        // shows the name, and the tooltip shows the full text.
        const std::size_t location = item.detail.rfind(" at ");
        std::string shown = item.detail;
        if (location != std::string::npos) {
            shown.erase(0, std::max(location + 4, shown.find_last_of('/') + 1));
        }
        const std::string detail = base::truncate_middle(base::shown_name(shown), kSecondColumns);
        text.second_line = detail == text.name ? std::string() : detail;
    }
    return text;
}

std::string tooltip_markup(const Picture::Item& item) {
    const std::string& name = item.detail.empty() ? item.text : item.detail;
    std::string markup = base::escape_markup(base::shown_name(name));
    if (item.allocation_stack) {
        markup += "\nallocated at";
        for (const std::string& frame : *item.allocation_stack) {
            markup += "\n" + base::escape_markup(base::shown_name(frame));
        }
    }
    return markup;
}

std::string arrow_text(const Picture::Arrow& arrow) {
    return (arrow.cut ? "cut: " : "") +
           base::truncate_middle(base::shown_name(arrow.label), kArrowColumns);
}

std::uint64_t undrawn_items(const Picture& picture) {
    const std::size_t items = picture.items.size();
    return picture.omitted_items + (items - std::min(items, kMostBoxes));
}

std::vector<std::string> hiding_items(const Picture& picture) {
    std::vector<std::string> names;
    for (const Picture::Item& item : picture.items) {
        const std::string name = base::shown_name(item.text);
        if (item.hides_references.value_or(false) &&
            std::ranges::find(names, name) == names.end()) {
            names.push_back(name);
        }
    }
    return names;
}

std::string describe_picture(const Picture& picture) {
    constexpr std::size_t kMostReferences = 12;
    std::string text;
    std::size_t shown = 0;
    for (const Picture::Arrow& arrow : picture.arrows) {
        if (arrow.on_cycle && shown++ < kMostReferences) {
            text += base::shown_name(picture.items[arrow.from].text) + " refers to " +
                    base::shown_name(picture.items[arrow.to].text) + " through " +
                    base::shown_name(arrow.label) + (arrow.cut ? ", the reference to cut. " : ". ");
        }
    }
    const auto owners = static_cast<std::uint64_t>(
        std::count_if(picture.items.begin(), picture.items.end(), [](const Picture::Item& item) {
            return item.owner;
        }));
    const std::vector<std::string> hiding = hiding_items(picture);
    if (!hiding.empty()) {
        text += "The collector does not see all references of ";
        for (std::size_t i = 0; i < std::min(hiding.size(), kMostReferences); ++i) {
            text += (i > 0 ? ", " : "") + hiding[i];
        }
        text += hiding.size() > kMostReferences ? " and others. " : ". ";
    }
    return text + "The cycle leads to " + base::counted(owners, "owner") + " of device memory.";
}

}  // namespace cyclewatch::render
