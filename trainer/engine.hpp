// SPDX-License-Identifier: MIT
/// What computes: one rank's copy of a model, behind an interface that names no library. Everything
/// that is data-parallel stands in front of it and sees flat memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ringside/trainer/batch.hpp"
#include "ringside/trainer/memory.hpp"
#include "ringside/trainer/models.hpp"
#include "ringside/trainer/section.hpp"
#include "ringside/trainer/sgd.hpp"

namespace ringside::trainer {

/// Told within `backward`, once for every parameter tensor, in whatever order they come, when
/// nothing more will be added to its gradient.
using GradientReady = std::function<void(std::size_t tensor)>;

/// What batch norms that see all ranks' samples ask for within `forward` and `backward`: `all` gets
/// every rank's `own`, in rank order. Every rank asks for the same, in the same order.
using GatherFromRanks = std::function<void(std::span<const double> own, std::span<double> all)>;

/// Summed cross-entropy, and how many samples have their largest output at their label.
struct Loss {
  double sum = 0;
  std::int64_t correct = 0;
};

/// A model with its parameters and gradients on a device. Used by one thread, that which made it.
///
/// A step is `forward`, `loss`, `backward`; the three are apart because nn.DataParallel computes
/// the loss elsewhere than the outputs. Errors are Error(device), and Error(internal) for what the
/// library underneath throws.
class Replica {
 public:
  Replica() = default;
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  virtual ~Replica() = default;

  [[nodiscard]] virtual const ModelTensors& tensors() const = 0;

  /// Flat memory of all parameter tensors (tensors().parameters), of their gradients (empty where
  /// they are handed over), of the momentum (empty until `keep_velocity`), and of the statistics.
  [[nodiscard]] virtual Memory parameters() = 0;
  [[nodiscard]] virtual Memory gradients() = 0;
  [[nodiscard]] virtual Memory velocity() = 0;
  [[nodiscard]] virtual Memory statistics() = 0;
  virtual void keep_velocity() = 0;

  /// From now on there is no memory of all gradients: backward passes hand over a tensor's when it
  /// is ready, and forget it then. Called before the first backward pass.
  virtual void hand_over_gradients() = 0;
  /// Of one tensor: a part of `gradients()`, or, where they are handed over, a memory that is there
  /// while `ready` is told of this tensor.
  [[nodiscard]] virtual Memory gradient(std::size_t tensor) = 0;

  /// From now on training normalises by the samples of all ranks, of which there are `ranks`; a
  /// rank without samples takes part with an empty batch. Nothing for a model without batch norms.
  virtual void synchronise_batch_norms(int ranks, GatherFromRanks gather) = 0;

  enum class Mode { training, evaluation };
  /// The outputs, `classes` a sample; valid until the next forward pass. Training keeps what
  /// `backward` needs, normalises by the batch and updates the statistics; evaluation normalises by
  /// the statistics.
  [[nodiscard]] virtual Memory forward(const BatchView& batch, Mode mode) = 0;

  /// Of outputs, which may be others' than the last forward pass's; and, in `gradient` (which has
  /// as many elements, or none where it is not wanted), the derivative of the summed loss.
  [[nodiscard]] virtual Loss loss(Memory outputs, std::span<const std::uint8_t> labels,
                                  Memory gradient) = 0;

  /// Adds the gradients to `gradients()`, or hands them over, for the last forward pass in training
  /// mode. What is told and asked within it is so on the calling thread wherever the library
  /// underneath allows that; who waits for other ranks there makes sure of it.
  virtual void backward(Memory output_gradient, const GradientReady& ready) = 0;

  virtual void clear_gradients() = 0;
  /// Of some parameters by their gradients; `velocity` may be empty without momentum.
  virtual void update(Memory parameters, Memory gradients, Memory velocity,
                      const SgdStep& step) = 0;
  void update(const SgdStep& step) { update(parameters(), gradients(), velocity(), step); }

  /// What one rank computes of a model that is split over ranks. Throws Error(unsupported) for a
  /// cut that this model is not made for.
  [[nodiscard]] virtual std::unique_ptr<Section> section(const SectionSettings& settings) = 0;

  /// Between float32 (or float64) and the type that travels, bfloat16: rounded to nearest even.
  virtual void narrow(Memory from, Memory to) = 0;
  virtual void widen(Memory from, Memory to) = 0;

  /// to = from, to += from, all zero; types and lengths are equal.
  virtual void copy(Memory from, Memory to) = 0;
  virtual void add(Memory from, Memory to) = 0;
  virtual void clear(Memory memory) = 0;

  /// More memory where this replica computes, all zero; it lives as long as the replica, unless it
  /// is released.
  [[nodiscard]] virtual Memory allocate(std::size_t elements, ElementType type) = 0;
  virtual void release(Memory memory) = 0;
  /// A matrix of so many rows, all in `from`, becomes its transpose.
  virtual void transpose(Memory from, std::size_t rows, Memory to) = 0;
  virtual void copy_to_host(Memory from, std::span<std::byte> to) = 0;
  virtual void copy_from_host(std::span<const std::byte> from, Memory to) = 0;

  /// The most memory that this replica has had at a time, in bytes: parameters, gradients,
  /// everything from `allocate`, activations.
  [[nodiscard]] virtual std::uint64_t peak_bytes() const = 0;
};

/// The first `elements` of `kept`, which is replaced by longer memory of the replica's where it is
/// too short.
[[nodiscard]] Memory grown(Replica& replica, Memory& kept, std::size_t elements);

/// What a library is and how it is set up, for reports and complaints.
struct EngineFacts {
  std::string name;                   ///< "libtorch 1.13.1", "loops of our own"
  std::vector<std::string> settings;  ///< "BLAS: OpenBLAS 0.3.21 Haswell, 1 thread"
  std::vector<std::string> warnings;  ///< "the reference BLAS is slow: install ..."
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  [[nodiscard]] virtual EngineFacts facts() = 0;

  /// Called by the rank's thread, which gets so many threads to compute with.
  [[nodiscard]] virtual std::unique_ptr<Replica> make_replica(const ModelSettings& settings,
                                                              int threads) = 0;
};

/// The engine that computes the model. libtorch is a shared object that is opened now: the option
/// `torch_engine`, or else `libringside_torch.so` beside the program or in the library folder
/// beside it, so that nothing else pays for loading it. Throws Error(unsupported), with what to
/// install, where it is not there or cannot be loaded.
[[nodiscard]] std::shared_ptr<Engine> engine_for(Model model);

/// The process computes from now on: the allocator keeps memory that was freed instead of giving it
/// back and mapping it anew in every step (a third of a step where two ranks do so at once). A
/// library has no say in that: for programs. Returns false where the C library refuses.
bool keep_freed_memory();

}  // namespace ringside::trainer
