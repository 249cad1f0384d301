// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 that only records that it was loaded: it creates the file named by the environment
// variable CYCLEWATCH_DECOY_MARK.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace {

[[gnu::constructor]] void leave_mark() {
    if (const char* const mark = std::getenv("CYCLEWATCH_DECOY_MARK")) {
        close(open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
}

}  // namespace
