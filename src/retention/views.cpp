// SPDX-License-Identifier: Apache-2.0
#include "retention/views.h"

#include "device/readers/plain_attributes.h"
#include "python/references.h"

namespace cyclewatch::retention {
namespace {

bool is_tensor(PyObject* object) {
    for (PyTypeObject* type = Py_TYPE(object); type != nullptr; type = type->tp_base) {
        if (std::string_view(type->tp_name).starts_with("torch._C.")) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::optional<std::uint64_t> bytes_of_array(PyObject* object) {
    // The getter of a torch tensor may run the user code of a torch function mode.
    if (is_tensor(object)) {
        return std::nullopt;
    }
    const python::OwnedRef name = device::interned("nbytes");
    const python::OwnedRef bytes = device::c_attribute(object, name.get());
    const std::optional<std::int64_t> value = device::integer(bytes.get());
    return value && *value >= 0 ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

bool is_small_array(PyObject* view, PyObject* base) {
    const std::optional<std::uint64_t> part = bytes_of_array(view);
    const std::optional<std::uint64_t> all = bytes_of_array(base);
    return part && all && *part <= *all / 2;
}

std::string_view copy_call(PyObject* view) {
    return is_tensor(view) ? ".clone()" : ".copy()";
}

}  // namespace cyclewatch::retention
