// SPDX-License-Identifier: Apache-2.0
// Finds the tensors that a sparse or nested tensor consists of: its values and indices. The Python
// methods that return these tensors call operators, which are visible to dispatch modes and
// profilers. Therefore, the C++ functions that implement these operators are called directly.
#pragma once

#include <Python.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/loaded_library.h"
#include "device/readers/torch_functions.h"
#include "python/references.h"

namespace cyclewatch::device {

struct TensorComponent {
    const char* label = "";      // ".values()"
    PyObject* tensor = nullptr;  // a torch.Tensor, valid during the visit
    bool is_temporary = false;   // created for the visit; shares the component's storage
};

// REQUIRES (everything here): GIL held. RUNS PYTHON: no user code. May leave a Python error set.
class TensorComponents {
  public:
    // `torch` must outlive this object. May throw std::bad_alloc.
    void set_up(const torch_api::TorchFunctions& torch);

    // Visits the values first, then the other components. A component is omitted if this torch
    // version lacks the function that returns it. If the layout of `tensor` is strided, it must be
    // a nested tensor. May throw torch's exceptions.
    void visit(PyObject* tensor, const std::function<void(const TensorComponent&)>& visit) const;

  private:
    struct Tensor;  // an at::Tensor
    struct Source;
    struct Deleter {
        void (*delete_tensor)(Tensor*) = nullptr;
        void operator()(Tensor* tensor) const { delete_tensor(tensor); }
    };
    using Handle = std::unique_ptr<Tensor, Deleter>;
    struct Function {
        const Source* source = nullptr;
        python::OwnedRef layout;
        Tensor (*get)(const std::uint64_t* tensor) = nullptr;
    };
    static const Source kSources[];

    [[nodiscard]] Handle component(const Function& function, std::uint64_t tensor) const;
    [[nodiscard]] Handle component_by_operator(const Function& function,
                                               std::uint64_t tensor) const;

    const torch_api::TorchFunctions* torch_ = nullptr;
    LoadedLibrary library_;
    LoadedLibrary core_library_;
    Deleter deleter_;
    std::vector<Function> functions_;
    python::OwnedRef object_;  // a torch.Tensor without a C++ tensor, untracked
};

}  // namespace cyclewatch::device
