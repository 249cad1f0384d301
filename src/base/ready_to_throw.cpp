// SPDX-License-Identifier: Apache-2.0
#include "base/ready_to_throw.h"

#include <cxxabi.h>

#include <array>
#include <cstddef>
#include <cstdlib>

namespace cyclewatch::base {

bool ready_to_throw() noexcept {
    // Memory of every size that it may be is taken and given back, which leaves it with this
    // thread. Volatile, or the compiler would leave all of it out.
    std::array<void* volatile, 8> blocks{};
    std::size_t size = 0;
    bool enough = true;
    for (void* volatile& block : blocks) {
        size += 16;
        block = std::malloc(size);
        enough = enough && block != nullptr;
    }
    for (void* const block : blocks) {
        std::free(block);
    }
    if (enough) {
        [[maybe_unused]] const void* volatile needed = abi::__cxa_get_globals();
    }
    return enough;
}

}  // namespace cyclewatch::base
