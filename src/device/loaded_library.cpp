// SPDX-License-Identifier: Apache-2.0
#include "device/loaded_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace cyclewatch::device {

namespace {

struct LibrarySearch {
    std::string_view stem;
    std::vector<std::string> paths;
    bool out_of_memory = false;
};

bool has_stem(const char* path, std::string_view stem) noexcept {
    const char* const slash = std::strrchr(path, '/');
    const std::string_view file(slash == nullptr ? path : slash + 1);
    if (!file.starts_with(stem) || file.size() == stem.size()) {
        return false;
    }
    const char next = file[stem.size()];
    return (next == '.' || next == '-') && file.find(".so") != std::string_view::npos;
}

// Runs with the dynamic loader's lock held, so it must not load libraries or look up symbols.
int visit(dl_phdr_info* info, std::size_t, void* argument) noexcept {
    auto& search = *static_cast<LibrarySearch*>(argument);
    if (info->dlpi_name == nullptr || !has_stem(info->dlpi_name, search.stem)) {
        return 0;
    }
    try {
        search.paths.emplace_back(info->dlpi_name);
    } catch (...) {
        search.out_of_memory = true;  // an exception must not pass through C frames
        return 1;
    }
    return 0;
}

int read_count(dl_phdr_info* info, std::size_t size, void* argument) noexcept {
    if (size >= offsetof(dl_phdr_info, dlpi_adds) + sizeof(info->dlpi_adds)) {
        *static_cast<unsigned long long*>(argument) = info->dlpi_adds;
    }
    return 1;
}

}  // namespace

unsigned long long libraries_ever_loaded() noexcept {
    unsigned long long count = 0;
    dl_iterate_phdr(read_count, &count);
    return count;
}

LoadedLibrary::~LoadedLibrary() {
    if (handle_ != nullptr) {
        dlclose(handle_);
    }
}

LoadedLibrary::LoadedLibrary(LoadedLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

LoadedLibrary& LoadedLibrary::operator=(LoadedLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
}

std::vector<LoadedLibrary> LoadedLibrary::find_all(std::string_view stem) {
    LibrarySearch search{.stem = stem, .paths = {}};
    dl_iterate_phdr(visit, &search);
    if (search.out_of_memory) {
        throw std::bad_alloc();
    }
    std::vector<LoadedLibrary> found;
    found.reserve(search.paths.size());
    for (const std::string& path : search.paths) {
        if (void* const handle = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY)) {
            found.push_back(LoadedLibrary(handle));
        } else {
            dlerror();  // clear it, so that the program does not see our error
        }
    }
    return found;
}

LoadedLibrary LoadedLibrary::find(std::string_view stem) {
    std::vector<LoadedLibrary> found = find_all(stem);
    return found.empty() ? LoadedLibrary() : std::move(found.front());
}

bool LoadedLibrary::take_all(std::initializer_list<FunctionSlot> slots) const noexcept {
    bool complete = true;
    for (const FunctionSlot& slot : slots) {
        void* const address = symbol(slot.name());
        slot.set(address);
        complete = complete && address != nullptr;
    }
    return complete;
}

void* LoadedLibrary::symbol(const char* name) const noexcept {
    void* found = dlsym(handle_, name);
    if (found == nullptr) {
        dlerror();
    }
    return found;
}

}  // namespace cyclewatch::device
