// SPDX-License-Identifier: Apache-2.0
// A layout that fails leaves a sentence in the place of the picture. The linker redirects
// Graphviz's gvLayout() to the function below (--wrap).
#include "render/graph/picture_layout.h"
#include "render/renderer.h"
#include "render/svg/svg_renderer.h"
#include "support/sample_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <gvc.h>

#include <stdexcept>
#include <string>

namespace {

enum class Failure { kNone, kError, kException };
Failure failure = Failure::kNone;

}  // namespace

extern "C" {

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): names of the linker
int __real_gvLayout(GVC_t* context, graph_t* graph, const char* engine);

int __wrap_gvLayout(GVC_t* context, graph_t* graph, const char* engine) {
    switch (failure) {
        case Failure::kError:
            return -1;
        case Failure::kException:  // as abort() and exit() of the static Graphviz
            throw std::runtime_error("Graphviz gave up");
        case Failure::kNone:
            break;
    }
    return __real_gvLayout(context, graph, engine);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

}  // extern "C"

namespace cyclewatch::render {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSentence{kNotLaidOut};

class FailingLayout : public ::testing::TestWithParam<Failure> {
  protected:
    FailingLayout() { failure = GetParam(); }
    ~FailingLayout() override { failure = Failure::kNone; }

    model::Report report_ = testing::make_sample_report();
};

TEST_P(FailingLayout, LeavesASentence) {
    const model::Finding& finding = report_.findings[0];
    EXPECT_FALSE(lay_out_picture(finding.picture).has_value());
    EXPECT_THAT(render_svg(finding), HasSubstr(kSentence));
    EXPECT_THAT(render_svg(report_), HasSubstr(kSentence));
    const std::string page = render(report_, Format::html);
    EXPECT_THAT(page, HasSubstr(kSentence));
    EXPECT_THAT(page, HasSubstr(finding.signature));
}

TEST_P(FailingLayout, AffectsNeitherDotNorLaterPictures) {
    const model::Finding& finding = report_.findings[0];
    static_cast<void>(lay_out_picture(finding.picture));
    const std::string dot = render(report_, Format::dot);
    EXPECT_THAT(dot, HasSubstr("cluster_f1"));
    failure = Failure::kNone;
    EXPECT_EQ(render(report_, Format::dot), dot);
    EXPECT_TRUE(lay_out_picture(finding.picture).has_value());
    EXPECT_THAT(render_svg(finding), Not(HasSubstr(kSentence)));
}

INSTANTIATE_TEST_SUITE_P(Failures,
                         FailingLayout,
                         ::testing::Values(Failure::kError, Failure::kException));

}  // namespace
}  // namespace cyclewatch::render
