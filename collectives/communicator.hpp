// SPDX-License-Identifier: MIT
/// What a rank calls: the collectives of one communicator.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "ringside/base/error.hpp"
#include "ringside/collectives/reduction/types.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside {

/// The ElementType of a C++ type; not defined for types that cannot be reduced.
template <class T>
struct ElementTypeOf;
template <>
struct ElementTypeOf<std::int8_t> : std::integral_constant<ElementType, ElementType::int8> {};
template <>
struct ElementTypeOf<std::uint8_t> : std::integral_constant<ElementType, ElementType::uint8> {};
template <>
struct ElementTypeOf<std::int32_t> : std::integral_constant<ElementType, ElementType::int32> {};
template <>
struct ElementTypeOf<std::uint32_t> : std::integral_constant<ElementType, ElementType::uint32> {};
template <>
struct ElementTypeOf<std::int64_t> : std::integral_constant<ElementType, ElementType::int64> {};
template <>
struct ElementTypeOf<std::uint64_t> : std::integral_constant<ElementType, ElementType::uint64> {};
template <>
struct ElementTypeOf<float16> : std::integral_constant<ElementType, ElementType::float16> {};
template <>
struct ElementTypeOf<bfloat16> : std::integral_constant<ElementType, ElementType::bfloat16> {};
template <>
struct ElementTypeOf<float8_e4m3> : std::integral_constant<ElementType, ElementType::float8_e4m3> {
};
template <>
struct ElementTypeOf<float8_e5m2> : std::integral_constant<ElementType, ElementType::float8_e5m2> {
};
template <>
struct ElementTypeOf<float> : std::integral_constant<ElementType, ElementType::float32> {};
template <>
struct ElementTypeOf<double> : std::integral_constant<ElementType, ElementType::float64> {};

/// What a single call may ask for beyond its arguments. All ranks must ask for the same.
struct CallOptions {
  /// A spec string ("ring:slices=8"); empty: the option `algorithm` ("auto").
  std::string algorithm = {};
  /// premul_sum: what every contribution is multiplied by.
  double scalar = 1.0;
  /// Longest wait for another rank; nothing: the option `timeout`. May differ between ranks.
  std::optional<std::chrono::duration<double>> timeout = std::nullopt;
};

/// One rank's end of a communicator. Used by one thread at a time; its collectives must be called
/// by all ranks in the same order.
///
/// A call returns when this rank's output is complete and nobody will touch this rank's buffers
/// any more, so they may be reused at once.
///
/// Errors, all as Error: `mismatch` when ranks made different calls (every rank gets it, no buffer
/// was touched, the communicator works on); `timeout` and `aborted` (the communicator has failed:
/// every later call on any rank throws `failed` with the first cause); `bad_input` and
/// `unsupported` for the spec (before anything is sent).
///
/// After `timeout` and `aborted` other ranks may still be at work on this rank's buffers: they must
/// outlive World::run.
class Communicator {
 public:
  class Implementation;  ///< one per backend
  explicit Communicator(std::unique_ptr<Implementation> implementation);
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;

  /// `output[i]` = `input[i]` of all ranks folded by `op`. Zero elements are legal; any alignment;
  /// `input` and `output` are the same address (in place) or do not overlap.
  void all_reduce(const void* input, void* output, std::size_t elements, ElementType type,
                  ReduceOp op, const CallOptions& options = {});

  template <class T>
  void all_reduce(std::span<T> data, ReduceOp op = ReduceOp::sum, const CallOptions& options = {}) {
    static_assert(!std::is_const_v<T>, "in place: the data are overwritten");
    all_reduce(data.data(), data.data(), data.size(), ElementTypeOf<T>::value, op, options);
  }
  /// Throws Error(invalid_argument) if the spans differ in length.
  template <class T>
  void all_reduce(std::span<const std::type_identity_t<T>> input, std::span<T> output,
                  ReduceOp op = ReduceOp::sum, const CallOptions& options = {}) {
    if (input.size() != output.size())
      throw Error(ErrorCode::invalid_argument, "all_reduce: input and output differ in length");
    all_reduce(input.data(), output.data(), input.size(), ElementTypeOf<T>::value, op, options);
  }

  /// The canonical spec of the algorithm that such a call would run.
  [[nodiscard]] std::string algorithm_for(Collective collective, std::size_t bytes, bool in_place,
                                          const CallOptions& options = {}) const;

  /// Makes every waiting and every later call of all ranks throw. Callable from any thread.
  void abort(const std::string& why);

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace ringside
