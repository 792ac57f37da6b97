// SPDX-License-Identifier: MIT
/// A minimal generator: a coroutine that yields a stream of values, one at a time, on demand.
///
/// An algorithm yields the ops of its plan through this type, and whoever consumes the stream
/// decides whether to store, simulate or print it. There is one producer and one consumer, no
/// buffering and no allocation per item; an item costs one coroutine switch (a few ns).
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>

namespace ringside {

/// A single-pass stream of `const T&`, produced lazily by the coroutine that returned it.
///
///     Generator<int> count(int n) {
///       for (int i = 0; i < n; ++i) co_yield i;
///     }
///     for (int i : count(3)) ...                      // or: while (const int* i = stream.next())
///
/// The coroutine runs only inside `next()`, `begin()` and `++`. The item handed out is the
/// producer's own (the temporary of its `co_yield`): it is valid until the next item is pulled or
/// the generator dies, so `T` may be a small view into the producer's locals. An exception that
/// leaves the coroutine is rethrown, once, by the pull that met it; the stream is then at its end.
///
/// Like any coroutine, the producer keeps copies of by-value parameters, but only references to
/// what it took by reference: such arguments must outlive the generator. To yield another stream's
/// items, loop over it: `for (const auto& x : inner) co_yield x;`.
template <class T>
class [[nodiscard]] Generator {
 public:
  class promise_type;
  class iterator;
  using value_type = T;

  Generator(Generator&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  Generator& operator=(Generator&& other) noexcept {
    Generator(std::move(other)).swap(*this);
    return *this;
  }
  ~Generator() {
    if (frame_) frame_.destroy();
  }

  void swap(Generator& other) noexcept { std::swap(frame_, other.frame_); }

  /// Runs the producer to its next item; nullptr at the end (and ever after, also when moved from).
  const T* next() {
    if (!frame_ || frame_.done()) return nullptr;
    frame_.resume();
    if (!frame_.done()) [[likely]]
      return frame_.promise().item_;
    if (auto error = std::exchange(frame_.promise().error_, nullptr)) std::rethrow_exception(error);
    return nullptr;
  }

  /// Pulls the first (or, on a stream already begun, the next) item.
  iterator begin() { return iterator(*this); }
  /// Where `next()` would return null.
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  explicit Generator(std::coroutine_handle<promise_type> frame) : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

/// The coroutine's side of a `Generator`; used by the compiler only.
template <class T>
class Generator<T>::promise_type {
 public:
  Generator get_return_object() {
    return Generator(std::coroutine_handle<promise_type>::from_promise(*this));
  }
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] std::suspend_always final_suspend() const noexcept { return {}; }
  std::suspend_always yield_value(const T& item) noexcept {
    item_ = std::addressof(item);  // lives until the producer is resumed
    return {};
  }
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  /// A generator only yields; awaiting something inside one is a mistake.
  template <class U>
  std::suspend_never await_transform(U&&) = delete;

 private:
  friend class Generator;
  const T* item_ = nullptr;
  std::exception_ptr error_;
};

/// An input iterator over a `Generator`, compared with `std::default_sentinel`.
template <class T>
class Generator<T>::iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = T;

  const T& operator*() const noexcept { return *item_; }
  const T* operator->() const noexcept { return item_; }
  /// Pulls the next item: the one before is not valid any more.
  iterator& operator++() {
    item_ = source_->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
    return it.item_ == nullptr;
  }

 private:
  friend class Generator;
  explicit iterator(Generator& source) : source_(&source), item_(source.next()) {}

  Generator* source_;
  const T* item_;
};

}  // namespace ringside
