// SPDX-License-Identifier: Apache-2.0
// Shared libraries that the process has loaded already. Never loads one.
#pragma once

#include <string>
#include <string_view>

namespace cyclewatch::device {

// How many libraries the process has ever loaded: changes whenever one more was.
[[nodiscard]] unsigned long long libraries_ever_loaded() noexcept;

// A hold on a library that was already there: while it lives, the library is not unloaded, so
// that functions taken from it stay callable.
class LoadedLibrary {
  public:
    LoadedLibrary() noexcept = default;
    ~LoadedLibrary();
    LoadedLibrary(LoadedLibrary&& other) noexcept;
    LoadedLibrary& operator=(LoadedLibrary&& other) noexcept;
    LoadedLibrary(const LoadedLibrary&) = delete;
    LoadedLibrary& operator=(const LoadedLibrary&) = delete;

    // The first library, in the order of loading, whose file is called `stem` followed by '.' or
    // '-', as in libcudart.so.13 and libcudart-9335f6a2.so.12. An empty hold if there is none.
    // May throw std::bad_alloc.
    static LoadedLibrary find(std::string_view stem);

    // The library of that file, if the process has loaded it.
    static LoadedLibrary at(const std::string& path) noexcept;

    explicit operator bool() const noexcept { return handle_ != nullptr; }

    // Makes `function` point to the library's function of that name. False, and null, if it has
    // none.
    template <typename Function>
    [[nodiscard]] bool take(Function*& function, const char* name) const noexcept {
        function = reinterpret_cast<Function*>(symbol(name));
        return function != nullptr;
    }

  private:
    explicit LoadedLibrary(void* handle) noexcept : handle_(handle) {}
    [[nodiscard]] void* symbol(const char* name) const noexcept;

    void* handle_ = nullptr;
};

}  // namespace cyclewatch::device
