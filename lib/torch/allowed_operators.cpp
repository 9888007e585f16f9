// Operators that a model may run: lib/torch/reviewed_operators.txt, and what the user registers.
#include "lib/torch/allowed_operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/support/diagnostics.h"
#include "lib/torch/extensions.h"
#include "lib/torch/stand_ins.h"
#include "lib/torch/user_operators.h"

namespace oe::torch_io {

extern const char* const kReviewedOperators;  // made of the list by CMake

namespace {

struct Reason {
  std::string_view word;  // in the list
  std::string_view text;
};
constexpr Reason kReasons[] = {
    {"files", "opens files"},
    {"processes", "reaches other processes"},
    {"memory", "does not check the memory that it reads or writes"},
    {"debug", "is for tests, debuggers and profilers"},
    {"python", "is implemented in Python"},
    {"device", "is for a device other than the processor"},
    {"internal", "is internal to LibTorch"},
    {"gradient", "is a derivative that does not check its arguments"},
    {"training", "changes weights in training"},
    {"unchecked", "does not check its arguments"},
};
constexpr std::string_view kUnknown = "is not on the list of operators that may run";
constexpr std::string_view kNativeClass = "is native code that is not on the list of classes";

const Reason& reason_of(std::string_view word) {
  const Reason* found = std::ranges::find(kReasons, word, &Reason::word);
  TORCH_INTERNAL_ASSERT(found != std::end(kReasons), "no reason is called ", word);
  return *found;
}

// By name; null where it is allowed.
const std::unordered_map<std::string_view, const Reason*>& reviewed() {
  static const auto* all = [] {
    auto* made = new std::unordered_map<std::string_view, const Reason*>;
    std::string_view rest(kReviewedOperators);
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.empty() || line[0] == '#') continue;
      const size_t blank = line.find(' ');
      made->emplace(line.substr(0, blank),
                    blank == std::string_view::npos ? nullptr : &reason_of(line.substr(blank + 1)));
    }
    return made;
  }();
  return *all;
}

// Names that were registered before the user's libraries were; null where none are loaded.
std::unique_ptr<std::unordered_set<std::string>>& own_operators() {
  static std::unique_ptr<std::unordered_set<std::string>> names;
  return names;
}

bool from_user(const std::string& op) {
  if (is_stand_in(op) || is_made_up(op) || user_function(op) || extension(op)) return true;
  return own_operators() && !own_operators()->contains(op);
}

std::string& disarmed_call() {
  static thread_local std::string op;
  return op;
}

// LibTorch's interpreter turns an exception into one of its own: the name is noted besides.
void refuse_to_run(const std::string& op) {
  disarmed_call() = op;
  TORCH_CHECK(false, op, " ", refusal_of(op));
}

// Whether its kernel is taken away. LibTorch's passes put operators of its own into graphs that
// run; kernels of other devices and of optimizers, of which there are many, do no harm to default
// values.
bool is_disarmed(const std::string& op, const Reason& reason) {
  if (reason.word == "internal") return !op.starts_with("prim::") && !op.starts_with("aten::");
  return reason.word != "device" && reason.word != "training";
}

}  // namespace

std::string_view refusal_of(const std::string& op) {
  const auto it = reviewed().find(op);
  if (it != reviewed().end()) return it->second ? it->second->text : std::string_view();
  return from_user(op) ? std::string_view() : kUnknown;
}

std::string_view refusal_of(const c10::Type& type) {
  constexpr std::string_view kClasses = "__torch__.torch.classes.";
  const auto* cls = type.castRaw<c10::ClassType>();
  if (!cls || !cls->name()) return {};
  const std::string name = cls->name()->qualifiedName();
  if (!name.starts_with(kClasses) || is_stand_in(*cls)) return {};
  const std::string space = name.substr(kClasses.size(), name.rfind('.') - kClasses.size());
  // Packed weights of quantized and sparse layers.
  for (const char* known : {"quantized", "rnn", "sparse", "xnnpack"})
    if (space == known) return {};
  // LibTorch's other classes, which a library of the user cannot name its own.
  for (const char* own : {"_nnapi", "aoti", "c10d", "cuda", "dist_c10d", "dist_rpc", "inductor",
                          "mkldnn", "profiler", "symm_mem", "tensorexpr", "xpu"})
    if (space == own) return kNativeClass;
  return own_operators() ? std::string_view() : kNativeClass;
}

void note_own_operators() {
  if (own_operators()) return;
  own_operators() = std::make_unique<std::unordered_set<std::string>>();
  for (const auto& op : torch::jit::getAllOperators()) own_operators()->insert(op->schema().name());
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames())
    own_operators()->insert(name.name);
}

void disarm_operators() {
  using Overloads = std::vector<std::shared_ptr<torch::jit::Operator>>;
  // Nodes of graphs that were compiled before point at the operators of that time.
  static const std::vector<Overloads> kept = [] {
    std::vector<Overloads> all;
    for (const auto& [name, reason] : reviewed()) {
      const std::string op(name);
      if (!reason || !is_disarmed(op, *reason)) continue;
      // A copy: the registry's own vector changes.
      const Overloads& overloads =
          all.emplace_back(torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(op)));
      for (const auto& known : overloads) {
        const c10::FunctionSchema& schema = known->schema();
        torch::jit::deregisterOperator(schema);
        torch::jit::registerOperator(torch::jit::Operator(
            schema.name(), schema.overload_name(), schema.arguments(), schema.returns(),
            [op](torch::jit::Stack&) { refuse_to_run(op); }, known->aliasAnalysisKind()));
      }
    }
    return all;
  }();
  (void)kept;
}

void throw_if_disarmed_ran(const std::string& file) {
  const std::string op = std::exchange(disarmed_call(), {});
  if (!op.empty())
    throw Failure(
        ExitCode::Refused, "OE0141",
        file + ": the model runs " + op + " while it loads, which " + std::string(refusal_of(op)),
        "save the model without it");
}

std::vector<std::pair<std::string_view, std::string_view>> reviewed_operators() {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const auto& [name, reason] : reviewed())
    all.emplace_back(name, reason ? reason->text : std::string_view());
  std::ranges::sort(all);
  return all;
}

}  // namespace oe::torch_io
