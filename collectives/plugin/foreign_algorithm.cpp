// SPDX-License-Identifier: MIT
#include "ringside/collectives/plugin/foreign_algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <map>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/plugin/plan_file.hpp"
#include "ringside/collectives/plugin/recorder.hpp"

namespace ringside {
namespace {

constexpr std::size_t longest_text = 4096;  // of a name, a meaning or a reason
constexpr std::uint32_t most_parameters = 1000;

/// What a plug-in says in the middle of our message: one line, not endless.
std::string one_line(const char* text) {
  std::string line(text, strnlen(text, longest_text));
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return line;
}

/// A description's text, which is printed: refused if it is missing or not one line.
std::string text_of(const char* text, const std::string& what, const PluginFile& file) {
  if (text == nullptr) file.refuse(fmt::format("{} is NULL", what));
  if (strnlen(text, longest_text) == longest_text)
    file.refuse(fmt::format("{} is longer than {} characters", what, longest_text));
  std::string line = one_line(text);
  if (line != text) file.refuse(fmt::format("{} has a control character", what));
  return line;
}

/// A plug-in's algorithm: its functions, and the plans it has written.
class Foreign {
 public:
  Foreign(std::string name, const ringside_algorithm_v1& functions,
          std::shared_ptr<PluginFile> file)
      : name_(std::move(name)), functions_(functions), file_(std::move(file)) {}

  Algorithm make(const Request& request, const Parameters& parameters);

 private:
  using Arguments = std::vector<std::pair<std::string, std::string>>;
  using Key = std::tuple<Collective, int, int, bool, Arguments>;

  std::shared_ptr<const Recording> recording(const Request& request, const Arguments& arguments);
  void ask_support(const Request& request) const;
  [[nodiscard]] Recording build(const Request& request, const Arguments& arguments) const;
  [[noreturn]] void refuse(const Request& request, const std::string& why) const {
    file_->refuse(fmt::format("{}, {}: {}", name_, describe(request), why));
  }

  [[noreturn]] void refuse_unsteady() const {
    file_->refuse(fmt::format("{}, {}", name_, unsteady_));
  }

  std::string name_;
  ringside_algorithm_v1 functions_;
  std::shared_ptr<PluginFile> file_;
  std::map<Key, std::shared_ptr<const Recording>> recordings_;
  std::string
      unsteady_;  ///< once it has answered differently: what; all ranks are to hear the same
};

ringside_request_v1 to_c(const Request& request) {
  return {sizeof(ringside_request_v1), static_cast<std::int32_t>(request.collective), request.ranks,
          request.root, request.in_place ? 1 : 0};
}

/// The parameters that are the algorithm's own: the common ones are seen to by us.
std::vector<std::pair<std::string, std::string>> own_arguments(const Parameters& parameters) {
  auto arguments = parameters.spec().parameters;
  std::erase_if(arguments, [](const auto& argument) {
    const auto common = common_parameters();
    return std::any_of(common.begin(), common.end(),
                       [&](const auto& one) { return one.name == argument.first; });
  });
  return arguments;
}

Algorithm Foreign::make(const Request& request, const Parameters& parameters) {
  if (request.ranks == 1) return {.write = [](Group) -> OpStream { co_return; }};
  const auto written = recording(request, own_arguments(parameters));
  return {.chunks = written->shape.chunks_per_block,
          .lanes = written->shape.lanes,
          .unsliced_lanes = written->shape.unsliced_lanes,
          .write = [written](Group g) { return replay(std::move(g), written); }};
}

/// Asks twice: who answers differently now would do so in another process, and ranks would run
/// different plans.
std::shared_ptr<const Recording> Foreign::recording(const Request& request,
                                                    const Arguments& arguments) {
  const std::lock_guard lock(file_->turn);
  auto& kept =
      recordings_[{request.collective, request.ranks, request.root, request.in_place, arguments}];
  if (kept) return kept;
  if (!unsteady_.empty()) refuse_unsteady();
  ask_support(request);
  auto first = std::make_shared<const Recording>(build(request, arguments));
  if (const auto difference = difference_of(*first, build(request, arguments)))
    unsteady_ = fmt::format(
        "{}: it answers differently when it is asked again, so ranks would run "
        "different plans: {}",
        describe(request), *difference);
  if (!unsteady_.empty()) refuse_unsteady();
  return kept = std::move(first);
}

void Foreign::ask_support(const Request& request) const {
  if (functions_.supports == nullptr) return;
  const auto wanted = to_c(request);
  const char* why = nullptr;
  try {
    why = functions_.supports(&wanted);
  } catch (...) {
    refuse(request, "supports threw an exception");
  }
  if (why != nullptr)
    throw Error(ErrorCode::unsupported, fmt::format("{}: {}", name_, one_line(why)));
}

Recording Foreign::build(const Request& request, const Arguments& arguments) const {
  const auto wanted = to_c(request);
  std::vector<ringside_argument_v1> given;
  for (const auto& [name, value] : arguments) given.push_back({name.c_str(), value.c_str()});
  Recorder recorder(request);
  std::int32_t status = RINGSIDE_BUILD_FAILED;
  try {
    status = functions_.build(&wanted, given.data(), given.size(), &recorder.sink());
  } catch (const std::exception& error) {
    refuse(request, fmt::format("build threw an exception: {}", one_line(error.what())));
  } catch (...) {
    refuse(request, "build threw something that is no std::exception");
  }

  if (!recorder.refusal().empty()) refuse(request, recorder.refusal());
  const std::string reason = one_line(recorder.explanation().c_str());
  switch (status) {
    case RINGSIDE_BUILD_OK:
      if (!recorder.has_shape()) refuse(request, "build has set no shape");
      return std::move(recorder).result();
    case RINGSIDE_BUILD_UNSUPPORTED:
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: {}", name_,
                              reason.empty() ? "does not do " + describe(request) : reason));
    case RINGSIDE_BUILD_BAD_ARGUMENT:
      throw Error(ErrorCode::bad_input,
                  fmt::format("{}: {}", to_string(Spec{name_, arguments}),
                              reason.empty() ? "a parameter's value makes no sense" : reason));
    default:
      refuse(request, fmt::format("build failed with status {}{}{}", status,
                                  reason.empty() ? "" : ": ", reason));
  }
}

