// SPDX-License-Identifier: Apache-2.0
#include "render/svg_renderer.h"

#include <algorithm>
#include <string_view>

#include "base/byte_size.h"
#include "render/labels.h"
#include "render/picture_text.h"
#include "render/ring_picture.h"
#include "render/summary.h"
#include "render/svg_writer.h"

namespace cyclewatch::render {
namespace {

constexpr double kMargin = 16;
constexpr double kHeading = 40;  // above each picture
constexpr double kLeastWidth = 640;

// The page has the same colours by name (viewer/src/style); converters to PNG know no variables.
constexpr std::string_view kStyle = R"(<style>
text{font-family:Helvetica,Arial,sans-serif;fill:#191d25}
.ring text{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;text-anchor:middle}
.page,.label-ground{fill:#fff}
.ring .name{font-size:13px;font-weight:600}
.ring .detail,.ring .label{font-size:11px;fill:#565e6d}
.box{fill:#fff;stroke:#565e6d;stroke-width:1.2}
.item.loop .box{fill:#eef0fd;stroke:#3d4db8;stroke-width:2}
.item.owner .box{fill:#e6f5f2;stroke:#0a6e5f;stroke-width:1.4}
.weight-room{fill:#dfe3ea}
.weight{fill:#0a6e5f}
.line{fill:none;stroke:#565e6d;stroke-width:1.3}
.head{fill:#565e6d}
.arrow.loop .line{stroke:#3d4db8;stroke-width:2.4}
.arrow.loop .head,.ring .label.loop{fill:#3d4db8}
.arrow.cut .line{stroke:#bf262c;stroke-width:2.6;stroke-dasharray:7 4}
.arrow.cut .head,.ring .label.cut{fill:#bf262c}
.ring .label.loop{font-weight:600}
.ring .label.cut{font-weight:700;text-decoration:underline}
@media (prefers-color-scheme:dark){
text{fill:#e8eaf0}
.page,.label-ground{fill:#15181f}
.ring .detail,.ring .label{fill:#a5adbc}
.box{fill:#1a1d25;stroke:#a5adbc}
.item.loop .box{fill:#262b47;stroke:#a5b0ff}
.item.owner .box{fill:#14332e;stroke:#5cc9b5}
.weight-room{fill:#2f3541}
.weight{fill:#5cc9b5}
.line{stroke:#a5adbc}
.head{fill:#a5adbc}
.arrow.loop .line{stroke:#a5b0ff}
.arrow.loop .head,.ring .label.loop{fill:#a5b0ff}
.arrow.cut .line{stroke:#ff8f8a}
.arrow.cut .head,.ring .label.cut{fill:#ff8f8a}
}
</style>
)";

std::string text_element(double y, int size, const std::string& text) {
    return "<text x=\"" + svg_number(kMargin) + "\" y=\"" + svg_number(y) + "\" font-size=\"" +
           std::to_string(size) + "\">" + escape_markup(text) + "</text>\n";
}

std::string heading(const model::Finding& finding, std::size_t rank) {
    return "#" + std::to_string(rank) + ": " + base::format_bytes(model::reached_bytes(finding)) +
           " in " + counted(finding.occurrences, "loop") + ": " +
           truncate_middle(shown_name(finding.title), 110);
}

// What the document shows so far.
struct Sheet {
    std::string body;
    double y = 0;
    double width = kLeastWidth;

    void add_text(double below, int size, const std::string& text) {
        y += below;
        body += text_element(y, size, text);
        width = std::max(width, 2 * kMargin + 0.55 * size * static_cast<double>(text_width(text)));
    }

    void add_drawing(const RingDrawing& drawing) {
        y += kMargin;
        body += "<g transform=\"translate(" + svg_number(kMargin) + " " + svg_number(y) + ")\">\n" +
                drawing.svg + "</g>\n";
        y += drawing.height;
        width = std::max(width, 2 * kMargin + drawing.width);
    }
};

}  // namespace

std::string render_svg(const model::Report& report) {
    const std::string sentence = summary_sentence(report);
    Sheet sheet;
    sheet.add_text(30, 15, sentence);
    const std::size_t shown = std::min(report.findings.size(), kMaxDrawnFindings);
    for (std::size_t i = 0; i < shown; ++i) {
        const model::Finding& finding = report.findings[i];
        sheet.add_text(kHeading, 13, heading(finding, i + 1));
        sheet.add_drawing(draw_ring(finding.picture, i + 1));
        if (const std::uint64_t more = undrawn_items(finding.picture); more > 0) {
            sheet.add_text(kMargin, 12, "and " + counted(more, "more object") + " not drawn");
        }
    }
    if (shown < report.findings.size()) {
        const std::size_t more = report.findings.size() - shown;
        sheet.add_text(kHeading, 13, "and " + counted(more, "more finding"));
    }
    const std::string width = svg_number(sheet.width);
    const std::string height = svg_number(sheet.y + kMargin);
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
           width + "\" height=\"" + height + "\" viewBox=\"0 0 " + width + " " + height +
           "\" role=\"img\">\n<title>cyclewatch report</title>\n<desc>" + escape_markup(sentence) +
           "</desc>\n" + std::string(kStyle) +
           "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n" + sheet.body + "</svg>\n";
}

}  // namespace cyclewatch::render
