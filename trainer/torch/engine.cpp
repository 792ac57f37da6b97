// SPDX-License-Identifier: MIT
/// The engine on libtorch: what `libringside_torch.so` is entered by.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/version.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/trainer/engine_module.hpp"
#include "ringside/trainer/host_replica.hpp"
#include "ringside/trainer/torch/networks.hpp"
#include "ringside/trainer/torch/section.hpp"
#include "ringside/trainer/torch/words.hpp"

namespace ringside::trainer::torch_engine {
namespace {

/// The type in which a version of libtorch reports how much is allocated: std::int64_t, or
/// std::size_t from 2.1 on.
template <class Report>
struct AllocatedBytes;
template <class Size>
struct AllocatedBytes<void (c10::MemoryReportingInfoBase::*)(void*, std::int64_t, Size, Size,
                                                             c10::Device)> {
  using Type = Size;
};
using Allocated = AllocatedBytes<decltype(&c10::MemoryReportingInfoBase::reportMemoryUsage)>::Type;

/// The most that libtorch has had allocated on this thread at a time. The guard that installs it
/// reports to it whatever the thread allocates and frees.
class MemoryCount final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*memory*/, std::int64_t bytes, Allocated /*allocated*/,
                         Allocated /*reserved*/, c10::Device /*device*/) override {
    now_ += bytes;  // negative when freed
    peak_ = std::max(peak_, now_);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
  [[nodiscard]] std::uint64_t peak() const { return static_cast<std::uint64_t>(peak_); }

 private:
  std::int64_t now_ = 0, peak_ = 0;
};

/// Called when a parameter's gradient has been accumulated. Not one of libtorch's lambda hooks,
/// which have another signature in every other version.
class ReadyHook final : public torch::autograd::FunctionPostHook {
 public:
  explicit ReadyHook(std::function<void()> ready) : ready_(std::move(ready)) {}
  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    ready_();
    return outputs;
  }

 private:
  std::function<void()> ready_;
};

/// A shared_ptr, or (2.15) an intrusive_ptr.
using Accumulator = decltype(torch::autograd::impl::grad_accumulator(std::declval<at::Tensor>()));

class TorchReplica final : public HostReplica {
 public:
  explicit TorchReplica(const ModelSettings& settings)
      : HostReplica(settings),
        settings_(settings),
        count_(std::make_shared<MemoryCount>()),
        counting_(c10::DebugInfoKind::PROFILER_STATE, count_) {
    const TensorLayout& layout = tensors().parameters;
    parameters_ = views(layout, HostReplica::parameters());
    statistics_ = views(tensors().statistics, HostReplica::statistics());
    for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
      parameters_[tensor].requires_grad_();
      // A parameter has only a weak reference to what accumulates its gradient.
      accumulators_.push_back(torch::autograd::impl::grad_accumulator(parameters_[tensor]));
      accumulators_.back()->add_post_hook(
          std::make_unique<ReadyHook>([this, tensor] { note_ready(tensor); }));
    }
  }

  [[nodiscard]] Memory gradient(std::size_t tensor) override {
    if (!handing_over()) return HostReplica::gradient(tensor);
    // As contiguous as the parameter: libtorch's "gradient layout contract".
    const at::Tensor& own = parameters_[tensor].grad();
    return {own.data_ptr(), static_cast<std::size_t>(own.numel()), settings_.precision};
  }

  void synchronise_batch_norms(int ranks, GatherFromRanks gather) override {
    together_ = {ranks, std::move(gather)};
  }

  Memory forward(const BatchView& batch, Mode mode) override {
    return in_our_words([&] {
      const at::AutoGradMode gradients(mode == Mode::training);
      const auto images = images_of(batch, scalar_type(settings_.precision));
      auto outputs = outputs_of(settings_, parameters_, statistics_, images, mode == Mode::training,
                                together_);
      if (mode == Mode::training) graph_ = outputs;
      last_outputs_ = outputs.detach().contiguous();
      return Memory{last_outputs_.data_ptr(), static_cast<std::size_t>(last_outputs_.numel()),
                    settings_.precision};
    });
  }

  void backward(Memory output_gradient, const GradientReady& ready) override {
    ready_ = ready;
    bias_told_.assign(parameters_.size() / 2, false);
    weight_waits_ = bias_told_;
    in_our_words([&] {
      if (!handing_over()) keep_gradients();
      const auto gradient =
          at::from_blob(output_gradient.data, graph_.sizes(), scalar_type(settings_.precision));
      torch::autograd::backward({graph_}, {gradient});
      graph_.reset();
    });
    ready_ = {};
  }

  std::unique_ptr<Section> section(const SectionSettings& cut) override {
    return make_section(*this, settings_, cut);
  }

  [[nodiscard]] std::uint64_t peak_bytes() const override {
    return allocated_bytes() + count_->peak();
  }

 private:
  /// Backward passes add to a gradient that is there, so it stays this run of the flat memory.
  void keep_gradients() {
    if (parameters_.front().grad().defined()) return;
    const auto gradients = views(tensors().parameters, HostReplica::gradients());
    for (std::size_t tensor = 0; tensor < gradients.size(); ++tensor)
      parameters_[tensor].mutable_grad() = gradients[tensor];
  }

  /// libtorch has both of a layer's gradients at once, and accumulates the weight's first. They are
  /// told as all others come, from the last tensor to the first: buckets that begin with a large
  /// weight need not wait for the bias behind it.
  void note_ready(std::size_t tensor) {
    const bool is_weight = tensor % 2 == 0;
    if (is_weight && !bias_told_[tensor / 2]) {
      weight_waits_[tensor / 2] = true;
      return;
    }
    tell_of(tensor);
    if (is_weight) return;
    bias_told_[tensor / 2] = true;
    if (weight_waits_[tensor / 2]) tell_of(tensor - 1);
  }

  void tell_of(std::size_t tensor) {
    if (ready_) ready_(tensor);
    if (handing_over()) parameters_[tensor].mutable_grad().reset();
  }

  [[nodiscard]] std::vector<at::Tensor> views(const TensorLayout& layout,
                                              const Memory& memory) const {
    std::vector<at::Tensor> tensors;
    for (std::size_t tensor = 0; tensor < layout.size(); ++tensor)
      tensors.push_back(at::from_blob(memory.part(layout.extent(tensor)).data, layout[tensor].sizes,
                                      scalar_type(settings_.precision)));
    return tensors;
  }

  ModelSettings settings_;
  std::shared_ptr<MemoryCount> count_;
  c10::DebugInfoGuard counting_;
  GradientReady ready_;                         // of the backward pass under way
  std::vector<bool> bias_told_, weight_waits_;  // in it, by layer: a weight and a bias each
  RanksTogether together_;
  std::vector<at::Tensor> parameters_, statistics_;
  std::vector<Accumulator> accumulators_;
  at::Tensor graph_, last_outputs_;
};

