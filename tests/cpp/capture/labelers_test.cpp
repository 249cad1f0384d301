// SPDX-License-Identifier: Apache-2.0
// The labels of each family of types. The scripts name every object, so that the tests can check
// which object a label leads to.
#include <gtest/gtest.h>

#include "capture/labelers_support.h"
#include "compat/object_layout.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

using model::PartRole;

// Whether an instance stores its attributes inline depends on the interpreter.
std::string attribute_label(PyObject* object, PyObject* target) {
    const std::string own = labels_between(object, target);
    return own.empty() ? labels_in_part(object, PartRole::instance_dict, target) : own;
}

TEST(Instance, InlineAttributes) {
    PythonScript script(R"(
class Engine: pass
engine = Engine()
weights, größe = [], {}
engine.weights = weights
engine.größe = größe
)");
    EXPECT_EQ(labels_between(script["engine"], script["weights"]), ".weights");
    EXPECT_EQ(labels_between(script["engine"], script["größe"]), ".größe");
    EXPECT_EQ(labels_between(script["engine"], script["Engine"]), "__class__");
    EXPECT_EQ(cyclewatch_existing_dict(script["engine"]), nullptr)
        << "labelling created the __dict__";
}

TEST(Instance, EntriesOfTheDictAreAttributes) {
    PythonScript script(R"(
class Engine: pass
engine = Engine()
weights, odd = [], {}
engine.__dict__ = {'weights': weights, 'not a name': odd, 7: odd}
names = engine.__dict__
)");
    PyObject* engine = script["engine"];
    EXPECT_EQ(labels_between(engine, script["names"]), "__dict__");
    EXPECT_EQ(part_in_role(engine, PartRole::instance_dict), script["names"]);
    EXPECT_EQ(labels_in_part(engine, PartRole::instance_dict, script["weights"]), ".weights");
    EXPECT_EQ(labels_in_part(engine, PartRole::instance_dict, script["odd"]), "[<str>] [<int>]");
}

TEST(Instance, EachAttributeIsLabelledOnceIfTheDictExists) {
    PythonScript script(R"(
class Engine: pass
engine = Engine()
weights = []
engine.weights = weights
names = engine.__dict__
)");
    PyObject* engine = script["engine"];
    const std::string own = labels_between(engine, script["weights"]);
    const std::string through_dict =
        labels_in_part(engine, PartRole::instance_dict, script["weights"]);
    EXPECT_EQ(own + through_dict, ".weights");
}

// With too many keys, the dict takes over the values and the inline pointers are stale.
TEST(Instance, StaleInlineValuesAreNotLabelled) {
    PythonScript script(R"(
class Engine: pass
engine = Engine()
weights = []
engine.weights = weights
names = engine.__dict__
for number in range(100): names[f'attribute_{number}'] = number
)");
    PyObject* engine = script["engine"];
    EXPECT_EQ(labels_between(engine, script["weights"]), "");
    EXPECT_EQ(labels_in_part(engine, PartRole::instance_dict, script["weights"]), ".weights");
}

TEST(Instance, SlotsOfEveryBase) {
    PythonScript script(R"(
class Base: __slots__ = ('left',)
class Derived(Base): __slots__ = ('right', '__private')
derived = Derived()
derived.left, derived.right, derived._Derived__private = left, right, private = [], {}, set()
)");
    EXPECT_EQ(labels_between(script["derived"], script["left"]), "slot:left");
    EXPECT_EQ(labels_between(script["derived"], script["right"]), "slot:right");
    EXPECT_EQ(labels_between(script["derived"], script["private"]), "slot:_Derived__private");
}

TEST(Instance, LabellingDoesNotRunUserCode) {
    PythonScript script(R"(
ran = []
class Meta(type):
    def __getattribute__(self, name): ran.append(name); return super().__getattribute__(name)
    def __instancecheck__(self, other): ran.append('isinstance'); return False
class Nosy(metaclass=Meta):
    def __getattribute__(self, name): ran.append(name); return object.__getattribute__(self, name)
    def __repr__(self): ran.append('repr'); return ''
    def __hash__(self): ran.append('hash'); return 1
    def __eq__(self, other): ran.append('eq'); return True
    @property
    def __class__(self): ran.append('class'); return int
nosy, keyed = Nosy(), {Nosy(): 1, Nosy: 2}
nosy.held = []
del ran[:]
)");
    references_of(script["nosy"]);
    references_of(script["keyed"], PartRole::instance_dict, script["nosy"]);
    parts_of(script["nosy"]);
    EXPECT_EQ(PyList_GET_SIZE(script["ran"]), 0);
}

