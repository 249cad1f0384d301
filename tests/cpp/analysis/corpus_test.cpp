// SPDX-License-Identifier: Apache-2.0
// Cycles from published bug reports, each with the reference that the fix removed. Node kinds,
// labels and roles are those that capture assigns.
#include <gtest/gtest.h>

#include "analysis/analyze.h"
#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

struct Shape {
    const char* name;
    const char* graph;   // without the tensor t
    const char* holder;  // of the reference to cut
    const char* label;   // of the reference to cut
    const char* pattern;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << shape.name;
}

const Shape kShapes[] = {
    {"RecursiveClosure",
     "load:function=lib.load_state.<locals>.load load/__closure__->c:closure "
     "c/closure:load->x:cell x/cell_contents->load c/closure:state_dict->y:cell "
     "y/cell_contents->s:dict s['w']->t",
     "function lib.load_state.<locals>.load",
     "closure:load",
     "recursive-closure"},
    {"CallbackOnOwner",
     "e=lib.Awaitable e/__dict__->d:instance_dict d.callbacks->l:list l[0]->f "
     "f:function=lib.Awaitable.__init__.<locals>.<lambda> f/__closure__->c:closure "
     "c/closure:self->x:cell x/cell_contents->e d.weights->t",
     "function lib.Awaitable.__init__.<locals>.<lambda>",
     "closure:self",
     "closure-captures-self"},
    {"CallbackThroughForeignObject",
     "F=app.Foo@app.py:3 S=torch.optim.LambdaLR@/x/site-packages/torch/lr_scheduler.py:200 "
     "f:function=app.Foo.__init__.<locals>.<lambda>@app.py:9 F.sc->S S.lr_lambdas->l:list l[0]->f "
     "f/closure:self->F F.op->o=torch.optim.Adam o.state->d:dict d[<torch.Tensor>]->t",
     "function app.Foo.__init__.<locals>.<lambda>",
     "closure:self",
     "closure-captures-self"},
    {"BoundMethodOnItself",
     "E=app.Engine E.hook->m:method m/__self__->E E.w->t",
     "bound method",
     "__self__",
     "bound-method-on-self"},
    {"WrappedMethod",
     "o=torch.optim.SGD o.step->w:function=torch.optim.with_counter.<locals>.wrapper "
     "w/closure:method->m:method m/__self__->o o.state->d:dict d['m']->t",
     "function torch.optim.with_counter.<locals>.wrapper",
     "closure:method",
     "wrapped-method"},
    {"HookPartial",
     "m=torch.nn.Linear m._load_state_dict_pre_hooks->d:dict=collections.OrderedDict "
     "d[<int>]->p:partial p/args->a:partial_args a/args[0]->m m._parameters->n:nn_children "
     "n.weight->t",
     "functools.partial",
     "args[0]",
     "partial-of-self"},
    {"BackPointer",
     "L=llama.Llama T=llama.LlamaTokenizer L.tokenizer->T T.llama->L L.model->t",
     "llama.LlamaTokenizer",
     ".llama",
     "back-pointer"},
    {"BackPointerByName",
     "P=app.Tree a=app.Leaf P.children->l:list l[0]->a a.parent->P a.w->t",
     "app.Leaf",
     ".parent",
     "back-pointer"},
    {"ExceptionInOwnFrame",
     "e:exception=KeyError e/__traceback__->tb:traceback tb/tb_frame->h:frame=m.helper "
     "h/f_back->f:frame=m.append f/local:py_error->e f/f_back->c:frame=m.caller c/local:x->t",
     "frame of m.append",
     "local:py_error",
     "exception-in-frame"},
    {"ExceptionOnAnObjectInTheStack",
     "e:exception=ValueError e/__traceback__->tb:traceback "
     "tb/tb_frame->f:frame=concurrent.futures._base.Future.get "
     "f/local:self->F=concurrent.futures._base.Future F._exception->e tb/tb_next->tb2:traceback "
     "tb2/tb_frame->g:frame=app.main g/local:x->t",
     "frame of concurrent.futures._base.Future.get",
     "local:self",
     "exception-in-frame"},
    {"ExceptionsInAList",
     "l:list l[0]->r:exception=app.Mismatch r/__traceback__->tb:traceback "
     "tb/tb_frame->f:frame=app.compare f/local:errors->l f/local:actual->t",
     "list",
     "[0]",
     "exception-stored"},
    {"FrameInItsOwnVariable",
     "f:frame=m.frame_info f/local:cur_frame->f f/f_back->c:frame=m.user c/local:x->t",
     "frame of m.frame_info",
     "local:cur_frame",
     "frame-in-own-local"},
    {"ExecNamespace",
     "g:dict g['f']->f:function=f f/__globals__->g g['buf']->t",
     "dict",
     "['f']",
     "exec-namespace"},
};

class Corpus : public ::testing::TestWithParam<Shape> {};

TEST_P(Corpus, CutIsTheReferenceThatTheFixRemoved) {
    const Shape& shape = GetParam();
    const std::string text = std::string(shape.graph) + " t:owner(4096)=torch.Tensor";
    for (std::uint64_t shuffle = 0; shuffle < 8; ++shuffle) {
        const auto findings = analyze(test_support::observe(text, shuffle));
        ASSERT_EQ(findings.size(), 1U);
        const model::Finding& finding = findings[0];
        EXPECT_EQ(finding.retained_bytes, 4096U);
        ASSERT_EQ(finding.cut.size(), 1U);
        EXPECT_EQ(finding.cut[0].holder, shape.holder);
        EXPECT_EQ(finding.cut[0].label, shape.label);
        EXPECT_EQ(finding.pattern, shape.pattern);
        EXPECT_FALSE(finding.tie);
        EXPECT_FALSE(finding.cut[0].payload);
        EXPECT_FALSE(finding.cut[0].reason.empty());
        EXPECT_EQ(finding.cut[0].reason.find('{'), std::string::npos) << "unfilled slot";
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Corpus, ::testing::ValuesIn(kShapes), [](const auto& info) {
    return std::string(info.param.name);
});

}  // namespace
}  // namespace cyclewatch::analysis
