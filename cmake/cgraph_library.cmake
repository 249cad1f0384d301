# SPDX-License-Identifier: Apache-2.0
# Graphviz's cgraph, which writes DOT. Layout engines and plugins are not used.
include_guard()

find_package(PkgConfig REQUIRED)
pkg_check_modules(cgraph REQUIRED IMPORTED_TARGET libcgraph)
add_library(cyclewatch_cgraph ALIAS PkgConfig::cgraph)
