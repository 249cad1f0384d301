// SPDX-License-Identifier: Apache-2.0
#include "device/readers/readers.h"

#include <gtest/gtest.h>
#include <structmember.h>

#include <array>
#include <cstddef>
#include <deque>

#include "cuda_simulation.h"
#include "support/embedded_python.h"

// Fake C types with the names and fields of CuPy's, RMM's and NumPy's types, as far as the reader
// uses them.
namespace cyclewatch::test {
namespace {

struct FakeObject {
    PyObject_HEAD PyObject* first;  // data, mem, or what the getter returns
    PyObject* base;
    PyObject* dtype;
    PyObject* shape;
    PyObject* weak_references;
    Py_ssize_t address;
    Py_ssize_t size;
    int device;
    char kind;
    int getter_calls;
};

void fake_dealloc(PyObject* self) {
    auto* fake = reinterpret_cast<FakeObject*>(self);
    PyTypeObject* type = Py_TYPE(self);
    if (fake->weak_references != nullptr) {
        PyObject_ClearWeakRefs(self);
    }
    Py_XDECREF(fake->first);
    Py_XDECREF(fake->base);
    Py_XDECREF(fake->dtype);
    Py_XDECREF(fake->shape);
    type->tp_free(self);
    Py_DECREF(type);
}

// Returns `first`; raises if it is null.
PyObject* fake_interface(PyObject* self, void*) {
    auto* fake = reinterpret_cast<FakeObject*>(self);
    ++fake->getter_calls;
    if (fake->first == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "no interface today");
        return nullptr;
    }
    Py_INCREF(fake->first);
    return fake->first;
}

// Creates a type; `first_name` is the Python name of the field `first`.
PyTypeObject* make_fake_type(const char* name, const char* first_name, bool interface) {
    start_python();
    // Never freed, because the types refer to it; a deque does not move its elements.
    static auto* const all_members = new std::deque<std::array<PyMemberDef, 11>>();
    auto& members = all_members->emplace_back(std::array<PyMemberDef, 11>{{
        {first_name, T_OBJECT, offsetof(FakeObject, first), READONLY, nullptr},
        {"base", T_OBJECT, offsetof(FakeObject, base), READONLY, nullptr},
        {"dtype", T_OBJECT, offsetof(FakeObject, dtype), READONLY, nullptr},
        {"shape", T_OBJECT, offsetof(FakeObject, shape), READONLY, nullptr},
        {"ptr", T_PYSSIZET, offsetof(FakeObject, address), READONLY, nullptr},
        {"size", T_PYSSIZET, offsetof(FakeObject, size), READONLY, nullptr},
        {"itemsize", T_PYSSIZET, offsetof(FakeObject, size), READONLY, nullptr},
        {"device_id", T_INT, offsetof(FakeObject, device), READONLY, nullptr},
        {"kind", T_CHAR, offsetof(FakeObject, kind), READONLY, nullptr},
        {"__weaklistoffset__",
         T_PYSSIZET,
         offsetof(FakeObject, weak_references),
         READONLY,
         nullptr},
        {nullptr, 0, 0, 0, nullptr},
    }});
    static PyGetSetDef getters[] = {
        {"__cuda_array_interface__", fake_interface, nullptr, nullptr, nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr},
    };
    static PyGetSetDef no_getters[] = {{nullptr, nullptr, nullptr, nullptr, nullptr}};
    PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(fake_dealloc)},
        {Py_tp_members, members.data()},
        {Py_tp_getset, interface ? getters : no_getters},
        {0, nullptr},
    };
    PyType_Spec spec{name, sizeof(FakeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    EXPECT_NE(type, nullptr) << take_python_error();
    return type;
}

struct FakeTypes {
    PyTypeObject* array = make_fake_type("cupy._core.core._ndarray_base", "data", true);
    PyTypeObject* pointer = make_fake_type("cupy.cuda.memory.MemoryPointer", "mem", false);
    PyTypeObject* memory = make_fake_type("cupy.cuda.memory.PooledMemory", "pool", false);
    PyTypeObject* unowned = make_fake_type("cupy.cuda.memory.UnownedMemory", "_owner", false);
    PyTypeObject* dtype = make_fake_type("numpy.dtype", "type", false);
    PyTypeObject* buffer =
        make_fake_type("rmm.pylibrmm.device_buffer.DeviceBuffer", "answer", true);
    PyTypeObject* plain = make_fake_type("other.Thing", "thing", false);
};

// Created once and never freed.
const FakeTypes& fake_types() {
    static const auto* types = new FakeTypes();
    return *types;
}

// Returns a new reference to an instance of a fake type or a subclass.
FakeObject* make_fake(PyTypeObject* type) {
    PyObject* object = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(type));
    EXPECT_NE(object, nullptr) << take_python_error();
    return reinterpret_cast<FakeObject*>(object);
}