std::vector<Collective> collectives_of(std::uint32_t bits, const std::string& name,
                                       const PluginFile& file) {
  if (bits == 0) file.refuse(fmt::format("{} serves no collective", name));
  const auto known = collective_names().size();
  if (known < 32 && (bits >> known) != 0)
    file.refuse(fmt::format("{} serves collectives that this library does not know (bits {:#x})",
                            name, bits));
  std::vector<Collective> collectives;
  for (std::size_t i = 0; i < known; ++i)
    if ((bits >> i & 1) != 0) collectives.push_back(static_cast<Collective>(i));
  if (std::find(collectives.begin(), collectives.end(), Collective::barrier) != collectives.end())
    file.refuse(fmt::format("{} serves barrier, which moves no data and has no plan", name));
  return collectives;
}

std::vector<ParameterInfo> parameters_of(const ringside_algorithm_v1& from, const std::string& name,
                                         const PluginFile& file) {
  if (from.parameter_count > most_parameters)
    file.refuse(fmt::format("{} has {} parameters: at most {} are read", name, from.parameter_count,
                            most_parameters));
  if (from.parameter_count > 0 && from.parameters == nullptr)
    file.refuse(fmt::format("{} has {} parameters at NULL", name, from.parameter_count));
  std::vector<ParameterInfo> parameters;
  for (std::uint32_t i = 0; i < from.parameter_count; ++i) {
    const auto& parameter = from.parameters[i];
    const auto part = [&](const char* text, const char* what) {
      return text_of(text, fmt::format("the {} of parameter {} of {}", what, i, name), file);
    };
    parameters.push_back({part(parameter.name, "name"), part(parameter.default_text, "default"),
                          part(parameter.meaning, "meaning")});
    if (const auto& word = parameters.back().name;
        is_plan_file(word) || parse_spec(word).name != word)
      file.refuse(fmt::format("{} is no name of a parameter of {}", quote(word), name));
  }
  return parameters;
}

// The numbers of the C interface are the library's own.
static_assert(RINGSIDE_ALL_REDUCE == static_cast<int>(Collective::all_reduce));
static_assert(RINGSIDE_REDUCE_SCATTER == static_cast<int>(Collective::reduce_scatter));
static_assert(RINGSIDE_ALL_GATHER == static_cast<int>(Collective::all_gather));
static_assert(RINGSIDE_BROADCAST == static_cast<int>(Collective::broadcast));
static_assert(RINGSIDE_REDUCE == static_cast<int>(Collective::reduce));
static_assert(RINGSIDE_GATHER == static_cast<int>(Collective::gather));
static_assert(RINGSIDE_SCATTER == static_cast<int>(Collective::scatter));
static_assert(RINGSIDE_ALL_TO_ALL == static_cast<int>(Collective::all_to_all));
static_assert(RINGSIDE_BARRIER == static_cast<int>(Collective::barrier));

}  // namespace

std::string PluginFile::words(const std::string& why) const {
  return fmt::format("plug-in {}: {}", quote(path, longest_path), why);
}

void PluginFile::refuse(const std::string& why) const {
  throw Error(ErrorCode::bad_input, words(why));
}

AlgorithmInfo foreign_algorithm(const ringside_algorithm_v1* description,
                                const std::shared_ptr<PluginFile>& file) {
  if (description == nullptr) file->refuse("it lists an algorithm that is NULL");
  // Nothing else is read before these two: of another version, nothing else is known.
  if (description->version != RINGSIDE_ALGORITHM_VERSION)
    file->refuse(
        fmt::format("it is of version {} of the interface for algorithms: this library "
                    "knows version {}",
                    description->version, RINGSIDE_ALGORITHM_VERSION));
  if (description->size < sizeof(ringside_algorithm_v1))
    file->refuse(fmt::format("it describes an algorithm in {} bytes: version {} has {}",
                             description->size, RINGSIDE_ALGORITHM_VERSION,
                             sizeof(ringside_algorithm_v1)));
  AlgorithmInfo info;
  info.name = text_of(description->name, "the name of an algorithm", *file);
  info.summary = text_of(description->summary, "the summary of " + info.name, *file);
  if (description->reference != nullptr)
    info.reference = text_of(description->reference, "the reference of " + info.name, *file);
  if (description->build == nullptr) file->refuse(info.name + " has no function build");
  info.parameters = parameters_of(*description, info.name, *file);
  info.collectives = collectives_of(description->collectives, info.name, *file);
  info.origin = file->path;
  const auto foreign = std::make_shared<Foreign>(info.name, *description, file);
  info.make = [foreign](const Request& request, const Parameters& parameters) {
    return foreign->make(request, parameters);
  };
  return info;
}

}  // namespace ringside
