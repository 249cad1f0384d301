// SPDX-License-Identifier: Apache-2.0
// Which getters are known to return a field, by their machine code as it is in wheels.
#include "compat/getter_fields.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace cyclewatch::test {
namespace {

#if defined(__x86_64__)

// Code is data here: it is read and never run.
Py_ssize_t field_of(const std::vector<unsigned char>& code) {
    const unsigned char* const start = code.data();
    getter get = nullptr;
    std::memcpy(&get, &start, sizeof(get));
    return cyclewatch_field_of_getter(get);
}

TEST(GetterFields, KnowsWhatCythonWrites) {
    // pandas 1.5 for 3.11: mov rax, [rdi + 0x18]; add qword [rax], 1; ret
    EXPECT_EQ(field_of({0x48, 0x8b, 0x47, 0x18, 0x48, 0x83, 0x00, 0x01, 0xc3}), 0x18);
    // netCDF4 for 3.11, which counts self up and down
    EXPECT_EQ(field_of({0x53, 0x48, 0x8b, 0x9f, 0x80, 0x00, 0x00, 0x00, 0x48,
                        0x83, 0x07, 0x01, 0x48, 0x83, 0x03, 0x01, 0x48, 0x83,
                        0x2f, 0x01, 0x74, 0x0a, 0x48, 0x89, 0xd8, 0x5b, 0xc3}),
              0x80);
    // numpy for 3.11, which loads the field again
    EXPECT_EQ(
        field_of({0x48, 0x8b, 0x47, 0x10, 0x48, 0x83, 0x00, 0x01, 0x48, 0x8b, 0x47, 0x10, 0xc3}),
        0x10);
    // lxml for 3.12 and 3.14, whose counts stop at immortal
    EXPECT_EQ(field_of({0x48,
                        0x8b,
                        0x57,
                        0x20,
                        0x8b,
                        0x02,
                        0x83,
                        0xc0,
                        0x01,
                        0x74,
                        0x02,
                        0x89,
                        0x02,
                        0x48,
                        0x89,
                        0xd0,
                        0xc3}),
              0x20);
    EXPECT_EQ(field_of({0x48, 0x8b, 0x57, 0x10, 0x8b, 0x02, 0x3d, 0xff, 0xff, 0xff, 0xbf,
                        0x77, 0x05, 0x83, 0xc0, 0x01, 0x89, 0x02, 0x48, 0x89, 0xd0, 0xc3}),
              0x10);
}

TEST(GetterFields, NamesNothingElse) {
    // A number: sub rsp, 0x18; mov rdi, [rdi + 0x18]; call ...
    EXPECT_EQ(field_of({0x48, 0x83, 0xec, 0x18, 0x48, 0x8b, 0x7f, 0x18, 0xe8}), 0);
    // A field of a field: mov rax, [rdi + 0x18]; mov rax, [rax + 0x20]; ret
    EXPECT_EQ(field_of({0x48, 0x8b, 0x47, 0x18, 0x48, 0x8b, 0x40, 0x20, 0xc3}), 0);
    // Two fields, of which the second is returned.
    EXPECT_EQ(field_of({0x48, 0x8b, 0x57, 0x18, 0x48, 0x8b, 0x47, 0x20, 0xc3}), 0);
    // The result is no field any more: mov rdx, [rdi + 0x20]; mov eax, [rdx]; ret
    EXPECT_EQ(field_of({0x48, 0x8b, 0x57, 0x20, 0x8b, 0x02, 0xc3}), 0);
    EXPECT_EQ(field_of({0xc3}), 0);
    EXPECT_EQ(cyclewatch_field_of_getter(nullptr), 0);
}

#endif

}  // namespace
}  // namespace cyclewatch::test
