// SPDX-License-Identifier: Apache-2.0
#include "device/readers/tensor_components.h"

#include <array>
#include <cstddef>
#include <utility>

#include "python/guards.h"

namespace cyclewatch::device {

using python::OwnedRef;

// A reference to a TensorImpl. The non-trivial destructor ensures that a Tensor is passed and
// returned like an at::Tensor. Only torch releases the reference.
struct TensorComponents::Tensor {
    std::uint64_t impl;
    ~Tensor() {}  // NOLINT(modernize-use-equals-default): would be trivial
};

enum class Access : std::uint8_t {
    stored,     // returns the tensor that the sparse tensor refers to
    temporary,  // creates a tensor
    by_operator,
};

namespace {

// Returns the word of `object` that stores the address of its C++ tensor. The word has the same
// offset as the word of `tensor` that contains `impl`.
std::uint64_t* tensor_word(PyObject* object,
                           PyObject* tensor,
                           std::uint64_t impl,
                           std::size_t size) {
    const auto* const known = reinterpret_cast<const std::uint64_t*>(tensor);
    for (std::size_t word = sizeof(PyObject) / sizeof *known; word < size / sizeof *known; ++word) {
        if (known[word] == impl) {
            return reinterpret_cast<std::uint64_t*>(object) + word;
        }
    }
    return nullptr;
}

// While an instance exists, operators called by the current thread run as in a new thread: without
// dispatch modes, traces, transforms or profilers.
class DefaultDispatch {
  public:
    using State = std::array<std::uint64_t, 2>;

    DefaultDispatch(const torch_api::TorchFunctions& torch,
                    State* state,
                    void (*set_recording)(bool),
                    bool was_recording)
        : state_(state),
          saved_(std::exchange(*state, State{})),
          set_recording_(set_recording),
          was_recording_(was_recording),
          guard_(python::steal(PyObject_CallNoArgs(torch.disable_torch_dispatch.get()))) {
        set_recording_(false);
    }
    DefaultDispatch(const DefaultDispatch&) = delete;
    DefaultDispatch& operator=(const DefaultDispatch&) = delete;
    ~DefaultDispatch() {
        guard_.reset();
        set_recording_(was_recording_);
        *state_ = saved_;
    }
    [[nodiscard]] bool entered() const noexcept { return static_cast<bool>(guard_); }

  private:
    State* state_;
    State saved_;
    void (*set_recording_)(bool);
    bool was_recording_;
    OwnedRef guard_;  // disables __torch_dispatch__ of the component as well
};

}  // namespace

struct TensorComponents::Source {
    std::array<const char*, 4> layouts;  // unused elements are null
    const char* label;
    const char* function;
    Access access;
};

constexpr TensorComponents::Source TensorComponents::kSources[] = {
    {{"sparse_coo"}, ".values()", "_ZN2at6native14_values_sparseERKNS_6TensorE", Access::stored},
    {{"sparse_coo"}, ".indices()", "_ZN2at6native15_indices_sparseERKNS_6TensorE", Access::stored},
    {{"strided"}, ".values()", "_ZN2at6native13values_nestedERKNS_6TensorE", Access::temporary},
    {{"sparse_csr", "sparse_bsr", "sparse_csc", "sparse_bsc"},
     ".values()",
     "_ZN2at6native17values_sparse_csrERKNS_6TensorE",
     Access::by_operator},
    {{"sparse_csr", "sparse_bsr"},
     ".crow_indices()",
     "_ZN2at6native23crow_indices_sparse_csrERKNS_6TensorE",
     Access::by_operator},
    {{"sparse_csr", "sparse_bsr"},
     ".col_indices()",
     "_ZN2at6native22col_indices_sparse_csrERKNS_6TensorE",
     Access::by_operator},
    {{"sparse_csc", "sparse_bsc"},
     ".ccol_indices()",
     "_ZN2at6native23ccol_indices_sparse_csrERKNS_6TensorE",
     Access::by_operator},
    {{"sparse_csc", "sparse_bsc"},
     ".row_indices()",
     "_ZN2at6native22row_indices_sparse_csrERKNS_6TensorE",
     Access::by_operator},
};

void TensorComponents::set_up(const torch_api::TorchFunctions& torch) {
    torch_ = &torch;
    library_ = LoadedLibrary::find("libtorch_cpu");
    core_library_ = LoadedLibrary::find("libc10");
    PyObject* const module = torch_api::imported("torch");
    if (!library_ || module == nullptr || !torch.tensor_cdata || !torch.use_count ||
        torch.tensor->tp_finalize != nullptr || torch.tensor->tp_del != nullptr ||
        !library_.take(deleter_.delete_tensor, "aoti_torch_delete_tensor_object")) {
        return;
    }
    for (const Source& source : kSources) {
        for (const char* const layout : source.layouts) {
            Function function{.source = &source, .layout = {}, .get = nullptr};
            function.layout = python::borrow(
                layout == nullptr ? nullptr
                                  : PyDict_GetItemString(PyModule_GetDict(module), layout));
            if (function.layout && library_.take(function.get, source.function)) {
                functions_.push_back(std::move(function));
            }
        }
    }
    const python::GcPause pause;  // creating an object may start a collection
    const python::YoungCountGuard young_count;
    object_ = python::steal(torch.tensor->tp_alloc(torch.tensor, 0));
    if (object_) {
        PyObject_GC_UnTrack(object_.get());
    }
}

TensorComponents::Handle TensorComponents::component(const Function& function,
                                                     std::uint64_t tensor) const {
    // `function` returns by value, so its at::Tensor is constructed directly in the new Tensor.
    return Handle(new Tensor(function.get(&tensor)), deleter_);
}

TensorComponents::Handle TensorComponents::component_by_operator(const Function& function,
                                                                 std::uint64_t tensor) const {
    DefaultDispatch::State* state = nullptr;  // of this thread
    bool (*is_recording)() = nullptr;
    void (*set_recording)(bool) = nullptr;
    if (!torch_->disable_torch_dispatch || !core_library_ ||
        !core_library_.take(state, "_ZN3c104impl26raw_local_dispatch_key_setE") ||
        !library_.take(is_recording, "_ZN2at23isRecordFunctionEnabledEv") ||
        !library_.take(set_recording, "_ZN2at20enableRecordFunctionEb")) {
        return Handle(nullptr, deleter_);
    }
    const DefaultDispatch dispatch(*torch_, state, set_recording, is_recording());
    return dispatch.entered() ? component(function, tensor) : Handle(nullptr, deleter_);
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): torch deletes it

void TensorComponents::visit(PyObject* tensor,
                             const std::function<void(const TensorComponent&)>& visit) const {
    const std::uint64_t impl = torch_api::number_of(torch_api::get(torch_->tensor_cdata, tensor));
    const auto size = static_cast<std::size_t>(torch_->tensor_base->tp_basicsize);
    std::uint64_t* const word =
        impl == 0 || !object_ ? nullptr : tensor_word(object_.get(), tensor, impl, size);
    const OwnedRef layout = torch_api::get(torch_->layout, tensor);
    for (const Function& function : functions_) {
        if (word == nullptr || function.layout.get() != layout.get()) {
            continue;
        }
        const Access access = function.source->access;
        Handle handle = access == Access::by_operator ? component_by_operator(function, impl)
                                                      : component(function, impl);
        if (!handle) {
            continue;
        }
        *word = handle->impl;
        if (access == Access::stored) {
            handle.reset();  // so that the caller does not count this reference
        }
        visit({function.source->label, object_.get(), access != Access::stored});
        *word = 0;
    }
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): torch deletes it

}  // namespace cyclewatch::device
