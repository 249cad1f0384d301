// SPDX-License-Identifier: Apache-2.0
#include "render/svg/ring_layout.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "render/picture_text.h"
#include "render/svg/ring_curves.h"

namespace cyclewatch::render {
namespace {

using model::Picture;

constexpr double kNameColumn = 7.9;   // character width in the first line of a box
constexpr double kSmallColumn = 6.7;  // in the second line of a box and on an arrow
constexpr double kPadding = 13;       // between text and border of a box
constexpr double kOneLine = 32;       // height of a box
constexpr double kTwoLines = 48;
constexpr double kRowGap = 16;     // between boxes of a column
constexpr double kClearance = 12;  // between a label and anything else
constexpr double kPageMargin = 14;

class RingBuilder {
  public:
    explicit RingBuilder(const Picture& picture) : picture_(picture) {}

    RingLayout build() {
        make_boxes();
        if (layout_.boxes.empty()) {
            return {};
        }
        choose_members();
        group_arrows();
        place_members();
        find_parents();
        place_others();
        draw_arrows();
        shift_to_origin();
        return std::move(layout_);
    }

  private:
    using Pair = std::pair<std::size_t, std::size_t>;

    RingBox& box(std::size_t item) { return layout_.boxes[item]; }

    void make_boxes() {
        for (const Picture::Item& item : picture_.items) {
            const BoxText text = box_text(item);
            RingBox made;
            made.width =
                std::max(kNameColumn * static_cast<double>(base::text_width(text.name)),
                         kSmallColumn * static_cast<double>(base::text_width(text.second_line)));
            made.width = std::max(made.width + 2 * kPadding, 70.0);
            made.height = text.second_line.empty() ? kOneLine : kTwoLines;
            layout_.boxes.push_back(made);
        }
    }

    void choose_members() {
        for (std::size_t i = 0; i < layout_.boxes.size(); ++i) {
            if (picture_.items[i].on_cycle && members_.size() < kMaxRingMembers) {
                members_.push_back(i);
            }
        }
        if (members_.empty()) {
            members_.push_back(0);
        }
    }

    void group_arrows() {
        for (std::size_t i = 0; i < picture_.arrows.size(); ++i) {
            groups_[{picture_.arrows[i].from, picture_.arrows[i].to}].push_back(i);
        }
    }

    // Size of the label of the arrow between two items; zero if there is no arrow.
    Point label_size(std::size_t from, std::size_t to) const {
        const auto group = groups_.find({from, to});
        return group == groups_.end() ? Point{} : label_size(group->second);
    }

    Point label_size(const std::vector<std::size_t>& arrows) const {
        std::size_t columns = 0;
        for (const std::size_t arrow : arrows) {
            columns = std::max(columns, base::text_width(arrow_text(picture_.arrows[arrow])));
        }
        return {kSmallColumn * static_cast<double>(columns),
                kLabelLine * static_cast<double>(arrows.size())};
    }

    void put_on_ellipse() {
        for (std::size_t i = 0; i < members_.size(); ++i) {
            box(members_[i]).centre = ellipse_.at(static_cast<double>(i));
        }
    }

    Rect ring_label(std::size_t step) const {
        const Point size = label_size(members_[step], members_[(step + 1) % members_.size()]);
        return around(ellipse_.at(static_cast<double>(step) + 0.5), size.x, size.y, kClearance / 2);
    }

    bool crowded() const {
        std::vector<Rect> taken;
        for (const std::size_t member : members_) {
            taken.push_back(around(layout_.boxes[member], kClearance));
        }
        for (std::size_t step = 0; step < members_.size(); ++step) {
            taken.push_back(ring_label(step));
        }
        for (std::size_t a = 0; a < taken.size(); ++a) {
            for (std::size_t b = a + 1; b < taken.size(); ++b) {
                if (overlap(taken[a], taken[b])) {
                    return true;
                }
            }
        }
        return false;
    }

    // Grows the ellipse until no boxes or labels overlap.
    void place_members() {
        ellipse_.members = members_.size();
        if (members_.size() == 1) {
            return;
        }
        ellipse_.radius_x = members_.size() == 2 ? 70 : 110;
        ellipse_.radius_y = members_.size() == 2 ? 72 : 92;
        put_on_ellipse();
        for (int round = 0; round < 60 && crowded(); ++round) {
            ellipse_.radius_x *= 1.05;
            ellipse_.radius_y *= members_.size() == 2 ? 1.02 : 1.04;
            put_on_ellipse();
        }
    }

