// SPDX-License-Identifier: Apache-2.0
// The reader of CUDA arrays against stand-ins for the libraries, none of which is needed here.
#include "device/readers/cuda_array_interface.h"

#include <gtest/gtest.h>

#include "cuda_fake_arrays.h"
#include "cuda_simulation.h"

namespace cyclewatch::device {
namespace {

using test::as_object;
using test::fake_types;
using test::FakeObject;
using test::make_fake;
using test::PythonScript;

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
    ReadOutcome read(FakeObject* fake) { return read(as_object(fake)); }

    OwnerReading reading;
    std::unique_ptr<OwnerReader> reader;
};

// An array over `memory` that starts `offset` bytes into it. Takes over no reference.
FakeObject* cupy_array(FakeObject* memory,
                       Py_ssize_t offset = 0,
                       PyTypeObject* type = fake_types().array) {
    FakeObject* pointer = make_fake(fake_types().pointer);
    Py_INCREF(as_object(memory));
    pointer->first = as_object(memory);
    pointer->address = memory->address + offset;
    FakeObject* array = make_fake(type);
    array->first = as_object(pointer);
    array->dtype = test::fake_dtype('f', 4);
    array->shape = Py_BuildValue("(ii)", 2, 3);
    array->size = 6;
    return array;
}

FakeObject* cupy_memory(PyTypeObject* type = fake_types().memory) {
    FakeObject* memory = make_fake(type);
    memory->address = 0x7f0000001000;
    memory->size = 1024;
    memory->device = 2;
    return memory;
}

TEST_F(CudaArrayInterfaceReaderTest, RecognisesByTheClassAlone) {
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

TEST_F(CudaArrayInterfaceReaderTest, ReadsWhatACupyArrayConsistsOf) {
    FakeObject* memory = cupy_memory();
    FakeObject* array = cupy_array(memory);
    ASSERT_EQ(read(array), ReadOutcome::owns);
    EXPECT_EQ(reading.device, "cuda:2");
    EXPECT_EQ(reading.bytes, 1024U);
    EXPECT_EQ(reading.storage, 0x7f0000001000U);
    EXPECT_EQ(reading.shape, "[2, 3]");
    EXPECT_EQ(reading.dtype, "float32");
    EXPECT_EQ(array->getter_calls, 0) << "the property runs NumPy's Python code";
    Py_DECREF(as_object(array));
    Py_DECREF(as_object(memory));
}

TEST_F(CudaArrayInterfaceReaderTest, CountsTheStorageOfACupyViewAndNotTheView) {
    FakeObject* memory = cupy_memory();
    FakeObject* view = cupy_array(memory, 512);
    ASSERT_EQ(read(view), ReadOutcome::owns);
    EXPECT_EQ(reading.bytes, 1024U);
    EXPECT_EQ(reading.storage, 0x7f0000001000U);
    Py_DECREF(as_object(view));
    Py_DECREF(as_object(memory));
}

TEST_F(CudaArrayInterfaceReaderTest, SeesNothingThatASubclassOfCupyOverrides) {
    PythonScript script("");
    PyDict_SetItemString(script.names(), "base", reinterpret_cast<PyObject*>(fake_types().array));
    auto* type = reinterpret_cast<PyTypeObject*>(
        script.eval("type('ndarray', (base,), {name: property(lambda self: 1 / 0) for name in "
                    "('data', 'shape', 'dtype', 'base', '__class__')})"));
    FakeObject* memory = cupy_memory();
    FakeObject* array = cupy_array(memory, 0, type);
    ASSERT_EQ(read(array), ReadOutcome::owns);
    EXPECT_EQ(reading.bytes, 1024U);
    EXPECT_EQ(reading.shape, "[2, 3]");
    Py_DECREF(as_object(array));
    Py_DECREF(as_object(memory));
}

TEST_F(CudaArrayInterfaceReaderTest, LeavesForeignAndFreedMemoryToOthers) {
    FakeObject* foreign = cupy_memory(fake_types().unowned);
    FakeObject* freed = cupy_memory();
    freed->address = 0;
    for (FakeObject* memory : {foreign, freed}) {
        FakeObject* array = cupy_array(memory);
        EXPECT_EQ(read(array), ReadOutcome::owns_nothing);
        Py_DECREF(as_object(array));
        Py_DECREF(as_object(memory));
    }
}

TEST_F(CudaArrayInterfaceReaderTest, FailsOnACupyOfAnotherMake) {
    FakeObject* array = make_fake(fake_types().array);  // its data is None
    EXPECT_EQ(read(array), ReadOutcome::failed);
    Py_DECREF(as_object(array));
}

TEST_F(CudaArrayInterfaceReaderTest, TellsThatCupyMemoryWentWhenItsFirstArrayDid) {
    FakeObject* memory = cupy_memory();
    FakeObject* root = cupy_array(memory);
    FakeObject* view = cupy_array(memory);
    Py_INCREF(as_object(root));
    view->base = as_object(root);
    ASSERT_EQ(read(view), ReadOutcome::owns);
    ASSERT_NE(reading.weak_storage, nullptr);
    Py_DECREF(as_object(view));
    EXPECT_FALSE(reading.weak_storage->released()) << "the first array is still there";
    Py_DECREF(as_object(root));
    EXPECT_TRUE(reading.weak_storage->released());
    Py_DECREF(as_object(memory));
}

TEST_F(CudaArrayInterfaceReaderTest, HoldsNoReferenceToWhatItRead) {
    FakeObject* memory = cupy_memory();
    FakeObject* array = cupy_array(memory);
    const Py_ssize_t of_memory = Py_REFCNT(as_object(memory));
    ASSERT_EQ(read(array), ReadOutcome::owns);
    EXPECT_EQ(Py_REFCNT(as_object(array)), 1);
    EXPECT_EQ(Py_REFCNT(as_object(memory)), of_memory);
    Py_DECREF(as_object(array));
    Py_DECREF(as_object(memory));
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
    ASSERT_EQ(read_one("plain(dtype)"), ReadOutcome::owns);
    EXPECT_EQ(reading.device, "cuda:1");
    EXPECT_EQ(reading.bytes, 4096U);
    EXPECT_EQ(reading.storage, 0x1000U);
    EXPECT_EQ(reading.shape, "[4]");
    EXPECT_EQ(reading.dtype, "complex128");
}

TEST_F(NumbaArrayTest, IsReadWhateverKeepsItsAddress) {
    for (const char* pointer : {"0x1000", "ctypes.c_size_t(0x1000)", "ctypes.c_void_p(0x1000)"}) {
        ASSERT_EQ(read_one((std::string("plain(dtype, ") + pointer + ")").c_str()),
                  ReadOutcome::owns)
            << pointer;
        EXPECT_EQ(reading.storage, 0x1000U) << pointer;
    }
}

TEST_F(NumbaArrayTest, IsReadWithADictOfItsOwn) {
    script.eval("[array := plain(dtype), vars(array).update(more=1)]");
    ASSERT_EQ(read_one("array"), ReadOutcome::owns);
    EXPECT_EQ(reading.bytes, 4096U);
}

TEST_F(NumbaArrayTest, CountsTheStorageAndNotTheView) {
    for (const char* array : {"owned(dtype)", "view(dtype)"}) {
        ASSERT_EQ(read_one(array), ReadOutcome::owns) << array;
        EXPECT_EQ(reading.bytes, 8192U) << array;
        EXPECT_EQ(reading.storage, 0x2000U) << array;
    }
}

TEST_F(NumbaArrayTest, GoesWithItsAllocation) {
    ASSERT_EQ(read_one("owned(dtype)"), ReadOutcome::owns);
    ASSERT_NE(reading.weak_storage, nullptr);
    EXPECT_FALSE(reading.weak_storage->released());
    PyDict_DelItemString(script.names(), "memory");
    EXPECT_TRUE(reading.weak_storage->released());
}

TEST_F(NumbaArrayTest, OwnsNothingWhenEmpty) {
    EXPECT_EQ(read_one("empty(dtype)"), ReadOutcome::owns_nothing);
}

TEST_F(NumbaArrayTest, FailsOnAnAddressOfAnotherMake) {
    EXPECT_EQ(read_one("broken(dtype)"), ReadOutcome::failed);
}

class GetterTest : public CudaArrayInterfaceReaderTest {
  protected:
    // What becomes of a buffer whose getter returns the value of `expression`.
    ReadOutcome read_answer(const char* expression) {
        FakeObject* buffer = make_fake(fake_types().buffer);
        buffer->first = script.eval(expression);
        Py_XINCREF(buffer->first);
        const ReadOutcome outcome = read(buffer);
        Py_DECREF(as_object(buffer));
        return outcome;
    }
    PythonScript script{
        "def answer(**fields):\n"
        "    return {'data': (4096, False), 'shape': (8, 4), 'typestr': '<f4',"
        " 'strides': None, 'version': 3, **fields}\n"};
};

TEST_F(GetterTest, IsAskedWhereItIsWrittenInC) {
    ASSERT_EQ(read_answer("answer()"), ReadOutcome::owns);
    EXPECT_EQ(reading.device, "cuda");
    EXPECT_EQ(reading.storage, 4096U);
    EXPECT_EQ(reading.bytes, 128U);
    EXPECT_EQ(reading.shape, "[8, 4]");
    EXPECT_EQ(reading.dtype, "float32");
}

TEST_F(GetterTest, CountsWhatStridesReach) {
    ASSERT_EQ(read_answer("answer(strides=(32, 4))"), ReadOutcome::owns);
    EXPECT_EQ(reading.bytes, 7U * 32 + 3 * 4 + 4);
    ASSERT_EQ(read_answer("answer(strides=(0, 4))"), ReadOutcome::owns);
    EXPECT_EQ(reading.bytes, 16U);
}

TEST_F(GetterTest, OwnsNothingWhenEmpty) {
    EXPECT_EQ(read_answer("answer(shape=(0, 4))"), ReadOutcome::owns_nothing);
    EXPECT_EQ(read_answer("answer(shape=(0, 4), strides=(16, 4))"), ReadOutcome::owns_nothing);
    EXPECT_EQ(read_answer("answer(data=(0, False))"), ReadOutcome::owns_nothing);
}

TEST_F(GetterTest, FailsOnAnAnswerWithoutSense) {
    for (const char* answer : {"None",
                               "{}",
                               "answer(data=None)",
                               "answer(data=('x', False))",
                               "answer(shape=4)",
                               "answer(shape=(-1,))",
                               "answer(shape=(2 ** 62, 4))",
                               "answer(typestr='<f')",
                               "answer(typestr='<fx')",
                               "answer(typestr=4)",
                               "answer(shape=(2,), strides=('x',))"}) {
        EXPECT_EQ(read_answer(answer), ReadOutcome::failed) << answer;
    }
}

TEST_F(GetterTest, MayRaise) {
    FakeObject* buffer = make_fake(fake_types().buffer);
    EXPECT_EQ(read(buffer), ReadOutcome::failed);
    EXPECT_EQ(buffer->getter_calls, 1);
    EXPECT_EQ(PyErr_Occurred(), nullptr);
    Py_DECREF(as_object(buffer));
}

TEST(CudaArrayVerification, BelievesCudaMoreThanTheLibrary) {
    test::start_python();
    const test::SimulatedDriver driver;
    driver.start();
    void* device = driver.allocate(1024);
    void* host = driver.allocate(1024, CU_MEMORYTYPE_HOST);
    DeviceQueries queries;
    const std::unique_ptr<OwnerReader> reader = make_cuda_array_interface_reader(&queries);
    FakeObject* memory = cupy_memory();
    FakeObject* array = cupy_array(memory);
    OwnerReading reading;
    EXPECT_EQ(reader->read(as_object(array), reading), ReadOutcome::owns_nothing)
        << "CUDA does not know the address";
    memory->address = reinterpret_cast<Py_ssize_t>(device);
    EXPECT_EQ(reader->read(as_object(array), reading), ReadOutcome::owns);
    EXPECT_EQ(reading.device, "cuda:0");
    memory->address = reinterpret_cast<Py_ssize_t>(host);
    EXPECT_EQ(reader->read(as_object(array), reading), ReadOutcome::owns);
    EXPECT_EQ(reading.device, "cpu");
    driver.release(device);
    driver.release(host);
    Py_DECREF(as_object(array));
    Py_DECREF(as_object(memory));
}

TEST(CudaArrayLibrary, CountsAsImportedByItsExactName) {
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
