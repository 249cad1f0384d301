// SPDX-License-Identifier: Apache-2.0
// Typed indexes. Each set of numbered things has an index type of its own, a scoped enumeration
// over std::uint32_t, so that an index into one vector does not compile as an index into another.
// Typed indexes are as fast as plain ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace cyclewatch::base {

template <typename T>
concept Index = std::is_enum_v<T> && std::is_same_v<std::underlying_type_t<T>, std::uint32_t>;

template <Index I>
constexpr std::size_t index_of(I index) noexcept {
    return static_cast<std::size_t>(index);
}

template <Index I>
constexpr I next_index(I index) noexcept {
    return static_cast<I>(index_of(index) + 1);
}

template <Index I>
constexpr I previous_index(I index) noexcept {
    return static_cast<I>(index_of(index) - 1);
}

// The index of nothing. Converts to every index type.
struct NoIndex {
    template <Index I>
    constexpr operator I() const noexcept {
        return I{UINT32_MAX};
    }
    template <Index I>
    friend constexpr bool operator==(I index, NoIndex none) noexcept {
        return index == static_cast<I>(none);
    }
};
inline constexpr NoIndex kNone;

// The indexes from `first` up to, but not including, `last`.
template <Index I>
class IndexRange {
  public:
    class Iterator {
      public:
        using difference_type = std::ptrdiff_t;  // NOLINT(readability-identifier-naming)
        using value_type = I;                    // NOLINT(readability-identifier-naming)

        Iterator() = default;
        explicit Iterator(I index) : index_(index) {}
        I operator*() const { return index_; }
        Iterator& operator++() { return *this = Iterator(next_index(index_)); }
        Iterator& operator--() { return *this = Iterator(previous_index(index_)); }
        Iterator operator++(int) { return Iterator(std::exchange(index_, next_index(index_))); }
        Iterator operator--(int) { return Iterator(std::exchange(index_, previous_index(index_))); }
        bool operator==(const Iterator&) const = default;

      private:
        I index_{};
    };

    IndexRange(I first, I last) : first_(first), last_(last) {}
    // The indexes of a vector of `size` elements.
    explicit IndexRange(std::size_t size) : IndexRange(I{0}, static_cast<I>(size)) {}

    [[nodiscard]] Iterator begin() const { return Iterator(first_); }
    [[nodiscard]] Iterator end() const { return Iterator(last_); }
    [[nodiscard]] std::size_t size() const { return index_of(last_) - index_of(first_); }
    [[nodiscard]] bool empty() const { return first_ == last_; }
    // Removes the first index and returns it. REQUIRES: !empty().
    I pop_front() { return std::exchange(first_, next_index(first_)); }

  private:
    I first_;
    I last_;
};

// A range backwards. std::views::reverse of libstdc++ 12 does not compile with clang 14.
template <typename Range>
struct Reversed {
    [[nodiscard]] auto begin() const { return std::make_reverse_iterator(range.end()); }
    [[nodiscard]] auto end() const { return std::make_reverse_iterator(range.begin()); }

    Range range;
};
template <typename Range>
Reversed(Range&&) -> Reversed<Range>;  // refers to a range that has a name

// A std::vector with typed indexes.
template <Index I, typename T>
class IndexedVector : std::vector<T> {
    using Vector = std::vector<T>;

  public:
    using typename Vector::value_type;
    using Vector::assign, Vector::back, Vector::begin, Vector::empty, Vector::end, Vector::erase,
        Vector::front, Vector::push_back, Vector::reserve, Vector::resize, Vector::size,
        Vector::Vector;

    decltype(auto) operator[](I index) { return Vector::operator[](index_of(index)); }
    decltype(auto) operator[](I index) const { return Vector::operator[](index_of(index)); }

    [[nodiscard]] IndexRange<I> indexes() const { return IndexRange<I>(size()); }
    // The index that the next element gets.
    [[nodiscard]] I end_index() const { return static_cast<I>(size()); }
    // The index of an element that `begin() <= at < end()` refers to.
    [[nodiscard]] I index_at(typename Vector::const_iterator at) const {
        return static_cast<I>(at - begin());
    }
};

// A set of indexes.
template <Index I>
class IndexSet {
  public:
    IndexSet() = default;
    // Reserves memory for the indexes less than `size`.
    explicit IndexSet(std::size_t size) : marks_(size, 0) {}
    IndexSet(std::size_t size, std::span<const I> indexes) : IndexSet(size) { insert(indexes); }

    [[nodiscard]] bool contains(I index) const {
        return index_of(index) < marks_.size() && marks_[index] != 0;
    }
    // Returns false if the set already contains `index`.
    bool insert(I index) {
        if (index_of(index) >= marks_.size()) {
            marks_.resize(index_of(index) + 1);
        }
        const bool is_new = marks_[index] == 0;
        marks_[index] = 1;
        return is_new;
    }
    void insert(std::span<const I> indexes) {
        std::ranges::for_each(indexes, [this](I index) { insert(index); });
    }
    // REQUIRES: the set contains the indexes.
    void erase(std::span<const I> indexes) {
        std::ranges::for_each(indexes, [this](I index) { marks_[index] = 0; });
    }
    [[nodiscard]] bool empty() const { return std::ranges::find(marks_, 1) == marks_.end(); }

  private:
    IndexedVector<I, char> marks_;
};

}  // namespace cyclewatch::base
