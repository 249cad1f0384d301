// SPDX-License-Identifier: Apache-2.0
#include "render/svg/ring_curves.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cyclewatch::render {
namespace {

constexpr double kArrowGap = 3;  // between the tip of an arrow and its box

bool inside(Point p, const Rect& rect) {
    return p.x > rect.left && p.x < rect.right && p.y > rect.top && p.y < rect.bottom;
}

Point mix(Point a, Point b, double t) {
    return {a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t};
}

// The point at parameter `t` of the first segment.
Point point_at(const std::vector<Point>& curve, double t) {
    const Point middle = mix(curve[1], curve[2], t);
    return mix(
        mix(mix(curve[0], curve[1], t), middle, t), mix(middle, mix(curve[2], curve[3], t), t), t);
}

// The intersection of the box border with the line from its centre to `goal`.
Point edge_point(const RingBox& at, Point goal, double clearance) {
    const double dx = goal.x - at.centre.x;
    const double dy = goal.y - at.centre.y;
    const double t = std::min(dx == 0 ? 1.0 : (at.width / 2 + clearance) / std::abs(dx),
                              dy == 0 ? 1.0 : (at.height / 2 + clearance) / std::abs(dy));
    return mix(at.centre, goal, std::min(t, 1.0));
}

}  // namespace

Rect around(Point centre, double width, double height, double clearance) {
    return {centre.x - width / 2 - clearance,
            centre.y - height / 2 - clearance,
            centre.x + width / 2 + clearance,
            centre.y + height / 2 + clearance};
}

Rect around(const RingBox& box, double clearance) {
    return around(box.centre, box.width, box.height, clearance);
}

bool overlap(const Rect& a, const Rect& b) {
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

Point Ellipse::at(double steps) const {
    const double angle = 2 * std::numbers::pi * steps / static_cast<double>(members);
    return {radius_x * std::sin(angle), -radius_y * std::cos(angle)};
}

Point Ellipse::along(double steps) const {
    const double angle = 2 * std::numbers::pi * steps / static_cast<double>(members);
    return {radius_x * std::cos(angle), radius_y * std::sin(angle)};
}

RingArrow arc_curve(const Ellipse& ellipse,
                    std::size_t step,
                    const RingBox& from,
                    const RingBox& to) {
    const auto start = static_cast<double>(step);
    const Rect leave = around(from);
    const Rect enter = around(to, kArrowGap);
    double begin = start;
    double end = start + 1;
    constexpr double kStep = 1.0 / 512;
    while (begin < start + 0.5 && inside(ellipse.at(begin), leave)) {
        begin += kStep;
    }
    while (end > start + 0.5 && inside(ellipse.at(end), enter)) {
        end -= kStep;
    }
    constexpr int kPieces = 4;
    const double delta = (end - begin) / kPieces;
    const double turn = 2 * std::numbers::pi * delta / static_cast<double>(ellipse.members);
    const double reach = 4.0 / 3.0 * std::tan(turn / 4);
    RingArrow arrow;
    arrow.curve.push_back(ellipse.at(begin));
    for (int piece = 0; piece < kPieces; ++piece) {
        const double at = begin + piece * delta;
        const Point a = ellipse.at(at);
        const Point b = ellipse.at(at + delta);
        const Point along_a = ellipse.along(at);
        const Point along_b = ellipse.along(at + delta);
        arrow.curve.push_back({a.x + reach * along_a.x, a.y + reach * along_a.y});
        arrow.curve.push_back({b.x - reach * along_b.x, b.y - reach * along_b.y});
        arrow.curve.push_back(b);
    }
    arrow.label = ellipse.at(start + 0.5);
    return arrow;
}

RingArrow self_curve(const RingBox& box) {
    const double top = box.centre.y - box.height / 2;
    const double reach = std::min(box.width / 2 - 8, 60.0);
    const double x = box.centre.x;
    RingArrow arrow;
    arrow.curve = {{x + reach * 0.6, top},
                   {x + reach * 1.5, top - 62},
                   {x - reach * 1.5, top - 62},
                   {x - reach * 0.6, top - kArrowGap}};
    arrow.label = {x, top - 46};
    return arrow;
}

RingArrow bow_curve(const RingBox& from, const RingBox& to, double rise) {
    RingArrow arrow;
    if (rise == 0) {
        const Point a = edge_point(from, to.centre, 0);
        const Point b = edge_point(to, from.centre, kArrowGap);
        arrow.curve = {a, mix(a, b, 1.0 / 3), mix(a, b, 2.0 / 3), b};
    } else {
        const double up = rise > 0 ? -1 : 1;
        const Point a{from.centre.x, from.centre.y + up * from.height / 2};
        const Point b{to.centre.x, to.centre.y + up * (to.height / 2 + kArrowGap)};
        const double top = (rise > 0 ? std::min(a.y, b.y) : std::max(a.y, b.y)) - rise;
        arrow.curve = {a, {mix(a, b, 0.2).x, top}, {mix(a, b, 0.8).x, top}, b};
    }
    arrow.label = point_at(arrow.curve, 0.5);
    return arrow;
}

RingArrow side_curve(const RingBox& from, const RingBox& to) {
    const double gap = std::abs(to.centre.x - from.centre.x) - (from.width + to.width) / 2;
    if (gap <= 24) {
        return bow_curve(from, to, 0);
    }
    const double side = to.centre.x > from.centre.x ? 1 : -1;
    const Point a{from.centre.x + side * from.width / 2, from.centre.y};
    const Point b{to.centre.x - side * (to.width / 2 + kArrowGap), to.centre.y};
    const double bend = std::abs(b.x - a.x) / 2;
    RingArrow arrow;
    arrow.curve = {a, {a.x + side * bend, a.y}, {b.x - side * bend, b.y}, b};
    arrow.label = mix(a, b, 0.5);
    return arrow;
}

std::vector<Point> points_along(const RingArrow& arrow) {
    constexpr int kPoints = 32;
    std::vector<Point> points;
    for (int i = 1; i < kPoints; ++i) {
        points.push_back(point_at(arrow.curve, static_cast<double>(i) / kPoints));
    }
    return points;
}

}  // namespace cyclewatch::render