TEST(Dict, ValuesAndKeys) {
    PythonScript script(R"(
class Key: pass
key, one, two, three, four = Key(), [], [], [], []
table = {'name': one, 'two words': two, 3: three, key: four}
)");
    PyObject* table = script["table"];
    EXPECT_EQ(labels_between(table, script["one"]), "['name']");
    EXPECT_EQ(labels_between(table, script["two"]), "[<str>]");
    EXPECT_EQ(labels_between(table, script["three"]), "[<int>]");
    EXPECT_EQ(labels_between(table, script["four"]), "[<sample.Key>]");
    EXPECT_EQ(labels_between(table, script["key"]), "key");
}

TEST(Dict, EntriesAttributesAndMembersOfSubclasses) {
    PythonScript script(R"(
import collections
factory, value, mark = list, [], {}
class Own(collections.defaultdict): pass
own = Own(factory, entry=value); own.mark = mark
ordered = collections.OrderedDict(entry=value); ordered.mark = mark
names = ordered.__dict__
)");
    EXPECT_EQ(labels_between(script["own"], script["factory"]), "default_factory");
    EXPECT_EQ(labels_between(script["own"], script["value"]), "['entry']");
    EXPECT_EQ(attribute_label(script["own"], script["mark"]), ".mark");
    EXPECT_EQ(labels_between(script["ordered"], script["value"]), "['entry']");
    EXPECT_EQ(labels_between(script["ordered"], script["names"]), "__dict__");
    EXPECT_EQ(labels_in_part(script["ordered"], PartRole::instance_dict, script["mark"]), ".mark");
}

TEST(Sequence, ItemsByIndexOrFieldName) {
    PythonScript script(R"(
import collections, time
first, second = [], {}
Point = collections.namedtuple('Point', 'x y')
row, pair, point = [first, second], (first, second), Point(first, second)
queue = collections.deque([first, collections.deque, second])
class Own(collections.deque): pass
own = Own([second, Own, first])
own_type = Own
)");
    EXPECT_EQ(labels_between(script["row"], script["second"]), "[1]");
    EXPECT_EQ(labels_between(script["pair"], script["second"]), "[1]");
    EXPECT_EQ(labels_between(script["point"], script["second"]), ".y");
    EXPECT_EQ(labels_between(script["queue"], script["second"]), "[2]");
    EXPECT_EQ(labels_between(script["own"], script["second"]), "[0]");
    EXPECT_EQ(labels_between(script["own"], script["first"]), "[2]");
}

TEST(Sequence, SetMembersAreElements) {
    PythonScript script(R"(
class Thing: pass
stays, goes = Thing(), Thing()
things = {stays, goes, *range(100)}
things.discard(goes)
)");
    EXPECT_EQ(labels_between(script["things"], script["stays"]), "element");
    EXPECT_EQ(labels_between(script["things"], script["goes"]), "");
    EXPECT_EQ(references_of(script["things"]).size(), 101U) << "removed entries are not elements";
}

TEST(Function, ClosuresAndDefaultsHaveVariableNames) {
    PythonScript script(R"(
captured, also, default, keyword, mark = [], {}, [], [], []
def outer(self, other):
    def inner(a, b=default, *, c=keyword): return self, other
    return inner
function = outer(captured, also)
function.mark = mark
closure = function.__closure__
cell_of_self = next(c for c, n in zip(closure, function.__code__.co_freevars) if n == 'self')
defaults, code = function.__defaults__, function.__code__
)");
    PyObject* function = script["function"];
    EXPECT_EQ(labels_between(function, script["closure"]), "__closure__");
    EXPECT_EQ(labels_between(function, script["defaults"]), "__defaults__");
    EXPECT_EQ(labels_between(function, script["code"]), "__code__");
    EXPECT_EQ(labels_between(function, script.names()), "__globals__");
    EXPECT_EQ(labels_in_part(function, PartRole::closure, script["cell_of_self"]), "closure:self");
    EXPECT_EQ(labels_in_part(function, PartRole::defaults, script["default"]), "default:b");
    EXPECT_EQ(labels_in_part(function, PartRole::keyword_defaults, script["keyword"]), "default:c");
    EXPECT_EQ(labels_in_part(function, PartRole::instance_dict, script["mark"]), ".mark");
    EXPECT_EQ(labels_between(script["cell_of_self"], script["captured"]), "cell_contents");
    EXPECT_EQ(labels_between(script["closure"], script["cell_of_self"]).front(), '[')
        << "a closure without its function is labelled by index";
}