    // Finds the parent and depth of every item outside the ring.
    void find_parents() {
        const std::size_t count = layout_.boxes.size();
        parent_.assign(count, count);
        depth_.assign(count, 0);
        std::vector<std::size_t> queue = members_;
        std::vector<bool> seen(count, false);
        for (const std::size_t member : members_) {
            seen[member] = true;
        }
        const auto attach = [&](std::size_t item, std::size_t parent) {
            if (!seen[item]) {
                seen[item] = true;
                parent_[item] = parent;
                depth_[item] = depth_[parent] + 1;
                queue.push_back(item);
            }
        };
        // The second pass follows arrows backwards, to attach items that cannot be reached from the
        // ring.
        for (const bool backwards : {false, true}) {
            for (std::size_t at = 0; at < queue.size(); ++at) {
                for (const auto& [pair, arrows] : groups_) {
                    if (pair.first == queue[at]) {
                        attach(pair.second, pair.first);
                    } else if (backwards && pair.second == queue[at]) {
                        attach(pair.first, pair.second);
                    }
                }
            }
        }
        for (std::size_t item = 0; item < count; ++item) {
            attach(item, members_.front());  // not connected to the ring
        }
        others_.assign(queue.begin() + std::ssize(members_), queue.end());
    }

    // Children are placed on the same side as their parent. Children of centred members are placed
    // on the emptier side.
    void choose_sides(std::vector<int>& side) const {
        double left = 0;
        double right = 0;
        for (const std::size_t item : others_) {
            const double x = layout_.boxes[parent_[item]].centre.x;
            const int inherited = depth_[item] > 1 ? side[parent_[item]] : 0;
            side[item] = inherited != 0 ? inherited
                         : x < -1       ? -1
                         : x > 1        ? 1
                         : left < right ? -1
                                        : 1;
            (side[item] < 0 ? left : right) += layout_.boxes[item].height + kRowGap;
        }
    }

    void place_others() {
        std::vector<int> side(layout_.boxes.size(), 0);
        choose_sides(side);
        for (const int which : {-1, 1}) {
            double edge = ring_edge(which);
            for (std::size_t depth = 1; depth <= layout_.boxes.size(); ++depth) {
                std::vector<std::size_t> column;
                for (const std::size_t item : others_) {
                    if (depth_[item] == depth && side[item] == which) {
                        column.push_back(item);
                    }
                }
                if (column.empty()) {
                    break;
                }
                edge = place_column(column, which, edge);
            }
        }
    }

    // How far the ring and its labels extend on one side.
    double ring_edge(int side) const {
        double edge = 0;
        for (const std::size_t member : members_) {
            const RingBox& at = layout_.boxes[member];
            edge = std::max(edge, side * at.centre.x + at.width / 2);
        }
        for (std::size_t step = 0; members_.size() > 1 && step < members_.size(); ++step) {
            const Rect label = ring_label(step);
            edge = std::max(edge, side > 0 ? label.right : -label.left);
        }
        return edge;
    }

    double place_column(std::vector<std::size_t>& column, int side, double edge) {
        double gap = 0;
        double width = 0;
        for (const std::size_t item : column) {
            gap = std::max(
                {gap, label_size(parent_[item], item).x, label_size(item, parent_[item]).x});
            width = std::max(width, box(item).width);
        }
        const double near = edge + gap + 46;
        std::stable_sort(column.begin(), column.end(), [this](std::size_t a, std::size_t b) {
            return box(parent_[a]).centre.y < box(parent_[b]).centre.y;
        });
        // Place each item at the height of its parent or, if that position is occupied, below the
        // previous item. Then move the column up by the average displacement.
        double floor = -1e9;
        double pushed = 0;
        for (const std::size_t item : column) {
            const double wish = box(parent_[item]).centre.y;
            const double y = std::max(wish, floor + box(item).height / 2);
            box(item).centre = {side * (near + box(item).width / 2), y};
            pushed += y - wish;
            floor = y + box(item).height / 2 + kRowGap;
        }
        for (const std::size_t item : column) {
            box(item).centre.y -= pushed / static_cast<double>(column.size());
        }
        return near + width;
    }