PyObject* as_object(FakeObject* fake) {
    return reinterpret_cast<PyObject*>(fake);
}

PyObject* fake_dtype(char kind, Py_ssize_t bytes) {
    FakeObject* dtype = make_fake(fake_types().dtype);
    dtype->kind = kind;
    dtype->size = bytes;
    return as_object(dtype);
}

}  // namespace
}  // namespace cyclewatch::test

namespace cyclewatch::device {
namespace {

using test::as_object;
using test::fake_types;
using test::FakeObject;
using test::make_fake;
using test::PythonScript;

// A strong reference to a fake object.
class Fake {
  public:
    explicit Fake(PyTypeObject* type) : fake_(make_fake(type)) {}
    ~Fake() { Py_DECREF(object()); }
    Fake(const Fake&) = delete;
    Fake& operator=(const Fake&) = delete;

    FakeObject* operator->() const { return fake_; }
    [[nodiscard]] PyObject* object() const { return as_object(fake_); }
    [[nodiscard]] PyObject* new_reference() const {
        Py_INCREF(object());
        return object();
    }

  private:
    FakeObject* fake_;
};

class CudaArrayInterfaceReaderTest : public ::testing::Test {
  protected:
    CudaArrayInterfaceReaderTest() {
        test::start_python();
        reader = make_cuda_array_interface_reader();
    }
    ~CudaArrayInterfaceReaderTest() override { EXPECT_EQ(test::take_python_error(), ""); }

    bool recognises(PyObject* type) {
        return reader->recognises(reinterpret_cast<PyTypeObject*>(type));
    }
    ReadOutcome read(PyObject* object) {
        reading = {};
        EXPECT_TRUE(recognises(reinterpret_cast<PyObject*>(Py_TYPE(object))));
        return reader->read(object, reading);
    }