TEST(Frame, LocalsCellsAndTracebacks) {
    PythonScript script(R"(
held, captured, loud = [], {}, []
def fail(local, shared):
    keep = lambda: shared
    raise ValueError(loud)
def call(local):
    fail(local, captured)
try: call(held)
except ValueError as caught: error = caught
traceback = error.__traceback__
frame = traceback.tb_next.tb_next.tb_frame
caller = traceback.tb_next.tb_frame
fail_code = fail.__code__
)");
    PyObject* frame = script["frame"];
    EXPECT_EQ(labels_between(frame, script["held"]), "local:local");
    EXPECT_EQ(labels_between(frame, script["caller"]), "f_back");
    EXPECT_EQ(labels_between(frame, script["fail_code"]), "f_code");
    EXPECT_EQ(labels_between(script["error"], script["traceback"]), "__traceback__");
    EXPECT_EQ(labels_between(script["traceback"], script.eval("traceback.tb_next")), "tb_next");
    EXPECT_EQ(labels_between(script.eval("traceback.tb_next"), script["caller"]), "tb_frame");
    bool cell_is_local = false;
    for (const NamedReference& reference : references_of(frame)) {
        cell_is_local |= reference.label == "local:shared" && PyCell_Check(reference.target);
    }
    EXPECT_TRUE(cell_is_local);
}

TEST(Frame, GeneratorLocalsTemporariesAndDelegates) {
    PythonScript script(R"(
held, items = [], ([], [])
def steps(local):
    for item in items: yield local
def delegates(inner):
    for item in items: yield from inner
suspended, inner = steps(held), steps(held)
next(suspended)
delegating = delegates(inner); next(delegating)
class Forever:
    def __await__(self):
        yield self
async def waits(future): await future
async def waits_for(coroutine): await coroutine
async def asynchronous(local): yield local
innermost = waits(Forever())
coroutine = waits_for(innermost); coroutine.send(None)
fresh, agen = steps(held), asynchronous(held)
code = steps.__code__
)");
    EXPECT_EQ(labels_between(script["suspended"], script["held"]), "local:local");
    EXPECT_EQ(labels_between(script["fresh"], script["held"]), "local:local");
    EXPECT_EQ(labels_between(script["agen"], script["held"]), "local:local");
    EXPECT_EQ(labels_between(script["delegating"], script["inner"]), "local:inner yield_from");
    EXPECT_EQ(labels_between(script["coroutine"], script["innermost"]),
              "local:coroutine yield_from");
    bool iterator_is_temporary = false;
    for (const NamedReference& reference : references_of(script["suspended"])) {
        EXPECT_NE(reference.label, "yield_from");
        iterator_is_temporary |= reference.label == "stack[0]";
    }
    EXPECT_TRUE(iterator_is_temporary);
}

TEST(Exception, ArgumentsContextCauseAndMembers) {
    PythonScript script(R"(
argument, value, mark, missing = [], [], [], []
class Own(ValueError): pass
try:
    try: raise KeyError()
    except KeyError as first: cause = first; raise Own(argument) from first
except Own as second: error = second
error.mark = mark
error.add_note('a note')
stop = StopIteration(value)
attribute = AttributeError('no', name='n', obj=missing)
group = ExceptionGroup('g', [error])
)");
    PyObject* error = script["error"];
    EXPECT_EQ(labels_between(error, script.eval("error.args")), "args");
    EXPECT_EQ(labels_between(error, script["cause"]), "__cause__ __context__");
    EXPECT_EQ(labels_in_part(error, PartRole::instance_dict, script["mark"]), ".mark");
    EXPECT_EQ(labels_between(script["stop"], script["value"]), "value");
    EXPECT_EQ(labels_between(script["attribute"], script["missing"]), "obj");
    EXPECT_EQ(labels_between(script["group"], script.eval("group.exceptions")), "exceptions");
}

TEST(Type, BasesDictAndModule) {
    PythonScript script(R"(
class Base: pass
class Meta(type): pass
class Derived(Base, metaclass=Meta):
    shared = []
    def method(self): pass
shared, method = Derived.shared, Derived.method
)");
    PyObject* derived = script["Derived"];
    EXPECT_EQ(labels_between(derived, script["Base"]), "__base__");
    EXPECT_EQ(labels_between(derived, script["Meta"]), "__class__");
    EXPECT_EQ(labels_between(derived, script.eval("Derived.__mro__")), "__mro__");
    EXPECT_EQ(labels_in_part(derived, PartRole::type_dict, script["shared"]), ".shared");
    EXPECT_EQ(labels_in_part(derived, PartRole::type_dict, script["method"]), ".method");
}

