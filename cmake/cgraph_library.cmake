# SPDX-License-Identifier: Apache-2.0
# Graphviz's cgraph, with which the tests parse the DOT that we write.
include_guard()

find_package(PkgConfig REQUIRED)
pkg_check_modules(cgraph REQUIRED IMPORTED_TARGET libcgraph)
add_library(cyclewatch_cgraph ALIAS PkgConfig::cgraph)