    // First draws the arrows for which space was reserved, then routes the other arrows around
    // them.
    void draw_arrows() {
        for (const bool avoiding : {false, true}) {
            for (const auto& [pair, arrows] : groups_) {
                const RingBox& from = box(pair.first);
                const RingBox& to = box(pair.second);
                const std::size_t step = ring_step(pair);
                const bool other =
                    pair.first != pair.second && step == members_.size() && !is_parent_arrow(pair);
                if (other != avoiding) {
                    continue;
                }
                RingArrow made = other                       ? free_curve(pair)
                                 : pair.first == pair.second ? self_curve(from)
                                 : step < members_.size()    ? arc_curve(ellipse_, step, from, to)
                                                             : side_curve(from, to);
                made.arrows = arrows;
                layout_.arrows.push_back(std::move(made));
            }
        }
    }

    // True if the arrow connects an item with its parent.
    bool is_parent_arrow(const Pair& pair) const {
        return parent_[pair.second] == pair.first ||
               (parent_[pair.first] == pair.second && !groups_.contains({pair.second, pair.first}));
    }

    // A straight line if it is not obstructed, otherwise the flattest unobstructed arc above or
    // below the boxes.
    RingArrow free_curve(const Pair& pair) const {
        constexpr int kTries = 30;
        RingArrow made;
        for (int i = 0; i < kTries; ++i) {
            const int step = (i + 1) / 2;  // 0, 1, 1, 2, 2, ... alternately above and below
            const double rise = 24.0 * (i % 2 == 0 ? -step : step);
            made = bow_curve(layout_.boxes[pair.first], layout_.boxes[pair.second], rise);
            if (is_free(made, pair)) {
                break;
            }
        }
        return made;
    }

    bool is_free(const RingArrow& arrow, const Pair& pair) const {
        const Point size = label_size(pair.first, pair.second);
        const Rect label = around(arrow.label, size.x, size.y, kClearance / 3);
        const std::vector<Point> line = points_along(arrow);
        const auto meets = [&line](const Rect& rect) {
            return std::any_of(line.begin(), line.end(), [&rect](Point point) {
                return overlap(around(point, 2, 2), rect);
            });
        };
        for (std::size_t i = 0; i < layout_.boxes.size(); ++i) {
            const Rect taken = around(layout_.boxes[i]);
            const bool end = i == pair.first || i == pair.second;
            if (overlap(label, taken) || (!end && meets(taken))) {
                return false;
            }
        }
        return std::none_of(
            layout_.arrows.begin(), layout_.arrows.end(), [&](const RingArrow& other) {
                const Point other_size = label_size(other.arrows);
                const Rect taken = around(other.label, other_size.x, other_size.y);
                return overlap(label, taken) || meets(taken);
            });
    }

    // The index of the ring's arc that connects the two items; members_.size() if there is none.
    std::size_t ring_step(const Pair& pair) const {
        for (std::size_t step = 0; step < members_.size(); ++step) {
            if (members_[step] == pair.first &&
                members_[(step + 1) % members_.size()] == pair.second) {
                return step;
            }
        }
        return members_.size();
    }

    void shift_to_origin() {
        Rect all{1e9, 1e9, -1e9, -1e9};
        const auto include = [&all](const Rect& rect) {
            all = {std::min(all.left, rect.left),
                   std::min(all.top, rect.top),
                   std::max(all.right, rect.right),
                   std::max(all.bottom, rect.bottom)};
        };
        for (const RingBox& at : layout_.boxes) {
            include(around(at));
        }
        for (const RingArrow& arrow : layout_.arrows) {
            const Point size = label_size(arrow.arrows);
            include(around(arrow.label, size.x, size.y));
            for (const Point& point : arrow.curve) {
                include(around(point, 0, 0));
            }
        }
        const auto move = [&all](Point& point) {
            point.x += kPageMargin - all.left;
            point.y += kPageMargin - all.top;
        };
        for (RingBox& at : layout_.boxes) {
            move(at.centre);
        }
        for (RingArrow& arrow : layout_.arrows) {
            move(arrow.label);
            std::for_each(arrow.curve.begin(), arrow.curve.end(), move);
        }
        layout_.width = all.right - all.left + 2 * kPageMargin;
        layout_.height = all.bottom - all.top + 2 * kPageMargin;
    }

    const Picture& picture_;
    RingLayout layout_;
    std::vector<std::size_t> members_;                 // of the ring, in order
    std::vector<std::size_t> others_;                  // outside the ring, parents first
    std::vector<std::size_t> parent_;                  // by item
    std::vector<std::size_t> depth_;                   // by item; 0: in the ring
    std::map<Pair, std::vector<std::size_t>> groups_;  // arrows by their end points
    Ellipse ellipse_;
};

}  // namespace

RingLayout lay_out_ring(const Picture& picture) {
    return RingBuilder(picture).build();
}

}  // namespace cyclewatch::render
