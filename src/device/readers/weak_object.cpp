// SPDX-License-Identifier: Apache-2.0
#include "device/readers/weak_object.h"

#include <utility>

#include "python/references.h"

namespace cyclewatch::device {
namespace {

class WeakObject final : public WeakStorage {
  public:
    explicit WeakObject(python::OwnedRef reference) noexcept : reference_(std::move(reference)) {}
    [[nodiscard]] bool released() noexcept override {
        const auto* reference = reinterpret_cast<PyWeakReference*>(reference_.get());
        return reference->wr_object == Py_None;
    }

  private:
    python::OwnedRef reference_;
};

}  // namespace

std::unique_ptr<WeakStorage> weak_object(PyObject* object) {
    if (Py_TYPE(object)->tp_weaklistoffset == 0) {
        return nullptr;
    }
    python::OwnedRef reference = python::steal(PyWeakref_NewRef(object, nullptr));
    PyErr_Clear();
    return reference ? std::make_unique<WeakObject>(std::move(reference)) : nullptr;
}

}  // namespace cyclewatch::device