TEST(Members, WeakrefsDescriptorsAndCObjects) {
    PythonScript script(R"(
import ctypes, types, weakref
class Thing: pass
thing, held = Thing(), []
def function(*arguments): pass
class KeyedRef(weakref.ref): __slots__ = ('key',)
weak = weakref.ref(thing, function)
keyed = KeyedRef(thing, function); keyed.key = held
described, static = property(function), staticmethod(function)
view = types.MappingProxyType(names := {})
bound_super = super(Thing, thing)
class Fields(ctypes.Structure): _fields_ = [('held', ctypes.py_object)]
fields = Fields(held)
pointer = ctypes.pointer(fields)
)");
    PyObject* function = script["function"];
    EXPECT_EQ(labels_between(script["weak"], function), "callback");
    EXPECT_EQ(labels_between(script["weak"], script["thing"]), "") << "not a reference";
    EXPECT_EQ(labels_between(script["keyed"], function), "callback");
    EXPECT_EQ(labels_between(script["keyed"], script["held"]), "slot:key");
    EXPECT_EQ(labels_between(script["described"], function), "fget");
    EXPECT_EQ(labels_between(script["static"], function), "__func__");
    EXPECT_EQ(labels_between(script["view"], script["names"]), "mapping");
    EXPECT_EQ(labels_between(script["bound_super"], script["thing"]), "__self__");
    EXPECT_EQ(labels_between(script["pointer"], script.eval("pointer._objects")), "_objects");
}

// With capture_values.
class ValueLabels final : public capture::ReferenceSink {
  public:
    [[nodiscard]] bool wants_values() const noexcept override { return true; }
    void add(PyObject*, model::EdgeKind kind, std::string_view name, std::uint32_t index) override {
        labels += model::label_text(kind, name, index) + " ";
    }
    std::string labels;
};

struct DictLabels {
    const char* dict;
    const char* labels;
    const char* with_values;
    const char* generic;
};

TEST(Dict, LabelsOfKeys) {
    PythonScript script("import uuid\nnumber = 17\n");
    const DictLabels cases[] = {
        {"{'two words': [], 17: [], 'x ' * 500: [], 1 << 99: [], 'a': []}",
         "[<str>] key [<int>] [<str>] key [<int>] ['a'] ",
         "['two words'] key [17] [<str>] key [<int>] ['a'] ",
         "[<str>] key [<int>] [<str>] key [<int>] ['a'] "},
        // Created at run time, so not shown. The generic label does not depend on interning.
        {"{'request': [], f'request_{number}': [], ''.join(['an', 'n']): []}",
         "['request'] [<str>] [<str>] ",
         "['request'] ['request_17'] ['ann'] ",
         "['request'] ['request_#'] ['ann'] "},
        {"{'ann': [], 'request_17': []}",
         "['ann'] ['request_17'] ",
         "['ann'] ['request_17'] ",
         "['ann'] ['request_#'] "},
        // With a GIL, the compiler does not intern keys that are not ASCII.
        {"{'na\u00efve': [], '\u5909\u6570': [], '\U00010400': [], 'a' * 500: []}",
         CYCLEWATCH_HAS_NO_GIL ? "['na\u00efve'] ['\u5909\u6570'] ['\U00010400'] [<str>] "
                               : "[<str>] [<str>] [<str>] [<str>] ",
         "['na\u00efve'] ['\u5909\u6570'] ['\U00010400'] [<str>] ",
         nullptr},
        {"{f'patient-john.smith-{number}9800101': []}", "[<str>] ", nullptr, nullptr},
        {"{f'hook_{id(number) | 1 << 40}': [], f'fsdp_state:{uuid.uuid4()}': [],"
         " f'state_{uuid.uuid4().hex}': [], f'two words {uuid.uuid4()}': []}",
         "['hook_<id>'] ['fsdp_state:<uuid>'] ['state_<uuid>'] [<str>] ",
         nullptr,
         nullptr},
    };
    for (const DictLabels& expected : cases) {
        PyObject* const dict = script.eval(expected.dict);
        ValueLabels with_values;
        capture::label_references(dict, PartRole::none, nullptr, with_values);
        std::string labels;
        std::string generic;
        for (const NamedReference& reference : references_of(dict)) {
            labels += reference.label + " ";
            generic += reference.generic + " ";
        }
        EXPECT_EQ(labels, expected.labels);
        EXPECT_EQ(with_values.labels,
                  expected.with_values ? expected.with_values : with_values.labels);
        EXPECT_EQ(generic, expected.generic ? expected.generic : generic) << expected.dict;
    }
}

TEST(Instance, IdsInAttributeNamesAreReplaced) {
    PythonScript script(R"(
import uuid
class Model: pass
model, held = Model(), []
setattr(model, f'state_{uuid.uuid4().hex}', held)
)");
    EXPECT_EQ(labels_between(script["model"], script["held"]), ".state_<uuid>");
}

}  // namespace
}  // namespace cyclewatch::test