    OwnerReading reading;
    std::unique_ptr<OwnerReader> reader;
};

constexpr std::uint64_t kAddress = 0x7f0000001000;

// A CuPy array over a new allocation.
struct CupyArray {
    explicit CupyArray(PyTypeObject* memory_type = fake_types().memory,
                       PyTypeObject* array_type = fake_types().array)
        : memory(memory_type), array(array_type) {
        memory->address = kAddress;
        memory->size = 1024;
        memory->device = 2;
        FakeObject* const pointer = make_fake(fake_types().pointer);
        pointer->first = memory.new_reference();
        array->first = as_object(pointer);
        array->dtype = test::fake_dtype('f', 4);
        array->shape = Py_BuildValue("(ii)", 2, 3);
        array->size = 6;
    }
    Fake memory;
    Fake array;
};

TEST_F(CudaArrayInterfaceReaderTest, RecognisesTypesByTheirClass) {
    PythonScript script(R"(
class Property:
    @property
    def __cuda_array_interface__(self):
        raise AssertionError("user code ran")
class Instance:
    def __init__(self):
        self.__cuda_array_interface__ = {}
class Metaclass(type):
    def __getattr__(cls, name):
        raise AssertionError("user code ran")
class Odd(metaclass=Metaclass):
    def __getattr__(self, name):
        raise AssertionError("user code ran")
)");
    for (const char* name : {"Property", "Instance", "Odd"}) {
        EXPECT_FALSE(recognises(script[name])) << name;
    }
    EXPECT_FALSE(recognises(reinterpret_cast<PyObject*>(&PyLong_Type)));
    EXPECT_FALSE(recognises(reinterpret_cast<PyObject*>(fake_types().plain)));
    EXPECT_TRUE(recognises(reinterpret_cast<PyObject*>(fake_types().array)));
    EXPECT_TRUE(recognises(reinterpret_cast<PyObject*>(fake_types().buffer)));
}

TEST_F(CudaArrayInterfaceReaderTest, ReadsTheFieldsOfCupyArrays) {
    const CupyArray cupy;
    const Py_ssize_t references = Py_REFCNT(cupy.memory.object());
    // The whole allocation is reported even if a view starts in the middle of it.
    for (const Py_ssize_t offset : {0, 512}) {
        reinterpret_cast<FakeObject*>(cupy.array->first)->address =
            static_cast<Py_ssize_t>(kAddress) + offset;
        ASSERT_EQ(read(cupy.array.object()), ReadOutcome::owns);
        EXPECT_EQ(reading.device, "cuda:2");
        EXPECT_EQ(reading.bytes, 1024U);
        EXPECT_EQ(reading.storage, kAddress);
        EXPECT_EQ(reading.shape, "[2, 3]");
        EXPECT_EQ(reading.dtype, "float32");
    }
    EXPECT_EQ(cupy.array->getter_calls, 0) << "the property runs NumPy's Python code";
    EXPECT_EQ(Py_REFCNT(cupy.array.object()), 1);
    EXPECT_EQ(Py_REFCNT(cupy.memory.object()), references);
}

TEST_F(CudaArrayInterfaceReaderTest, IgnoresOverridesOfCupySubclasses) {
    PythonScript script("");
    PyDict_SetItemString(script.names(), "base", reinterpret_cast<PyObject*>(fake_types().array));
    auto* type = reinterpret_cast<PyTypeObject*>(
        script.eval("type('ndarray', (base,), {name: property(lambda self: 1 / 0) for name in "
                    "('data', 'shape', 'dtype', 'base', '__class__')})"));
    const CupyArray cupy(fake_types().memory, type);
    ASSERT_EQ(read(cupy.array.object()), ReadOutcome::owns);
    EXPECT_EQ(reading.bytes, 1024U);
    EXPECT_EQ(reading.shape, "[2, 3]");
}

TEST_F(CudaArrayInterfaceReaderTest, DoesNotCountForeignOrFreedMemory) {
    const CupyArray foreign(fake_types().unowned);
    EXPECT_EQ(read(foreign.array.object()), ReadOutcome::owns_nothing);
    const CupyArray freed;
    freed.memory->address = 0;
    EXPECT_EQ(read(freed.array.object()), ReadOutcome::owns_nothing);
    const Fake without_data(fake_types().array);
    EXPECT_EQ(read(without_data.object()), ReadOutcome::failed);
}

TEST_F(CudaArrayInterfaceReaderTest, CupyMemoryIsFreedWithTheFirstArray) {
    auto root = std::make_unique<CupyArray>();
    {
        const CupyArray view;
        view.array->base = root->array.new_reference();
        ASSERT_EQ(read(view.array.object()), ReadOutcome::owns);
    }
    ASSERT_NE(reading.weak_storage, nullptr);
    EXPECT_FALSE(reading.weak_storage->released());
    root.reset();
    EXPECT_TRUE(reading.weak_storage->released());
}

constexpr const char* kNumba = R"(
import ctypes, weakref
ran = []
class Loud:
    def __getattr__(self, name):
        ran.append(name)
        raise AttributeError(name)
    def __getattribute__(self, name):
        if name not in ("__dict__", "__class__"):
            ran.append(name)
        return object.__getattribute__(self, name)
class Device(Loud):
    def __init__(self): self.id = 1
class Context(Loud):
    def __init__(self): self.device = Device()
class MemoryPointer(Loud):
    def __init__(self, context, pointer, size):
        self.context, self.device_pointer, self.size = context, pointer, size
class OwnedPointer(Loud):
    def __init__(self, memory, view=None):
        self._mem = weakref.proxy(memory)
        self._view = self._mem if view is None else view
class DeviceNDArrayBase(Loud):
    def __init__(self, shape, dtype, gpu_data):
        self.shape, self.dtype, self.gpu_data = shape, dtype, gpu_data
    @property
    def __cuda_array_interface__(self):
        ran.append("interface")
class DeviceNDArray(DeviceNDArrayBase):
    pass
context = Context()
def plain(dtype, pointer=ctypes.c_size_t(0x1000)):
    return DeviceNDArray((4,), dtype, MemoryPointer(context, pointer, 4096))
memory = MemoryPointer(context, 0x2000, 8192)
def owned(dtype):
    return DeviceNDArray((4,), dtype, OwnedPointer(memory))
def view(dtype):
    part = MemoryPointer(context, 0x2100, 256)
    return DeviceNDArray((4,), dtype, OwnedPointer(memory, part))
def empty(dtype):
    return DeviceNDArray((0,), dtype, MemoryPointer(context, ctypes.c_void_p(0), 0))
def broken(dtype):
    return DeviceNDArray((4,), dtype, MemoryPointer(context, "nowhere", 64))
def with_dict(dtype):
    array = plain(dtype)
    vars(array).update(more=1)
    return array
)";

class NumbaArrayTest : public CudaArrayInterfaceReaderTest {
  protected:
    NumbaArrayTest() {
        PyObject* dtype = test::fake_dtype('c', 16);
        PyDict_SetItemString(script.names(), "dtype", dtype);
        Py_DECREF(dtype);
    }
    ReadOutcome read_one(const char* expression) {
        PyObject* array = script.eval(expression);
        PyList_SetSlice(script["ran"], 0, PY_SSIZE_T_MAX, nullptr);
        const ReadOutcome outcome = read(array);
        EXPECT_EQ(PyList_GET_SIZE(script["ran"]), 0) << "Python code ran";
        return outcome;
    }

