// SPDX-License-Identifier: Apache-2.0
#include "watch/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace cyclewatch::watch {
namespace {

base::Error failure(const std::string& path, int error) {
    return {"cyclewatch could not write " + path + ": " + std::strerror(error) + "."};
}

bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

// Writes `bytes` to a fresh file beside `path`. Its name, or errno in `error`.
std::string write_beside(const std::string& path, std::string_view bytes, int& error) {
    std::string name = path + ".XXXXXX";
    const int file = ::mkostemp(name.data(), O_CLOEXEC);  // mode 0600, fails on a symbolic link
    if (file < 0) {
        error = errno;
        return {};
    }
    const bool written = write_all(file, bytes) && ::fsync(file) == 0;
    error = written ? 0 : errno;
    if (::close(file) != 0 && error == 0) {
        error = errno;
    }
    if (error != 0) {
        ::unlink(name.c_str());
    }
    return name;
}

}  // namespace

base::Result<Written> write_atomically(const std::string& path, std::string_view bytes) {
    int error = 0;
    const std::string temporary = write_beside(path, bytes, error);
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) {
        error = errno;
        ::unlink(temporary.c_str());
    }
    if (error != 0) {
        return failure(path, error);
    }
    return Written{path};
}

base::Result<Written> write_new(const std::string& path, std::string_view bytes) {
    int error = 0;
    const std::string temporary = write_beside(path, bytes, error);
    if (error == 0) {
        // link() instead of rename(): it refuses to replace what another process wrote.
        if (::link(temporary.c_str(), path.c_str()) != 0) {
            error = errno;
        }
        ::unlink(temporary.c_str());
    }
    if (error != 0) {
        return failure(path, error);
    }
    return Written{path};
}

}  // namespace cyclewatch::watch
