// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/byte_size.h"
#include "base/result.h"
#include "bindings/bind.h"
#include "model/report.h"
#include "render/labels.h"
#include "render/renderer.h"
#include "watch/atomic_file.h"

namespace py = pybind11;

namespace cyclewatch::bindings {
namespace {

// A long report takes its time: other threads run meanwhile. A report never changes once Python
// has seen it, so nothing is locked.
std::string rendered(const model::Report& report, render::Format format) {
    const py::gil_scoped_release unlocked;
    return render::render(report, format);
}

// The path of a str, bytes or os.PathLike, as the file system spells it.
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

// As UTF-8; what is none (a lone surrogate) is passed on for clean_text() to replace.
std::string utf8(const py::str& text) {
    // Not text.attr("encode"): each call of that leaves a new name in the cache of methods.
    PyObject* const encoded = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass");
    if (encoded == nullptr) {
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::bytes>(encoded);
}

void save(const model::Report& report, const py::object& path) {
    const std::string file = file_system_path(path);
    const std::optional<render::Format> format = render::format_from_path(file);
    if (!format) {
        throw py::value_error("cannot tell the report's format from '" + file +
                              "'; name it .txt, .json, .dot, .gv, .svg, .html or .htm");
    }
    const std::string contents = rendered(report, *format);
    // Somebody said so: the umask alone says who may read it.
    write_or_raise(path, contents, watch::Existing::replace_or_write_into, watch::Readers::umask);
}

[[noreturn]] void raise_report_format_error(const std::string& message) {
    const py::object error_class =
        py::module_::import("cyclewatch.errors").attr("ReportFormatError");
    // The name of the file need not be valid text.
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

// No report is as long; an endless device is.
constexpr std::size_t kLongestFile = std::size_t{256} << 20U;
constexpr std::size_t kPiece = std::size_t{8} << 20U;

std::shared_ptr<model::Report> load(const py::object& path) {
    const std::string name = file_system_path(path);  // no number: open() would take a descriptor
    // Python's own open(): the errors a caller expects, each with the path.
    const py::object file = py::module_::import("io").attr("open")(path, "rb");
    std::string contents;
    for (py::bytes piece = file.attr("read")(kPiece); py::len(piece) > 0;
         piece = file.attr("read")(kPiece)) {
        contents += std::string_view(piece);
        if (contents.size() > kLongestFile) {
            file.attr("close")();
            raise_report_format_error(name +
                                      ": not a cyclewatch report: it is longer than 256 MiB");
        }
    }
    file.attr("close")();
    return parsed(contents, name);
}

}  // namespace

void bind_render(py::module_& module, ReportClass& report_class) {
    static_assert(render::kUsualWidth == 100, "the docstrings say so, here and of findings");
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
        "The cards of all findings, for a terminal of `width` columns.");
    add("to_json", Format::json, "The machine format; docs/formats/report_json.md describes it.");
    add("to_dot", Format::dot, "The cycles in Graphviz's language.");
    add("to_svg", Format::svg, "The cycles as a picture.");
    add("to_html", Format::html, "One self-contained page.");
    report_class.def("save",
                     &save,
                     py::arg("path"),
                     "Writes the report in the format that the suffix of `path` says: .txt, "
                     ".json, .dot, .svg or .html. An existing file is replaced in one step. "
                     "ValueError for another suffix, OSError if it cannot be written.");
    report_class.def_static(
        "load",
        &load,
        py::arg("path"),
        "Reads a report from a .json file, or the JSON inside an .html report. "
        "ReportFormatError says what is wrong with the file and where; OSError if it "
        "cannot be read.");
    module.def(
        "load_report",
        [](const py::bytes& contents, const std::string& name) {
            return parsed(std::string_view(contents), name);
        },
        py::arg("contents"),
        py::arg("name"),
        "Like Report.load() for bytes at hand; `name` stands in the message.");
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
        "Writes the file in one step: a reader sees the old one or the new one, never half. "
        "FileExistsError if something stands there and `replace` is false; any other OSError if "
        "it cannot be written. A symbolic link is replaced, not followed. Who may read it is for "
        "the umask to say, or nobody but its owner where `owner_only` is true.");
    module.def(
        "clean_text",
        [](const py::str& text) { return render::clean_text(utf8(text)); },
        py::arg("text"),
        "One line that no terminal takes for an instruction.");
    module.def("format_bytes", &base::format_bytes, py::arg("count"));
    module.def("format_names", &render::format_names, "The formats of reports.");
}

}  // namespace cyclewatch::bindings
