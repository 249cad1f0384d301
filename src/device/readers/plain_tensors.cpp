// SPDX-License-Identifier: Apache-2.0
#include "device/readers/plain_tensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

namespace cyclewatch::device {
namespace {

using torch_api::call;
using torch_api::get;
using torch_api::number_of;

constexpr std::size_t kMaxKinds = 32;
// Number of words to search in a C++ object. The wanted pointers are among these words, and every
// searched object has at least this many words.
constexpr std::size_t kWords = 8;

const std::uint64_t* words_at(std::uint64_t address) noexcept {
    return reinterpret_cast<const std::uint64_t*>(address);
}

const std::uint64_t* words_of(PyObject* object) noexcept {
    return reinterpret_cast<const std::uint64_t*>(object);
}

// The index of the first word at or after word 2 that equals `value`; 0 if there is none. The
// search starts at word 2, because the words before it belong to the base class.
std::size_t word_of(const std::uint64_t* words, std::size_t count, std::uint64_t value) noexcept {
    for (std::size_t word = 2; value != 0 && word < count; ++word) {
        if (words[word] == value) {
            return word;
        }
    }
    return 0;
}

}  // namespace

void PlainTensors::set_up(const torch_api::TorchFunctions& torch) {
    torch_ = &torch;
    library_ = LoadedLibrary::find("libtorch_cpu");
    trusted_ = torch.tensor_cdata && torch.storage_address && library_ &&
               library_.take_all({{"_ZN5torch8autograd4impl17get_autograd_metaERKN2at10TensorBaseE",
                                   autograd_state_},
                                  {"aoti_torch_get_dtype", dtype_},
                                  {"aoti_torch_get_device_type", device_type_},
                                  {"aoti_torch_get_device_index", device_index_},
                                  {"aoti_torch_get_layout", layout_getter_},
                                  {"aoti_torch_get_storage_size", bytes_},
                                  {"aoti_torch_get_dim", dimensions_},
                                  {"aoti_torch_get_sizes", sizes_}});
}

std::uint64_t PlainTensors::read(PyObject* tensor, OwnerReading& reading) {
    if (kinds_.empty() || Py_TYPE(tensor) != torch_->tensor) {
        return 0;
    }
    const std::uint64_t* const handle = words_of(tensor) + layout_.tensor;
    const std::uint64_t* const impl = words_at(*handle);
    if (impl == nullptr || impl[0] != layout_.virtual_table || impl[layout_.storage] == 0) {
        return 0;
    }
    const std::uint64_t storage = impl[layout_.storage];
    const std::uint64_t data = words_at(storage)[layout_.data];
    Kind kind;
    if (data == 0 || has_autograd_state(handle) || !kind_of(handle, kind)) {
        return 0;
    }
    const KnownKind* const known = find(kind);
    const std::uint64_t bytes = known != nullptr ? bytes_of(handle) : 0;
    if (bytes == 0) {
        return 0;
    }
    reading.shape = shape_of(handle);
    reading.device = known->device;
    reading.dtype = known->dtype;
    reading.bytes = bytes;
    reading.storage = data;
    return storage;
}

void PlainTensors::learn(PyObject* tensor, const OwnerReading& reading) {
    // The shape is empty if the reader did not read it, for example during torch.jit.trace().
    if (!trusted_ || kinds_.size() == kMaxKinds || Py_TYPE(tensor) != torch_->tensor ||
        reading.shape.empty()) {
        return;
    }
    const Layout layout = layout_of(tensor, reading.storage);
    if (!kinds_.empty() && layout.virtual_table != layout_.virtual_table) {
        return;
    }
    trusted_ = layout.tensor != 0 && layout.storage != 0 && layout.data != 0 &&
               (kinds_.empty() || layout == layout_) && agrees(tensor, layout, reading);
    if (!trusted_) {
        kinds_.clear();
    }
}

// Returns false if the C interface and the Python functions disagree. Otherwise adds the kind of
// the tensor to kinds_.
bool PlainTensors::agrees(PyObject* tensor, const Layout& layout, const OwnerReading& reading) {
    const Handle handle = words_of(tensor) + layout.tensor;
    Kind kind;
    if (has_autograd_state(handle)) {
        return true;  // read() does not read it
    }
    if (!kind_of(handle, kind) || bytes_of(handle) != reading.bytes ||
        shape_of(handle) != reading.shape || !reading.parts.empty()) {
        return false;
    }
    if (const KnownKind* const known = find(kind)) {
        return known->device == reading.device && known->dtype == reading.dtype;
    }
    layout_ = layout;
    kinds_.push_back({kind, reading.dtype, reading.device});
    return true;
}

PlainTensors::Layout PlainTensors::layout_of(PyObject* tensor, std::uint64_t data) const {
    const std::uint64_t impl = number_of(get(torch_->tensor_cdata, tensor));
    const std::uint64_t storage = number_of(call(torch_->storage_address, tensor));
    if (impl == 0 || storage == 0) {
        return {};
    }
    const auto size = static_cast<std::size_t>(torch_->tensor_base->tp_basicsize);
    return {word_of(words_of(tensor), size / sizeof(std::uint64_t), impl),
            word_of(words_at(impl), kWords, storage),
            word_of(words_at(storage), kWords, data),
            words_at(impl)[0]};
}

bool PlainTensors::has_autograd_state(Handle tensor) const {
    return autograd_state_(tensor) != nullptr;
}

bool PlainTensors::kind_of(Handle tensor, Kind& kind) const {
    return dtype_(tensor, &kind.dtype) == 0 && device_type_(tensor, &kind.device_type) == 0 &&
           device_index_(tensor, &kind.device_index) == 0 &&
           layout_getter_(tensor, &kind.layout) == 0;
}

std::uint64_t PlainTensors::bytes_of(Handle tensor) const {
    std::int64_t bytes = 0;
    return bytes_(tensor, &bytes) == 0 && bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

const std::string& PlainTensors::shape_of(Handle tensor) {
    std::int64_t dimensions = 0;
    std::int64_t* first = nullptr;
    if (dimensions_(tensor, &dimensions) != 0 || sizes_(tensor, &first) != 0) {
        shape_.clear();
        return shape_;
    }
    const std::span sizes(first, static_cast<std::size_t>(dimensions));
    if (!shape_.empty() && std::ranges::equal(sizes, sizes_of_shape_)) {
        return shape_;
    }
    std::string text = "[";
    for (const std::int64_t size : sizes) {
        text += text.size() == 1 ? "" : ", ";
        std::array<char, 20> digits{};
        const auto end = std::to_chars(digits.begin(), digits.end(), size).ptr;
        text.append(digits.begin(), end);
    }
    shape_.clear();  // in case memory runs out below
    sizes_of_shape_.assign(sizes.begin(), sizes.end());
    shape_ = std::move(text) + ']';
    return shape_;
}

const PlainTensors::KnownKind* PlainTensors::find(const Kind& kind) const noexcept {
    const auto known = std::ranges::find(kinds_, kind, &KnownKind::kind);
    return known == kinds_.end() ? nullptr : &*known;
}

}  // namespace cyclewatch::device
