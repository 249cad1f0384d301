// SPDX-License-Identifier: Apache-2.0
#include "capture/labelers_support.h"
#include "capture/object_summary.h"
#include "support/embedded_python.h"

#include <gtest/gtest.h>
#include <structmember.h>
#include <cstddef>
#include <string>
#include <vector>

namespace cyclewatch::test {
namespace {

// Every reference that the collector sees has a label, and labelling allocates nothing.

constexpr const char* kZoo = R"(
import array, asyncio, collections, contextvars, csv, ctypes, functools, io, itertools
import enum, operator, queue, re, sys, threading, types, typing, warnings, weakref
from dataclasses import dataclass

warnings.simplefilter('ignore')

class Thing:
    def __init__(self): self.value, self.other = [], {}
    def method(self): return self
    @property
    def attribute(self): return self.value
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def helper(): return None

class Slotted:
    __slots__ = ('left', 'right', '__weakref__')
class SlottedWithDict(Slotted):
    __slots__ = ('extra', '__dict__')
class OwnList(list): pass
class OwnDict(dict): pass
class OwnTuple(tuple): pass
class OwnSet(set): pass
class OwnDeque(collections.deque): pass
class OwnPartial(functools.partial): pass
class OwnInt(int): pass
class OwnStr(str): pass
class OwnError(ValueError): pass
class OwnRef(weakref.ref):
    __slots__ = ('key',)
class OwnModule(types.ModuleType): pass
class Meta(type): pass
class MadeByMeta(metaclass=Meta): pass
class Generic(typing.Generic[typing.TypeVar('T')]): pass
Point = collections.namedtuple('Point', 'x y')
@dataclass
class Data:
    first: list
class Color(enum.Enum):
    red = 1
class Fields(ctypes.Structure):
    _fields_ = [('held', ctypes.py_object)]

thing = Thing(); thing.größe = []; thing.变数 = {}
opened = Thing(); opened.__dict__
replaced = Thing(); replaced.__dict__ = {'value': []}
crowded = Thing()
for number in range(50): setattr(crowded, f'attribute_{number}', [number])
slotted = Slotted(); slotted.left = []; slotted.right = {}
both = SlottedWithDict(); both.left = []; both.extra = []; both.more = {}
own_list = OwnList([[], {}]); own_list.mark = []
own_dict = OwnDict(a=[]); own_dict.mark = []
own_tuple = OwnTuple(([], {})); own_tuple.mark = []
own_set = OwnSet({Thing()}); own_set.mark = []
own_deque = OwnDeque([[], OwnDeque]); own_deque.mark = []
own_int = OwnInt(1 << 100); own_int.mark = []
own_str = OwnStr('text'); own_str.mark = []
own_module = OwnModule('own'); own_module.mark = []
removed_from = {Thing() for _ in range(20)}; removed_from.pop(); removed_from.pop()
mixed_dict = {1: [], (2, 3): {}, thing: [], 'a': [], 'not an identifier': []}
def outer(captured):
    def function(positional, default=[], *, keyword={}): return captured, positional
    function.mark = []
    return function
function = outer([])
def failing(held):
    try:
        raise KeyError('inner')
    except KeyError as inner:
        error = OwnError(held); error.mark = []; error.add_note('note')
        raise error from inner
try: failing([])
except OwnError as caught: error = caught
traceback = error.__traceback__
frame = traceback.tb_next.tb_frame
group = ExceptionGroup('group', [ValueError([])])
stop = StopIteration([])
missing = AttributeError(name='name', obj=[])
def steps(held):
    for item in [held, 2]: yield item
generator = steps([]); next(generator)
unstarted = steps([])
finished = steps([]); list(finished)
opened_generator = steps([]); next(opened_generator); opened_generator.gi_frame
def delegates(): yield from steps([])
delegating = delegates(); next(delegating)
class Forever:
    def __await__(self): yield self
async def waits(held): await Forever()
coroutine = waits([]); coroutine.send(None)
async def agen(held):
    yield held
    await Forever()
async_generator = agen([])
anext_ = agen([]).__anext__()
athrow = agen([]).athrow(ValueError)
wrapper = waits([]).__await__()
loop = asyncio.new_event_loop()
future = loop.create_future(); future.add_done_callback(function); future.add_done_callback(steps)
done = loop.create_future(); done.set_result([])
failed = loop.create_future(); failed.set_exception(ValueError()); failed.exception()
async def task_body(): await future
task = loop.create_task(task_body())
loop.call_soon(loop.stop); loop.run_forever(); loop.close()
task._log_destroy_pending = False
variable = contextvars.ContextVar('variable', default=[])
token = variable.set([])
context = contextvars.copy_context()
partial = functools.partial(function, [], keyword={})
own_partial = OwnPartial(function, []); own_partial.mark = []
@functools.lru_cache
def cached(argument): return [argument]
cached(1); cached((2, 3)); cached(4)
@functools.lru_cache(maxsize=None)
def cached_for_ever(argument): return [argument]
cached_for_ever(1)
weak = weakref.ref(thing, function)
own_weak = OwnRef(thing, function); own_weak.key = []
proxy = weakref.proxy(thing, function)
key = functools.cmp_to_key(function)([])
entry = [1, 2, 3]
dequeue = collections.deque([[], {}, collections.deque])
ordered = collections.OrderedDict(a=[], b={}); ordered.mark = []
default = collections.defaultdict(list, a=[]); default['b']
counter = collections.Counter('abc')
chained = itertools.chain([[]], [{}]); next(chained)
groups = itertools.groupby(entry, key=function)
tees = itertools.tee(iter(entry))
simple_queue = queue.SimpleQueue(); simple_queue.put([]); simple_queue.put({})
callback = ctypes.CFUNCTYPE(ctypes.c_int)(function)
fields = Fields([])
namespace = types.SimpleNamespace(a=[])
buffer = io.BufferedWriter(io.BytesIO())
text = io.TextIOWrapper(buffer)
pattern = re.compile('a')
local = threading.local()

zoo = dict(
    thing=thing, opened=opened, replaced=replaced, crowded=crowded, slotted=slotted, both=both,
    own_list=own_list, own_dict=own_dict, own_tuple=own_tuple, own_set=own_set,
    own_deque=own_deque, own_int=own_int, own_str=own_str, own_module=own_module,
    list=[[], {}], dict={'a': [], 'b': {}}, mixed_dict=mixed_dict, tuple=([], {}),
    set={thing, slotted}, frozenset=frozenset({thing}), removed_from=removed_from,
    point=Point([], {}), data=Data([]), color=Color.red, color_type=Color,
    function=function, closure=function.__closure__, cell=function.__closure__[0],
    builtin=entry.append, bound=thing.method, method_wrapper=entry.__len__,
    error=error, cause=error.__cause__, traceback=traceback, frame=frame, group=group, stop=stop,
    missing=missing, generator=generator, unstarted=unstarted, finished=finished,
    opened_generator=opened_generator, generator_frame=opened_generator.gi_frame,
    delegating=delegating, coroutine=coroutine, async_generator=async_generator, anext=anext_,
    athrow=athrow, wrapper=wrapper, future=future, done=done, failed=failed, task=task,
    variable=variable, token=token, context=context, partial=partial, own_partial=own_partial,
    cached=cached, cached_for_ever=cached_for_ever, weak=weak, own_weak=own_weak, key=key,
    type=Thing, meta_made=MadeByMeta, generic=Generic, static_type=list, alias=list[int],
    typing_alias=Generic[int], union=int | str, module=types, proxy_type=Thing.__dict__,
    property=Thing.__dict__['attribute'], classmethod=Thing.__dict__['make'],
    staticmethod=Thing.__dict__['helper'], member=Slotted.left, getset=types.FunctionType.__code__,
    method_descriptor=list.append, wrapper_descriptor=list.__len__, super=super(Slotted, slotted),
    deque=dequeue, deque_iterator=iter(dequeue), deque_reversed=reversed(dequeue),
    ordered=ordered, ordered_iterator=iter(ordered), ordered_items=iter(ordered.items()),
    default=default, counter=counter, chained=chained, groups=groups, tee=tees[0],
    keys=default.keys(), values=default.values(), items=default.items(),
    key_iterator=iter(default), item_iterator=iter(default.items()),
    item_reversed=reversed({'a': []}.items()), list_iterator=iter(entry),
    list_reversed=reversed(entry), tuple_iterator=iter((1, [])), set_iterator=iter({thing}),
    callable_iterator=iter(function, []), enumerate=enumerate(iter(entry)),
    zip=zip(entry, [{}]), map=map(function, entry), filter=filter(function, entry),
    cycle=itertools.cycle(entry), islice=itertools.islice(entry, 2), count=itertools.count(0.5),
    starmap=itertools.starmap(function, entry), takewhile=itertools.takewhile(function, entry),
    dropwhile=itertools.dropwhile(function, entry), repeat=itertools.repeat([]),
    filterfalse=itertools.filterfalse(function, entry),
    accumulate=itertools.accumulate(entry, function, initial=[]),
    compress=itertools.compress(entry, entry), product=itertools.product(entry, entry),
    permutations=itertools.permutations(entry), combinations=itertools.combinations(entry, 2),
    zip_longest=itertools.zip_longest(entry, entry, fillvalue=[]),
    pairwise=itertools.pairwise(entry), itemgetter=operator.itemgetter([], 1),
    attrgetter=operator.attrgetter('a', 'b'), methodcaller=operator.methodcaller('a', []),
    simple_queue=simple_queue, callback=callback, fields=fields, pointer=ctypes.pointer(fields),
    namespace=namespace, buffer=buffer, text=text, pattern=pattern, match=pattern.match('a'),
    slice=slice([], {}, ()), memoryview=memoryview(bytearray(8)), local=local,
    array_iterator=iter(array.array('d')), writer=csv.writer(io.StringIO()),
    version=sys.version_info, partial_method=functools.partialmethod(function),
)
weak_values = weakref.WeakValueDictionary(); weak_values['a'] = thing
zoo['weak_values'] = weak_values
zoo['keyed_ref'] = weak_values.data['a']
zoo.update({f'type_of_{name}': type(value) for name, value in list(zoo.items())})
)";

std::string describe(PyObject* object) {
    return capture::summarize(object).name;
}

class LabelersZoo : public testing::Test {
  protected:
    static void SetUpTestSuite() { zoo_ = new PythonScript(kZoo, "zoo", "/samples/zoo.py"); }
    static void TearDownTestSuite() {
        delete zoo_;
        zoo_ = nullptr;
    }

