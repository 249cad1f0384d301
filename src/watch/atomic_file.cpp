// SPDX-License-Identifier: Apache-2.0
#include "watch/atomic_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>

namespace cyclewatch::watch {
namespace {

std::error_code last_error() {
    return {errno, std::generic_category()};
}

std::error_code write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return last_error();
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

// Sets `name` to an unpredictable name of fixed length in the directory of `path`.
std::error_code temporary_name(const std::string& path, std::string& name) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) {
        return last_error();
    }
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
    name = path.substr(0, path.find_last_of('/') + 1) + ".cyclewatch-";
    name.append(digits.data(), end.ptr);
    return {};
}

// Writes a new file and stores its name in `name`. Removes the file on failure.
std::error_code write_temporary(const std::string& path,
                                std::string_view bytes,
                                Readers readers,
                                std::string& name) {
    if (const std::error_code error = temporary_name(path, name)) {
        return error;
    }
    // With O_EXCL, open() fails if the name exists, even if it is a dangling link.
    const mode_t mode = readers == Readers::owner ? 0600 : 0666;
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0) {
        return last_error();
    }
    std::error_code error = write_all(file, bytes);
    if (!error && ::fsync(file) != 0) {
        error = last_error();
    }
    if (::close(file) != 0 && !error) {
        error = last_error();
    }
    if (error) {
        ::unlink(name.c_str());
    }
    return error;
}

std::error_code move_over(const std::string& from, const std::string& path) {
    return std::rename(from.c_str(), path.c_str()) == 0 ? std::error_code() : last_error();
}

// Fails if `path` exists. Tries both link() and renameat2(), because FAT does not support hard
// links and NFS does not support RENAME_NOREPLACE.
std::error_code move_to_free(const std::string& from, const std::string& path) {
    if (::link(from.c_str(), path.c_str()) == 0) {
        ::unlink(from.c_str());
        return {};
    }
    const std::error_code error = last_error();
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
        return {};
    }
    return errno == EEXIST ? last_error() : error;
}

bool is_special_file(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
           !S_ISDIR(status.st_mode);
}

std::error_code write_into(const std::string& path, std::string_view bytes) {
    const int file = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (file < 0) {
        return last_error();
    }
    struct stat status {};
    std::error_code error;
    // The special file may have been replaced with a regular file, which must not be changed.
    if (::fstat(file, &status) != 0 || S_ISREG(status.st_mode)) {
        error = std::make_error_code(std::errc::file_exists);
    } else {
        error = write_all(file, bytes);
    }
    ::close(file);
    return error;
}

}  // namespace

std::error_code write_file(const std::string& path,
                           std::string_view bytes,
                           Existing existing,
                           Readers readers) {
    if (existing == Existing::replace_or_write_into && is_special_file(path)) {
        return write_into(path, bytes);
    }
    std::string temporary;
    if (const std::error_code error = write_temporary(path, bytes, readers, temporary)) {
        return error;
    }
    const std::error_code error =
        existing == Existing::keep ? move_to_free(temporary, path) : move_over(temporary, path);
    if (error) {
        ::unlink(temporary.c_str());
    }
    return error;
}

}  // namespace cyclewatch::watch
