// SPDX-License-Identifier: Apache-2.0
#include "render/html/html_data.h"

#include <zlib.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "format/direct_reader.h"
#include "format/json.h"
#include "render/html/page_texts.h"
#include "render/renderer.h"

namespace cyclewatch::render {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int kGzip = 16 + MAX_WBITS;
constexpr int kMemoryLevel = 8;
constexpr std::size_t kChunk = std::size_t{64} * 1024;

void set_input(z_stream& stream, std::string_view input) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));  // read only
    stream.avail_in = static_cast<uInt>(input.size());
}

std::string to_base64(std::string_view bytes) {
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            const bool there = at + i < bytes.size();
            group = group << 8U | (there ? static_cast<unsigned char>(bytes[at + i]) : 0U);
        }
        const std::size_t digits = std::min<std::size_t>(bytes.size() - at, 3) + 1;
        for (std::size_t i = 0; i < 4; ++i) {
            out += i < digits ? kDigits[group >> (18 - 6 * i) & 63U] : '=';
        }
    }
    return out;
}

std::optional<std::string> from_base64(std::string_view text) {
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < kDigits.size(); ++i) {
        values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
    }
    while (text.ends_with('=')) {
        text.remove_suffix(1);
    }
    std::string out;
    out.reserve(text.size() / 4 * 3 + 2);
    std::uint32_t group = 0;
    unsigned bits = 0;
    for (const char c : text) {
        const std::int8_t value = values[static_cast<unsigned char>(c)];
        if (value < 0) {
            return std::nullopt;
        }
        group = group << 6U | static_cast<std::uint32_t>(value);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out += static_cast<char>(group >> bits & 0xFFU);
        }
    }
    return out;
}

constexpr std::string_view kPlainStart =
    R"(<script type="application/json" id="cyclewatch-report">)";
constexpr std::string_view kPackedStart =
    R"(<script type="application/json" id="cyclewatch-report" data-packed="gzip-base64">)";
constexpr std::string_view kEnd = "</script>";

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlank = " \t\r\n";

// Skips a leading byte order mark and leading white space.
std::size_t content_start(std::string_view contents) {
    const std::size_t mark = contents.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    return std::min(contents.find_first_not_of(kBlank, mark), contents.size());
}

}  // namespace

std::string pack(std::string_view text) {
    z_stream stream{};
    if (deflateInit2(
            &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return {};
    }
    std::string packed(deflateBound(&stream, text.size()), '\0');
    set_input(stream, text);
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return to_base64(packed);
}

base::Result<std::string> unpack(std::string_view packed, std::size_t most) {
    const auto bytes = from_base64(packed);
    z_stream stream{};
    if (!bytes || inflateInit2(&stream, kGzip) != Z_OK) {
        return base::Error{"the packed report is not valid base64"};
    }
    set_input(stream, *bytes);
    std::string text;
    std::array<char, kChunk> chunk{};
    int status = Z_OK;
    while (status == Z_OK && text.size() <= most) {
        stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
        stream.avail_out = chunk.size();
        status = inflate(&stream, Z_NO_FLUSH);
        text.append(chunk.data(), chunk.size() - stream.avail_out);
    }
    inflateEnd(&stream);
    if (text.size() > most) {
        return base::Error{"the packed report decompresses to more than " + std::to_string(most) +
                           " bytes"};
    }
    if (status != Z_STREAM_END) {
        return base::Error{"the packed report is damaged or truncated"};
    }
    return text;
}

std::string report_element(const model::Report& report) {
    const std::string to_pack = format::write_json_to_pack(report);
    std::string json;
    if (to_pack.size() <= kLongestPlainJson) {
        json = format::script_safe(format::write_json(report, -1));
    }
    const bool packed = json.empty() || json.size() > kLongestPlainJson;
    std::string out(packed ? kPackedStart : kPlainStart);
    return out.append(packed ? pack(to_pack) : json).append(kEnd).append("\n");
}

std::string texts_element(const model::Report& report) {
    const std::string json = page_texts(report);
    const bool packed = json.size() > kLongestPlainJson;
    std::string out = R"(<script type="application/json" id="cyclewatch-texts")";
    out.append(packed ? R"( data-packed="gzip-base64">)" : ">");
    return out.append(packed ? pack(json) : format::script_safe(json)).append(kEnd).append("\n");
}

base::Result<std::string> find_embedded_report(std::string_view page) {
    const std::size_t packed_tag = page.find(kPackedStart);
    const bool packed = packed_tag != std::string_view::npos;
    const std::size_t tag = packed ? packed_tag : page.find(kPlainStart);
    if (tag == std::string_view::npos) {
        return base::Error{
            "not a cyclewatch report: the page has no <script type=\"application/json\" "
            "id=\"cyclewatch-report\">"};
    }
    const std::size_t start = tag + (packed ? kPackedStart : kPlainStart).size();
    const std::size_t end = page.find(kEnd, start);
    if (end == std::string_view::npos) {
        return base::Error{"the page ends at byte " + std::to_string(page.size()) +
                           ", inside the report that starts at byte " + std::to_string(start) +
                           ": it was truncated"};
    }
    const std::string_view contents = page.substr(start, end - start);
    return packed ? unpack(contents, kLongestUnpackedJson) : std::string(contents);
}

base::Result<model::Report> load_report(std::string_view contents) {
    const std::size_t start = content_start(contents);
    if (start == contents.size()) {
        return base::Error{"the file is empty"};
    }
    if (contents[start] != '<') {
        return format::read_json_report(contents);
    }
    const auto embedded = find_embedded_report(contents);
    if (!embedded) {
        return base::Error{embedded.error()};
    }
    return format::read_json_report(embedded.value());
}

std::optional<std::vector<model::ProgramInfo>> load_processes(std::string_view start) {
    return format::read_processes(start);
}

}  // namespace cyclewatch::render
