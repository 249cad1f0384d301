// SPDX-License-Identifier: Apache-2.0
// The configuration of the static Graphviz (graphviz_static.cmake).
#pragma once

#define HAVE_CBRT 1
#define HAVE_DRAND48 1
#define HAVE_SETENV 1
#define HAVE_STRCASECMP 1
#define HAVE_STRINGS_H 1
#define HAVE_STRNCASECMP 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_UNISTD_H 1
#define HAVE_VSNPRINTF 1

#define PACKAGE_VERSION "2.42.2"
#define VERSION "2.42.2"
#define GVPLUGIN_VERSION 6
#define GVPLUGIN_CONFIG_FILE "config6"
#define GVLIBDIR ""
#define DEFAULT_DPI 96
