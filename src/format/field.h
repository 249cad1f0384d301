// SPDX-License-Identifier: Apache-2.0
// How one field of a report is declared. report_fields.h lists the fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace cyclewatch::format {

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
struct WithoutOptionalOf {
    using Type = T;
};
template <typename T>
struct WithoutOptionalOf<std::optional<T>> {
    using Type = T;
};
template <typename T>
using WithoutOptional = typename WithoutOptionalOf<T>::Type;

// The two types in the type of a pointer to a member.
template <typename T>
struct MemberPointer;
template <typename C, typename T>
struct MemberPointer<T C::*> {
    using Class = C;
    using Value = T;
};
template <auto kMember>
using ClassOf = typename MemberPointer<std::remove_cv_t<decltype(kMember)>>::Class;
template <auto kMember>
using ValueOf = typename MemberPointer<std::remove_cv_t<decltype(kMember)>>::Value;

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

// The value of FieldOptions::python for a field without an attribute of its own in Python.
inline constexpr std::string_view kNotInPython = "-";

struct FieldOptions {
    // When the value is not known, as a clause: "if there was none". Python then shows None.
    // nullptr if the value is always known, or if the text of the field says what stands for an
    // unknown one. A missing optional then has its default value in Python.
    const char* unknown = nullptr;
    // How the file stores an unknown number. An unknown text is "". An unknown optional is missing.
    std::int64_t none = 0;
    std::string_view python{};  // the name in Python, if it is another one
};

// kMember: pointer to the member of the struct in src/model.
template <auto kMember>
struct Field {
    static constexpr auto member = kMember;

    const char* name;  // of the member, and in the file
    // What the value is, in a form that is right for the file and for Python. Ends with a full stop
    // only if it has several sentences.
    const char* text;
    FieldOptions options{};
};

// CYCLEWATCH_FIELD(member, text) or CYCLEWATCH_FIELD(member, text, options) declares a field of
// Self.
#define CYCLEWATCH_FIELD(member, ...)            \
    ::cyclewatch::format::Field<&Self::member> { \
#member, __VA_ARGS__                     \
    }

// Specialized for each struct of a report: `name` is the struct's name in Python, `text` describes
// it in one sentence, and `list` is a tuple of Field, in file order.
template <typename T>
struct Fields;

template <typename T>
concept HasFields = requires {
    Fields<std::remove_const_t<T>>::list;
};

// Calls visit(field, object.<member>) for each field, in file order.
template <typename T>
requires HasFields<T>
void visit_fields(auto&& visit, T& object) {
    std::apply([&](const auto&... field) { (visit(field, object.*field.member), ...); },
               Fields<std::remove_const_t<T>>::list);
}

// "<text>; <word> <unknown>.", or "<text> <Word> <unknown>." after several sentences. `word` is
// what stands for an unknown value: "None", "-1".
[[nodiscard]] inline std::string describe(std::string_view text,
                                          std::string_view word,
                                          const char* unknown) {
    std::string sentence(text);
    const bool several = text.ends_with('.');
    if (unknown == nullptr) {
        return several ? sentence : sentence + ".";
    }
    std::string start(word);
    if (several && start.front() >= 'a' && start.front() <= 'z') {
        start.front() = static_cast<char>(start.front() - 'a' + 'A');
    }
    return sentence + (several ? " " : "; ") + start + " " + unknown + ".";
}

}  // namespace cyclewatch::format