/// OpenBLAS, if that is what computes matrix products here. Its functions are looked up, as we are
/// not linked with it.
struct OpenBlas {
  using SetThreads = void(int);
  using Text = char*();
  SetThreads* set_threads = function<SetThreads>("openblas_set_num_threads");
  Text* configuration = function<Text>("openblas_get_config");

 private:
  template <class F>
  static F* function(const char* name) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): that is how dlsym speaks
    return reinterpret_cast<F*>(::dlsym(blas_library(), name));
  }
  /// What libtorch has loaded under the name that Debian's alternatives give to a BLAS.
  static void* blas_library() {
    void* loaded = ::dlopen("libblas.so.3", RTLD_NOW | RTLD_NOLOAD);
    return loaded != nullptr ? loaded : RTLD_DEFAULT;
  }
};

class TorchEngine final : public Engine {
 public:
  EngineFacts facts() override {
    EngineFacts facts;
    facts.name = "libtorch " TORCH_VERSION;
    if (blas_.configuration != nullptr) {
      const std::string_view words = blas_.configuration();
      facts.settings.push_back("BLAS: " +
                               std::string(words.substr(0, words.find_last_not_of(' ') + 1)));
    } else if (at::hasMKL()) {
      facts.settings.emplace_back("BLAS: MKL");
    } else {
      facts.settings.emplace_back("BLAS: not OpenBLAS");
      facts.warnings.emplace_back(
          "the BLAS here is neither OpenBLAS nor MKL; the reference BLAS costs LeNet a third of "
          "its speed: "
          "install libopenblas0-pthread");
    }
    return facts;
  }

  std::unique_ptr<Replica> make_replica(const ModelSettings& settings, int threads) override {
    // Both for this thread, before its first operation; what they would take by themselves depends
    // on the machine.
    at::set_num_threads(threads);
    if (blas_.set_threads != nullptr) blas_.set_threads(threads);
    return in_our_words([&] { return std::make_unique<TorchReplica>(settings); });
  }

 private:
  OpenBlas blas_;
};

}  // namespace
}  // namespace ringside::trainer::torch_engine

extern "C" ringside::trainer::Engine* ringside_make_engine() {
  return new ringside::trainer::torch_engine::TorchEngine();
}
