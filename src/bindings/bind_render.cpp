// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/source_path.h"
#include "base/text.h"
#include "bindings/bind.h"
#include "model/finding.h"
#include "model/report.h"
#include "render/graph/picture_layout.h"
#include "render/renderer.h"
#include "render/summary.h"
#include "render/svg/svg_renderer.h"
#include "watch/atomic_file.h"

namespace py = pybind11;

namespace cyclewatch::bindings {
namespace {

// Renders with the GIL released, because rendering may take a long time. This is safe, because a
// report never changes once Python can access it.
std::string rendered(const model::Report& report, render::Format format) {
    const py::gil_scoped_release unlocked;
    return render::render(report, format);
}

// Encodes a path (a str, bytes or os.PathLike object) in the file system encoding.
std::string file_system_path(const py::handle& path) {
    PyObject* encoded = nullptr;
    if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) {
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::bytes>(encoded);
}

void write_or_raise(const py::object& path,
                    std::string_view contents,
                    watch::Existing existing,
                    watch::Readers readers) {
    const std::string file = file_system_path(path);
    const std::error_code error = [&] {
        const py::gil_scoped_release unlocked;
        return watch::write_file(file, contents, existing, readers);
    }();
    if (error) {
        errno = error.value();
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path.ptr());
        throw py::error_already_set();
    }
}

// Encodes lone surrogates, too; clean_text() replaces them later.
std::string utf8(const py::str& text) {
    // Does not use text.attr("encode"), which adds a string to the type's method cache on each
    // call.
    PyObject* const encoded = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass");
    if (encoded == nullptr) {
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::bytes>(encoded);
}

// The report in the format given by the suffix of `file`.
std::string rendered_for(const std::shared_ptr<model::Report>& report, const std::string& file) {
    if (std::string_view(file).ends_with(".trace.json")) {
        const py::object module = py::module_::import("cyclewatch.export.chrome_trace");
        return module.attr("trace_json")(report).cast<std::string>();
    }
    const std::optional<render::Format> format = render::format_from_path(file);
    if (!format) {
        throw py::value_error(
            "unknown report format of '" + file +
            "'; use the suffix .txt, .json, .dot, .gv, .svg, .html, .htm or .trace.json");
    }
    return rendered(*report, *format);
}

void save(const std::shared_ptr<model::Report>& report, const py::object& path) {
    const std::string contents = rendered_for(report, file_system_path(path));
    // The user asked for this file, so the umask determines its mode.
    write_or_raise(path, contents, watch::Existing::replace_or_write_into, watch::Readers::umask);
}

void save_privately(const std::shared_ptr<model::Report>& report, const py::object& path) {
    const std::string contents = rendered_for(report, file_system_path(path));
    write_or_raise(path, contents, watch::Existing::keep, watch::Readers::owner);
}

[[noreturn]] void raise_report_format_error(const std::string& message) {
    const py::object error_class =
        py::module_::import("cyclewatch.errors").attr("ReportFormatError");
    // The file name is not necessarily valid UTF-8.
    const auto text = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
    if (text) {
        PyErr_SetObject(error_class.ptr(), text.ptr());
    }
    throw py::error_already_set();
}

std::shared_ptr<model::Report> parsed(std::string_view contents, const std::string& name) {
    base::Result<model::Report> report = [&] {
        const py::gil_scoped_release unlocked;
        return render::load_report(contents);
    }();
    if (!report.ok()) {
        raise_report_format_error(name + ": " + report.error());
    }
    return std::make_shared<model::Report>(std::move(report).value());
}

// Larger than any report. Limits how much is read from an endless device such as /dev/zero.
constexpr std::size_t kMaxFileSize = std::size_t{256} << 20U;
constexpr std::size_t kChunkSize = std::size_t{1} << 20U;

std::shared_ptr<model::Report> load(const py::object& path) {
    const std::string name = file_system_path(path);  // rejects integers, which open() accepts
    // Uses Python's open(), which raises the exceptions that callers expect.
    const py::object file = py::module_::import("io").attr("open")(path, "rb");
    // Reads in chunks, because read(size) allocates `size` bytes even if the file is smaller.
    std::string contents;
    while (contents.size() <= kMaxFileSize) {
        const py::bytes chunk = file.attr("read")(kChunkSize);
        if (py::len(chunk) == 0) {
            break;
        }
        contents += std::string_view(chunk);
    }
    file.attr("close")();
    if (contents.size() > kMaxFileSize) {
        raise_report_format_error(name + ": not a cyclewatch report: larger than 256 MiB");
    }
    return parsed(contents, name);
}

void bind_renderers(ReportClass& report_class) {
    static_assert(render::kUsualWidth == 100, "update the docstrings of to_text()");
    using render::Format;
    const auto add = [&](const char* name, Format format, const char* doc) {
        report_class.def(
            name, [format](const model::Report& self) { return rendered(self, format); }, doc);
    };
    report_class.def(
        "to_text",
        [](const model::Report& self, std::size_t width) {
            return render::render_text(self, width);
        },
        py::arg("width") = render::kUsualWidth,
        "Render the cards of all findings as plain text.\n\n"
        "Args:\n"
        "    width: Maximum line length in columns.\n\n"
        "Examples:\n"
        "    >>> print(report.to_text())\n"
        "    1 reference cycle kept 4.0 KiB of cpu memory alive for up to ...");
    add("to_json",
        Format::json,
        "Render the report as JSON (docs/formats/report_json.md).\n\n"
        "Examples:\n"
        "    >>> import json\n"
        "    >>> document = json.loads(report.to_json())\n"
        "    >>> document['findings'][0]['retained_bytes']\n"
        "    4096");
    add("to_dot",
        Format::dot,
        "Render the cycles in the DOT language of Graphviz.\n\n"
        "Examples:\n"
        "    >>> print(report.to_dot())\n"
        "    digraph ...");
    add("to_svg",
        Format::svg,
        "Render the cycles as an SVG image.\n\n"
        "Examples:\n"
        "    >>> print(report.to_svg())\n"
        "    <?xml ...<svg ...");
    add("to_html",
        Format::html,
        "Render the report as one self-contained HTML page.\n\n"
        "Examples:\n"
        "    >>> print(report.to_html())\n"
        "    <!doctype html>...");
}

void bind_saving(ReportClass& report_class) {
    report_class.def("save",
                     &save,
                     py::arg("path"),
                     "Write the report to a file, in the format given by its suffix.\n\n"
                     "An existing file is replaced atomically.\n\n"
                     "Args:\n"
                     "    path: A path ending in .txt, .json, .dot, .gv, .svg, .html or .htm. "
                     "'.trace.json' writes a trace for Perfetto, with a slice for each "
                     "collection.\n\n"
                     "Raises:\n"
                     "    ValueError: The path has another suffix.\n"
                     "    OSError: The file cannot be written.\n\n"
                     "Examples:\n"
                     "    >>> report.save('report.html')");
    report_class.def_static(
        "load",
        &load,
        py::arg("path"),
        "Read a report from a .json file, or from the JSON embedded in an .html report.\n\n"
        "Raises:\n"
        "    ReportFormatError: The file is not a valid report; the message gives the position of "
        "the error.\n"
        "    OSError: The file cannot be read.\n\n"
        "Examples:\n"
        "    >>> report.save('report.html')\n"
        "    >>> cyclewatch.Report.load('report.html')\n"
        "    <Report of 'train': 1 findings, 4.0 KiB>");
}

// An object and a reference of draw_graph().
using DrawnItem = std::tuple<std::string, std::string, bool, bool>;
using DrawnArrow = std::tuple<std::uint32_t, std::uint32_t, std::string, bool>;

std::string draw_graph(const std::vector<DrawnItem>& items,
                       const std::vector<DrawnArrow>& arrows,
                       std::uint64_t omitted) {
    model::Picture picture;
    for (const auto& [text, detail, on_cycle, owner] : items) {
        picture.items.push_back(
            {.text = text, .detail = detail, .on_cycle = on_cycle, .owner = owner, .bytes = 0});
    }
    for (const auto& [from, to, label, on_cycle] : arrows) {
        if (std::max(from, to) >= items.size()) {
            throw py::index_error("an arrow refers to an object that is not in the list");
        }
        picture.arrows.push_back(
            {.from = from, .to = to, .label = label, .on_cycle = on_cycle, .cut = false});
    }
    picture.omitted_items = omitted;
    std::string svg = render::render_svg(picture, "Objects and the references between them.");
    return svg.substr(svg.find("<svg"));  // without the XML declaration
}

}  // namespace

void bind_render(py::module_& module, ReportClass& report_class) {
    bind_renderers(report_class);
    bind_saving(report_class);
    module.def(
        "load_report",
        [](const py::bytes& contents, const std::string& name) { return parsed(contents, name); },
        py::arg("contents"),
        py::arg("name"),
        "Like Report.load(), but from bytes. Error messages begin with `name`.");
    module.def("draw_graph",
               &draw_graph,
               py::arg("items"),
               py::arg("arrows"),
               py::arg("omitted"),
               "An <svg> element. `items`: (text, detail, on the cycle, owns memory) of each "
               "object. `arrows`: (from, to, label, on the cycle) of each reference.");
    module.def(
        "write_file",
        [](const py::object& path, const py::bytes& contents, bool replace, bool owner_only) {
            write_or_raise(path,
                           std::string_view(contents),
                           replace ? watch::Existing::replace_or_write_into : watch::Existing::keep,
                           owner_only ? watch::Readers::owner : watch::Readers::umask);
        },
        py::arg("path"),
        py::arg("contents"),
        py::kw_only(),
        py::arg("replace"),
        py::arg("owner_only") = false,
        "Write a file atomically: readers see the old or the new contents.\n\n"
        "Writes directly to a terminal, pipe or other device. A symbolic link to a regular file is "
        "replaced, not followed. The umask determines the mode of the file; with `owner_only`, "
        "only the owner can read it.\n\n"
        "Raises:\n"
        "    FileExistsError: The path exists and `replace` is false.\n"
        "    OSError: The file cannot be written.");
    module.def("save_privately",
               &save_privately,
               py::arg("report"),
               py::arg("path"),
               "Like Report.save(), for a file that the user did not ask for: only the owner can "
               "read it.\n\n"
               "Raises:\n"
               "    FileExistsError: The path exists.");
    module.def(
        "is_user_code",
        [](const py::str& path) { return base::origin_of_path(utf8(path)) == base::Origin::user; },
        py::arg("path"));
    module.def(
        "clean_text",
        [](const py::str& text) { return base::clean_text(utf8(text)); },
        py::arg("text"),
        "Return `text` as one line without control characters.");
    module.def("format_bytes", &base::format_bytes, py::arg("count"), "1536 -> '1.5 KiB'.");
    module.def(
        "similar_paths",
        [](const py::str& path, std::uint64_t count) {
            return render::similar_paths(utf8(path), count);
        },
        py::arg("path"),
        py::arg("count"),
        "' (one of 4 such paths)' if the path of `count` owners stands for several, or ''.");
    module.def("graphviz_sessions", &render::graphviz_sessions);
    module.def("format_names", &render::format_names, "The report formats.");
}

}  // namespace cyclewatch::bindings