    template <typename Visit>
    void for_each_object(Visit visit) {
        Py_ssize_t position = 0;
        PyObject* name = nullptr;
        PyObject* object = nullptr;
        while (PyDict_Next((*zoo_)["zoo"], &position, &name, &object) != 0) {
            visit(std::string(PyUnicode_AsUTF8(name)), object);
        }
    }

    static PythonScript* zoo_;
};

PythonScript* LabelersZoo::zoo_ = nullptr;

// Must run first: other tests may fill caches.
TEST_F(LabelersZoo, LabellingDoesNotAllocateOrTakeReferences) {
    for_each_object([](const std::string& name, PyObject* object) {
        const std::vector<PyObject*> referents = referents_of(object);
        std::vector<Py_ssize_t> counts;
        for (PyObject* referent : referents) {
            counts.push_back(Py_REFCNT(referent));
        }
        {
            const AllocationCounter allocations;
            references_of(object);
            parts_of(object);
            static_cast<void>(capture::summarize(object));
            EXPECT_EQ(allocations.count(), 0U) << name;
        }
        EXPECT_EQ(PyErr_Occurred(), nullptr) << name;
        EXPECT_EQ(referents_of(object), referents) << name << " changed what it refers to";
        for (std::size_t i = 0; i < referents.size(); ++i) {
            EXPECT_EQ(Py_REFCNT(referents[i]), counts[i]) << name;
        }
    });
}

// References that deliberately have no name (docs/design/labels.md).
bool may_lack_a_name(PyObject* object) {
    // The references of a ctypes type are in a separate struct.
    return PyType_Check(object) && std::string(Py_TYPE(object)->tp_name).find("_ctypes.") == 0;
}

TEST_F(LabelersZoo, EveryReferentHasAName) {
    for_each_object([](const std::string& name, PyObject* object) {
        EXPECT_NE(describe(object), "") << name;
        if (may_lack_a_name(object)) {
            return;
        }
        for (PyObject* referent : unnamed_referents(object)) {
            ADD_FAILURE() << name << " (" << describe(object) << ") refers to a "
                          << Py_TYPE(referent)->tp_name << " that has no name";
        }
    });
}

TEST_F(LabelersZoo, NoReferenceHasTwoNames) {
    for_each_object([](const std::string& name, PyObject* object) {
        const std::vector<PyObject*> referents = referents_of(object);
        const std::vector<NamedReference> references = references_of(object);
        for (const NamedReference& reference : references) {
            const auto visits = std::count(referents.begin(), referents.end(), reference.target);
            const auto names = std::count_if(
                references.begin(), references.end(), [&](const NamedReference& other) {
                    return other.target == reference.target;
                });
            EXPECT_TRUE(visits == 0 || names <= visits)
                << name << ": " << labels_to(reference.target, references);
        }
    });
}

// Labels of C struct fields that are not declared in tp_members, as in Cython classes.

// As in Cython classes: object fields after a number. One of them is declared as a member.
struct Fields {
    PyObject_HEAD long number;
    PyObject* first;
    PyObject* second;
    PyObject* declared;
    PyObject* borrowed;  // not visited
};

int visit_fields(PyObject* object, visitproc visit, void* arg) {
    const auto* fields = reinterpret_cast<Fields*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(fields->first);
    Py_VISIT(fields->second);
    Py_VISIT(fields->declared);
    return 0;
}

PyObject* type_of_fields() {
    static PyMemberDef members[] = {
        {"declared", T_OBJECT, offsetof(Fields, declared), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_fields)},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec{"zoo.Fields",
                            sizeof(Fields),
                            0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                            slots};
    return PyType_FromSpec(&spec);
}

TEST(Fields, UndeclaredFieldsAreLabelledByOffset) {
    PythonScript script("held, other = [], []");
    PyObject* const type = type_of_fields();
    ASSERT_NE(type, nullptr);
    PyObject* const held = script["held"];
    PyObject* const object = PyObject_CallNoArgs(type);
    auto* const fields = reinterpret_cast<Fields*>(object);
    fields->first = fields->second = fields->declared = held;
    fields->borrowed = script["other"];
    std::string expected = "declared";
    for (const std::size_t offset : {offsetof(Fields, first), offsetof(Fields, second)}) {
        expected += " C field at offset " + std::to_string(offset);
    }
    EXPECT_EQ(labels_between(object, held), expected);
    EXPECT_EQ(labels_between(object, script["other"]), "");
    EXPECT_TRUE(unnamed_referents(object).empty());
    fields->first = fields->second = fields->declared = fields->borrowed = nullptr;
    Py_DECREF(object);
    Py_DECREF(type);
}

}  // namespace
}  // namespace cyclewatch::test
