// SPDX-License-Identifier: Apache-2.0
// A value or an error, for code that must not throw. Stands in for C++23's std::expected.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace cyclewatch::base {

struct Error {
    std::string message;  // one sentence: what is wrong and how to fix it
};

template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
    Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool ok() const noexcept { return std::holds_alternative<T>(state_); }
    explicit operator bool() const noexcept { return ok(); }

    // REQUIRES: ok()
    T& value() & { return std::get<T>(state_); }
    const T& value() const& { return std::get<T>(state_); }
    T&& value() && { return std::get<T>(std::move(state_)); }
    // REQUIRES: !ok()
    [[nodiscard]] const std::string& error() const { return std::get<Error>(state_).message; }

  private:
    std::variant<T, Error> state_;
};

}  // namespace cyclewatch::base
