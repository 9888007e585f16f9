// Operators that the user describes: by TorchScript, or by a schema alone.
#include "lib/torch/user_operators.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"
#include "lib/torch/extensions.h"
#include "lib/torch/runtime.h"

namespace oe::torch_io {
namespace {

using torch::jit::Function;

struct UserOperators {
  std::vector<std::unique_ptr<torch::jit::CompilationUnit>> units;
  std::unordered_map<std::string, Function*> functions;
  std::unordered_set<std::string> made_up;
  std::vector<c10::FunctionSchema> registered;
};
UserOperators& described() {
  static UserOperators all;
  return all;
}

[[noreturn]] void wrong(const rules::Place& at, const std::string& what) {
  throw Failure(ExitCode::Usage, "OE0232",
                (at.file.starts_with("--") ? at.file : at.file + ":" + std::to_string(at.line)) +
                    ": " + what);
}

std::string without_position(const std::exception& e) {
  std::string text(strip(message_of(e)));
  if (const size_t end = text.find("\n\n"); end != std::string::npos) text.resize(end);
  return text;
}

// The only public function of the text.
Function* compile(const std::string& op, const std::string& text, const rules::Place& at) {
  auto unit = std::make_unique<torch::jit::CompilationUnit>();
  try {
    unit->define(std::nullopt, text, torch::jit::nativeResolver(), nullptr);
  } catch (const std::exception& e) {
    wrong(at, op + ": LibTorch cannot compile its TorchScript: " + without_position(e));
  }
  Function* found = nullptr;
  for (Function* f : unit->get_functions()) {
    if (f->name().starts_with('_')) continue;
    if (found) wrong(at, op + ": its TorchScript has two functions; names of helpers begin with _");
    found = f;
  }
  if (!found) wrong(at, op + ": its TorchScript has no function");
  described().units.push_back(std::move(unit));
  return found;
}

bool anybody_registered(const std::string& op) {
  return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(op)).empty();
}

void register_function(const std::string& op, const std::string& overload,
                       std::vector<c10::Argument> arguments, std::vector<c10::Argument> results,
                       torch::jit::Operation kernel) {
  torch::jit::Operator made(op, overload, std::move(arguments), std::move(results),
                            std::move(kernel), c10::AliasAnalysisKind::CONSERVATIVE);
  described().registered.push_back(made.schema());
  torch::jit::registerOperator(std::move(made));
}

void add_script(const rules::ScriptRule& rule) {
  Function* f = compile(rule.op, rule.text, rule.place);
  described().functions[rule.op] = f;
  const std::string base = rule.op.substr(0, rule.op.find('.'));
  if (!anybody_registered(base))
    register_function(base, "", f->getSchema().arguments(), operator_results(*f),
                      [f](torch::jit::Stack& stack) { run_as_operator(*f, stack); });
}

void add_schema(const rules::Schema& s) {
  std::optional<c10::FunctionSchema> schema;
  try {
    schema = torch::jit::parseSchema(s.text);
  } catch (const std::exception& e) {
    wrong(s.place, "'" + s.text + "' is not a schema: " + without_position(e));
  }
  const std::string& op = schema->name();
  for (const auto& known : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(op))) {
    if (known->schema().overload_name() != schema->overload_name()) continue;
    if (described().made_up.contains(op)) wrong(s.place, s.op + " has two schemas");
    if (c10::toString(known->schema()) != c10::toString(*schema))
      wrong(s.place, "the library that registers " + s.op +
                         " declares another schema: " + c10::toString(known->schema()));
    return;
  }
  std::string text = "def made_up(";
  for (const c10::Argument& a : schema->arguments())
    text += a.name() + ": " + a.type()->annotation_str() + ", ";
  if (!schema->arguments().empty()) text.resize(text.size() - 2);
  std::vector<std::string> types;
  for (const c10::Argument& r : schema->returns()) types.push_back(r.type()->annotation_str());
  const std::string result = types.size() == 1 ? types[0] : "Tuple[" + join(types, ", ") + "]";
  text += ") -> " + (types.empty() ? std::string("None") : result) + ":\n  return " + s.expression +
          "\n";
  Function* f = compile(s.op, text, s.place);
  described().made_up.insert(op);
  // Copies: that a result shares memory with an argument is nothing that the expression says.
  register_function(op, schema->overload_name(), schema->arguments(), schema->returns(),
                    [f, count = schema->returns().size()](torch::jit::Stack& stack) {
                      run_as_operator(*f, stack);
                      for (size_t i = stack.size() - count; i < stack.size(); ++i)
                        stack[i] =
                            stack[i].isTensor() ? stack[i].toTensor().clone() : stack[i].deepcopy();
                    });
}

}  // namespace

void register_user_operators(const rules::Rules& rules) {
  UserOperators& all = described();
  for (const c10::FunctionSchema& schema : all.registered) torch::jit::deregisterOperator(schema);
  all = {};
  for (const rules::ScriptRule& r : rules.scripts) add_script(r);
  for (const rules::Schema& s : rules.schemas) add_schema(s);
}

std::vector<std::string> misspelt(const rules::Rules& rules) {
  std::unordered_set<std::string> described;
  for (const rules::Schema& s : rules.schemas) described.insert(s.op.substr(0, s.op.find('.')));
  std::unordered_set<std::string> known;
  std::vector<std::string> lines;
  const auto look = [&](const std::string& rule, const rules::Place& at) {
    const std::string op = rule.substr(0, rule.find('.'));
    if (described.contains(op) || anybody_registered(op)) return;
    if (known.empty())
      for (const auto& o : torch::jit::getAllOperators()) known.insert(o->schema().name());
    // A library's operators are like others by accident: the namespace or the name has to be right.
    const size_t colons = op.find("::");
    std::vector<std::string> names;
    for (const std::string& name : known)
      if (name.starts_with(op.substr(0, colons + 2)) || name.ends_with(op.substr(colons)))
        names.push_back(name);
    std::ranges::sort(names);
    const std::string near = nearest(op, names);
    if (!near.empty())
      lines.push_back(at.file + ":" + std::to_string(at.line) + ": LibTorch has no operator " + op +
                      ", which this rule is for; did you mean '" + near + "'?");
  };
  for (const rules::NodesRule& r : rules.nodes) look(r.op, r.place);
  for (const rules::ScriptRule& r : rules.scripts) look(r.op, r.place);
  return lines;
}

Function* user_function(const std::string& op) {
  const auto& functions = described().functions;
  auto it = functions.find(op);
  if (it == functions.end()) it = functions.find(op.substr(0, op.find('.')));
  return it == functions.end() ? nullptr : it->second;
}

bool is_made_up(const std::string& op) { return described().made_up.contains(op); }

}  // namespace oe::torch_io