    PythonScript script{kNumba, "numba.cuda.cudadrv.devicearray"};
};

TEST_F(NumbaArrayTest, IsReadByItsFields) {
    struct Case {
        const char* array;
        std::uint64_t bytes;
        std::uint64_t storage;
    };
    for (const Case& each : {Case{"plain(dtype)", 4096, 0x1000},
                             {"plain(dtype, 0x1000)", 4096, 0x1000},
                             {"plain(dtype, ctypes.c_void_p(0x1000))", 4096, 0x1000},
                             {"with_dict(dtype)", 4096, 0x1000},
                             {"owned(dtype)", 8192, 0x2000},
                             {"view(dtype)", 8192, 0x2000}}) {
        ASSERT_EQ(read_one(each.array), ReadOutcome::owns) << each.array;
        EXPECT_EQ(reading.device, "cuda:1");
        EXPECT_EQ(reading.bytes, each.bytes) << each.array;
        EXPECT_EQ(reading.storage, each.storage) << each.array;
        EXPECT_EQ(reading.shape, "[4]");
        EXPECT_EQ(reading.dtype, "complex128");
    }
    EXPECT_EQ(read_one("empty(dtype)"), ReadOutcome::owns_nothing);
    EXPECT_EQ(read_one("broken(dtype)"), ReadOutcome::failed);
}

TEST_F(NumbaArrayTest, MemoryIsFreedWithTheAllocation) {
    ASSERT_EQ(read_one("owned(dtype)"), ReadOutcome::owns);
    ASSERT_NE(reading.weak_storage, nullptr);
    EXPECT_FALSE(reading.weak_storage->released());
    PyDict_DelItemString(script.names(), "memory");
    EXPECT_TRUE(reading.weak_storage->released());
}

class GetterTest : public CudaArrayInterfaceReaderTest {
  protected:
    // Reads a buffer whose getter returns the value of `expression`.
    ReadOutcome read_interface(const char* expression) {
        const Fake buffer(fake_types().buffer);
        buffer->first = script.eval(expression);
        Py_XINCREF(buffer->first);
        return read(buffer.object());
    }
    PythonScript script{
        "def interface(**fields):\n"
        "    return {'data': (4096, False), 'shape': (8, 4), 'typestr': '<f4',"
        " 'strides': None, 'version': 3, **fields}\n"};
};

TEST_F(GetterTest, ReadsTheInterface) {
    ASSERT_EQ(read_interface("interface()"), ReadOutcome::owns);
    EXPECT_EQ(reading.device, "cuda");
    EXPECT_EQ(reading.storage, 4096U);
    EXPECT_EQ(reading.bytes, 128U);
    EXPECT_EQ(reading.shape, "[8, 4]");
    EXPECT_EQ(reading.dtype, "float32");
    ASSERT_EQ(read_interface("interface(strides=(32, 4))"), ReadOutcome::owns);
    EXPECT_EQ(reading.bytes, 7U * 32 + 3 * 4 + 4);
    ASSERT_EQ(read_interface("interface(strides=(0, 4))"), ReadOutcome::owns);
    EXPECT_EQ(reading.bytes, 16U);
    for (const char* empty : {"interface(shape=(0, 4))",
                              "interface(shape=(0, 4), strides=(16, 4))",
                              "interface(data=(0, False))"}) {
        EXPECT_EQ(read_interface(empty), ReadOutcome::owns_nothing) << empty;
    }
}

TEST_F(GetterTest, FailsOnAnInvalidInterface) {
    for (const char* invalid : {"None",
                                "{}",
                                "interface(data=None)",
                                "interface(data=('x', False))",
                                "interface(shape=4)",
                                "interface(shape=(-1,))",
                                "interface(shape=(2 ** 62, 4))",
                                "interface(typestr='<f')",
                                "interface(typestr='<fx')",
                                "interface(typestr=4)",
                                "interface(shape=(2,), strides=('x',))"}) {
        EXPECT_EQ(read_interface(invalid), ReadOutcome::failed) << invalid;
    }
    const Fake raises(fake_types().buffer);
    EXPECT_EQ(read(raises.object()), ReadOutcome::failed);
    EXPECT_EQ(raises->getter_calls, 1);
}

TEST(CudaArrayVerification, CudaOverridesTheLibrarysDevice) {
    test::start_python();
    const test::SimulatedDriver driver;
    driver.start();
    void* const device = driver.allocate(1024);
    void* const host = driver.allocate(1024, CU_MEMORYTYPE_HOST);
    DeviceQueries queries;
    const std::unique_ptr<OwnerReader> reader = make_cuda_array_interface_reader(&queries);
    const CupyArray cupy;
    OwnerReading reading;
    EXPECT_EQ(reader->read(cupy.array.object(), reading), ReadOutcome::owns_nothing)
        << "CUDA does not know the address";
    for (const auto& [memory, name] : {std::pair{device, "cuda:0"}, {host, "cpu"}}) {
        cupy.memory->address = reinterpret_cast<Py_ssize_t>(memory);
        EXPECT_EQ(reader->read(cupy.array.object(), reading), ReadOutcome::owns);
        EXPECT_EQ(reading.device, name);
        driver.release(memory);
    }
}

TEST(CudaArrayLibrary, IsDetectedByItsExactName) {
    test::start_python();
    PyObject* const modules = PyImport_GetModuleDict();
    EXPECT_FALSE(cuda_array_library_imported());
    PyDict_SetItemString(modules, "cupyx", Py_None);
    EXPECT_FALSE(cuda_array_library_imported());
    PyDict_DelItemString(modules, "cupyx");
    for (const char* name : {"cupy", "numba.cuda", "rmm"}) {
        PyDict_SetItemString(modules, name, Py_True);
        EXPECT_TRUE(cuda_array_library_imported()) << name;
        PyDict_DelItemString(modules, name);
    }
}

}  // namespace
}  // namespace cyclewatch::device
