// SPDX-License-Identifier: Apache-2.0
// With the static Graphviz, an allocation that fails anywhere while a picture is drawn throws
// std::bad_alloc to the caller, and later pictures are not affected. Built only with the static
// Graphviz; the linker redirects malloc() and others to the functions below (--wrap).
#include "model/finding.h"
#include "render/graph/picture_graph.h"

#include <gtest/gtest.h>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

namespace {

std::size_t counted = 0;
std::size_t failing = 0;  // the number of the allocation that fails; 0: none is counted

bool fails() {
    return failing != 0 && ++counted == failing;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): names of the linker
void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t count, std::size_t size);
void* __real_realloc(void* memory, std::size_t size);

void* __wrap_malloc(std::size_t size) {
    return fails() ? nullptr : __real_malloc(size);
}
void* __wrap_calloc(std::size_t count, std::size_t size) {
    return fails() ? nullptr : __real_calloc(count, size);
}
void* __wrap_realloc(void* memory, std::size_t size) {
    return fails() ? nullptr : __real_realloc(memory, size);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

}  // extern "C"

void* operator new(std::size_t size) {
    if (void* const memory = std::malloc(size != 0 ? size : 1)) {
        return memory;
    }
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}

namespace cyclewatch::render {
namespace {

using model::Picture;

// A cycle of two objects and a tensor.
Picture small_picture() {
    Picture picture;
    picture.items = {{"Engine", "app.Engine", true, false, 0},
                     {"Worker", "app.Worker at app.py:12", true, false, 0},
                     {"Tensor", "torch.Tensor", false, true, 1 << 20}};
    picture.arrows = {{0, 1, ".worker", true, false},
                      {1, 0, ".engine", true, true},
                      {0, 2, ".weights", false, false}};
    return picture;
}

// One parent and its children, each with two references to the parent.
Picture hub_picture(std::uint32_t children) {
    Picture picture;
    picture.items.push_back({"Parent", "app.Parent", true, false, 0});
    for (std::uint32_t i = 1; i <= children; ++i) {
        picture.items.push_back({"Child" + std::to_string(i), "app.Child", true, false, 0});
        picture.arrows.push_back({0, i, ".children[" + std::to_string(i) + "]", i == 1, false});
        picture.arrows.push_back({i, 0, ".parent", i == 1, true});
        picture.arrows.push_back({i, 0, ".owner", false, true});
    }
    return picture;
}

std::string text_of(const PictureLayout& layout) {
    std::string text;
    const auto append = [&text](double x, double y) {
        std::array<char, 64> number{};
        std::snprintf(number.data(), number.size(), "%.3f %.3f\n", x, y);
        text += number.data();
    };
    append(layout.width, layout.height);
    for (const PictureBox& box : layout.boxes) {
        append(box.centre.x, box.centre.y);
    }
    for (const PictureLine& line : layout.lines) {
        append(line.label.x, line.label.y);
        for (const Point& point : line.curve) {
            append(point.x, point.y);
        }
    }
    return text;
}

// The DOT text and the geometry of a picture; "" if Graphviz gave up.
std::string draw(const Picture& picture) {
    PictureGraph graph(picture);
    std::string text = graph.dot();
    const std::optional<PictureLayout> layout = graph.lay_out();
    return layout ? text + text_of(*layout) : "";
}

enum class Outcome { kDrawn, kBadAlloc, kOther };

// Draws while allocation `number` fails.
Outcome draw_with_failure(const Picture& picture, std::size_t number) {
    counted = 0;
    failing = number;
    Outcome outcome = Outcome::kOther;
    try {
        outcome = draw(picture).empty() ? Outcome::kOther : Outcome::kDrawn;
    } catch (const std::bad_alloc&) {
        outcome = Outcome::kBadAlloc;
    }
    failing = 0;
    return outcome;
}

TEST(FailingAllocations, ThrowBadAllocAndLeaveLaterPicturesRight) {
    const std::array<Picture, 2> pictures{small_picture(), hub_picture(4)};
    // First, because the first picture also makes Graphviz's process-wide state.
    std::size_t number = 1;
    while (draw_with_failure(pictures[0], number) == Outcome::kBadAlloc) {
        ++number;
    }
    const std::array<std::string, 2> expected{draw(pictures[0]), draw(pictures[1])};
    ASSERT_FALSE(expected[0].empty());
    ASSERT_FALSE(expected[1].empty());
    for (const Picture& picture : pictures) {
        for (number = 1;; ++number) {
            const Outcome outcome = draw_with_failure(picture, number);
            if (counted < number) {
                EXPECT_EQ(outcome, Outcome::kDrawn);
                break;
            }
            ASSERT_EQ(outcome, Outcome::kBadAlloc) << "allocation " << number;
            ASSERT_EQ(draw(pictures[0]), expected[0]) << "after allocation " << number;
            ASSERT_EQ(draw(pictures[1]), expected[1]) << "after allocation " << number;
        }
        EXPECT_GT(number, 300) << "the allocations of Graphviz are not counted";
    }
}

}  // namespace
}  // namespace cyclewatch::render
