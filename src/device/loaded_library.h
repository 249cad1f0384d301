// SPDX-License-Identifier: Apache-2.0
// Finds shared libraries that the process has already loaded. Does not load any.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

namespace cyclewatch::device {

// The dynamic loader's count of libraries loaded since the process started. It never decreases.
[[nodiscard]] unsigned long long libraries_ever_loaded() noexcept;

// The name of a function of a library, and a variable for its address.
class FunctionSlot {
  public:
    template <typename Function>
    FunctionSlot(const char* name, Function*& function) noexcept
        : name_(name), variable_(&function), set_([](void* variable, void* address) noexcept {
              *static_cast<Function**>(variable) = reinterpret_cast<Function*>(address);
          }) {}

    [[nodiscard]] const char* name() const noexcept { return name_; }
    void set(void* address) const noexcept { set_(variable_, address); }

  private:
    const char* name_;
    void* variable_;
    void (*set_)(void* variable, void* address) noexcept;
};

// A handle to a loaded library. The library stays loaded, and its functions callable, for the
// lifetime of the handle.
class LoadedLibrary {
  public:
    LoadedLibrary() noexcept = default;
    ~LoadedLibrary();
    LoadedLibrary(LoadedLibrary&& other) noexcept;
    LoadedLibrary& operator=(LoadedLibrary&& other) noexcept;
    LoadedLibrary(const LoadedLibrary&) = delete;
    LoadedLibrary& operator=(const LoadedLibrary&) = delete;

    // The libraries, in load order, whose file name is `stem` followed by '.' or '-', such as
    // libcudart.so.13 or libcudart-9335f6a2.so.12 for the stem "libcudart". May throw
    // std::bad_alloc.
    static std::vector<LoadedLibrary> find_all(std::string_view stem);
    // The first of them. Empty if there is none.
    static LoadedLibrary find(std::string_view stem);

    explicit operator bool() const noexcept { return handle_ != nullptr; }

    // Sets `function` to the function `name` of the library or of the libraries that it depends on.
    // Returns false and sets `function` to null if there is no such function.
    template <typename Function>
    [[nodiscard]] bool take(Function*& function, const char* name) const noexcept {
        function = reinterpret_cast<Function*>(symbol(name));
        return function != nullptr;
    }

    // Does the same for each slot. Returns false if a function is missing.
    bool take_all(std::initializer_list<FunctionSlot> slots) const noexcept;

  private:
    explicit LoadedLibrary(void* handle) noexcept : handle_(handle) {}
    [[nodiscard]] void* symbol(const char* name) const noexcept;

    void* handle_ = nullptr;
};

}  // namespace cyclewatch::device
