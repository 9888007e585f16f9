// Stand-ins for operators and classes of libraries that are not here.
//
//   a, b = ops.lib.split(x, ops.lib.scale(x, by=2))   =>   lib::scale(Any a0, *, Any by) -> Tensor
//                                                          lib::split(Any a0, Any a1) -> (Tensor,
//                                                          Tensor)
#include "lib/torch/stand_ins.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/script_type_parser.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/archive/archive.h"
#include "lib/support/text.h"

namespace oe::torch_io {
namespace {

constexpr std::string_view kClasses = "__torch__.torch.classes.";
constexpr std::string_view kOperators = "ops.";

struct Registered {
  std::unordered_set<std::string> operators;
  std::vector<c10::FunctionSchema> schemas;
  std::unordered_set<std::string> classes,
      unknown_classes;  // those with slots of ours, and all state
};
Registered& registered() {
  static Registered r;
  return r;
}

// What is missing, each named once, in the order in which the archive names it.
class Missing {
 public:
  void add(const std::string& name, const std::string& place) {
    if (seen_.insert(name).second) all.push_back(place.empty() ? name : name + " (" + place + ")");
  }
  std::vector<std::string> all;

 private:
  std::unordered_set<std::string> seen_;
};

bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The code with blanks for what stands in quotes, where brackets and names mean nothing.
std::string without_strings(std::string code) {
  char quote = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (quote == 0) {
      if (c == '"' || c == '\'') quote = c;
      continue;
    }
    if (c == quote) {
      quote = 0;
      continue;
    }
    code[i] = ' ';
    if (c == '\\' && i + 1 < code.size()) code[++i] = ' ';
  }
  return code;
}

// Where the names after `at` end: "a.b.c".
size_t end_of_path(std::string_view text, size_t at) {
  while (at < text.size() && (name_char(text[at]) || text[at] == '.')) ++at;
  return at;
}

// --- classes

using Slots = std::vector<std::pair<const char*, const char*>>;

c10::ClassTypePtr register_class(const std::string& name, const Slots& slots,
                                 const std::shared_ptr<torch::jit::CompilationUnit>& unit = {}) {
  const auto type = c10::ClassType::create(c10::QualifiedName(name), unit);
  torch::jit::ScriptTypeParser parser;
  for (const auto& [slot, kind] : slots) type->addAttribute(slot, parser.parseType(kind));
  torch::registerCustomClass(type);
  registered().classes.insert(name);
  return type;
}

// A class that some versions of LibTorch have: there its own one is used. Both have a method
// `__getstate__`, which gives the slots in order; not all of LibTorch's have `unpack`.
void register_packed_class(const std::string& name, const Slots& slots) {
  if (torch::getCustomClass(name)) return;
  static const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const c10::ClassTypePtr type = register_class(name, slots, unit);
  std::string values;
  for (const auto& [slot, kind] : slots)
    values += (values.empty() ? "self." : ", self.") + std::string(slot);
  const torch::jit::SimpleSelf self(type);
  unit->define(name, "def __getstate__(self):\n  return (" + values + ")\n",
               torch::jit::nativeResolver(), &self);
}

// Pickles write "c__torch__.torch.classes.lib\nName\n", code "__torch__.torch.classes.lib.Name".
void register_classes(std::string_view text, bool pickle, Missing& missing) {
  for (size_t at = text.find(kClasses); at != std::string_view::npos;
       at = text.find(kClasses, at + 1)) {
    size_t end = end_of_path(text, at);
    std::string name(text.substr(at, end - at));
    if (pickle) {
      if (end >= text.size() || text[end] != '\n') continue;
      const size_t begin = end + 1;
      name += "." + std::string(text.substr(begin, end_of_path(text, begin) - begin));
    }
    if (name.back() == '.') continue;
    if (!torch::getCustomClass(name)) {
      register_class(name, {{"state", "Any"}});
      registered().unknown_classes.insert(name);
    }
    if (registered().unknown_classes.contains(name))
      missing.add("class " + name.substr(kClasses.size()), "");
  }
}

// --- operators

struct Call {
  std::string op;                  // "lib::name"
  size_t positional = 0;           // arguments
  std::vector<std::string> named;  // arguments, too
  size_t line = 1;                 // of the code that holds it
  size_t results = 1;
  std::string type = "Tensor";  // of the result, when there is one
};

// The end of the bracket that opens at `at`; nothing when it does not end. The places of commas of
// its own are added to `commas`.
std::optional<size_t> end_of_bracket(std::string_view code, size_t at,
                                     std::vector<size_t>& commas) {
  for (int depth = 0; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      if (--depth == 0) return at;
    } else if (c == ',' && depth == 1) {
      commas.push_back(at);
    }
  }
  return std::nullopt;
}

// The names that the statement assigns to: "a, b, = ".
std::vector<std::string> targets(std::string_view before) {
  std::vector<std::string> names;
  for (const std::string& part : split(std::string(before.substr(0, before.find(" = "))), ','))
    if (const std::string_view name = strip(part); !name.empty()) names.emplace_back(name);
  return names;
}

// Whether "a, b, = name" follows in the function: the value is a list.
bool unpacked(std::string_view code, size_t at, const std::string& name) {
  const std::string_view rest = code.substr(at, code.find("\n  def ", at) - at);
  return rest.find(", = " + name + "\n") != std::string_view::npos;
}

void read_arguments(std::string_view code, size_t open, Call& call) {
  std::vector<size_t> ends;
  const auto close = end_of_bracket(code, open, ends);
  if (!close) return;
  ends.push_back(*close);
  size_t begin = open + 1;
  for (const size_t end : ends) {
    const std::string_view argument = strip(code.substr(begin, end - begin));
    begin = end + 1;
    if (argument.empty()) continue;
    size_t name = 0;
    while (name < argument.size() && name_char(argument[name])) ++name;
    if (name > 0 && argument.substr(name).starts_with("=") &&
        !argument.substr(name).starts_with("=="))
      call.named.emplace_back(argument.substr(0, name));
    else
      ++call.positional;
  }
}

void read_result(std::string_view code, size_t at, Call& call) {
  const size_t line = code.rfind('\n', at) + 1;
  const std::string_view before = code.substr(line, at - line);
  constexpr std::string_view annotate = "annotate(";
  if (const size_t a = before.rfind(annotate); a != std::string_view::npos) {
    // Only where nothing but the type stands between.
    std::vector<size_t> commas;
    const size_t open = line + a + annotate.size() - 1;
    end_of_bracket(code, open, commas);
    if (!commas.empty() && strip(code.substr(commas[0] + 1, at - commas[0] - 1)).empty()) {
      call.type = code.substr(open + 1, commas[0] - open - 1);
      return;
    }
  }
  if (!before.ends_with(" = ")) return;
  const std::vector<std::string> names = targets(before);
  call.results = std::max<size_t>(names.size(), 1);
  if (names.size() == 1 && (before.ends_with(", = ") || unpacked(code, at, names[0])))
    call.type = "List[Tensor]";
}

std::vector<Call> calls(std::string_view code) {
  std::vector<Call> all;
  size_t line = 1, counted = 0;
  for (size_t at = code.find(kOperators); at != std::string_view::npos;
       at = code.find(kOperators, at + 1)) {
    if (at > 0 && (name_char(code[at - 1]) || code[at - 1] == '.')) continue;
    const size_t begin = at + kOperators.size(), end = end_of_path(code, begin);
    const std::string_view path = code.substr(begin, end - begin);
    const size_t dot = path.find('.');
    if (dot == std::string_view::npos || path.find('.', dot + 1) != std::string_view::npos ||
        end >= code.size() || code[end] != '(')
      continue;
    Call call;
    call.op = std::string(path.substr(0, dot)) + "::" + std::string(path.substr(dot + 1));
    line += static_cast<size_t>(std::count(code.begin() + counted, code.begin() + at, '\n'));
    counted = at;
    call.line = line;
    read_arguments(code, end, call);
    read_result(code, at, call);
    all.push_back(std::move(call));
  }
  return all;
}

bool anybody_has(const std::string& op) {
  return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(op)).empty();
}

void register_operator(const Call& call) {
  std::string overload = std::to_string(call.positional);
  for (const std::string& name : call.named) overload += "_" + name;
  overload += "_to_" + std::to_string(call.results);
  if (torch::jit::findOperatorFor({call.op, overload})) return;
  registered().operators.insert(call.op);

  std::vector<c10::Argument> arguments, results;
  for (size_t i = 0; i < call.positional; ++i)
    arguments.emplace_back("a" + std::to_string(i), c10::AnyType::get());
  for (const std::string& name : call.named)
    arguments.emplace_back(name, c10::AnyType::get(), std::nullopt, std::nullopt,
                           /*kwarg_only=*/true);
  torch::jit::ScriptTypeParser parser;
  for (size_t i = 0; i < call.results; ++i) results.emplace_back("", parser.parseType(call.type));
  torch::jit::Operator made(
      call.op, overload, std::move(arguments), std::move(results),
      [op = call.op](torch::jit::Stack&) {
        TORCH_CHECK(false, op, " is not available; load its library with --custom-op-lib");
      },
      c10::AliasAnalysisKind::CONSERVATIVE);
  registered().schemas.push_back(made.schema());
  torch::jit::registerOperator(std::move(made));
}

// What another archive needed may be called in another way here, or be there by now.
void forget_operators() {
  for (const c10::FunctionSchema& schema : registered().schemas)
    torch::jit::deregisterOperator(schema);
  registered().schemas.clear();
  registered().operators.clear();
}

}  // namespace

void register_known_classes() {
  static const bool once = [] {
    const std::string xnnpack = std::string(kClasses) + "xnnpack.";
    const std::pair<const char*, const char*> weight{"weight", "Tensor"},
        bias{"bias", "Optional[Tensor]"}, stride{"stride", "List[int]"},
        padding{"padding", "List[int]"}, output_padding{"output_padding", "List[int]"},
        dilation{"dilation", "List[int]"}, groups{"groups", "int"},
        low{"output_min", "Optional[number]"}, high{"output_max", "Optional[number]"};
    register_packed_class(xnnpack + "LinearOpContext", {weight, bias, low, high});
    register_packed_class(xnnpack + "Conv2dOpContext",
                          {weight, bias, stride, padding, dilation, groups, low, high});
    register_packed_class(
        xnnpack + "TransposeConv2dOpContext",
        {weight, bias, stride, padding, output_padding, dilation, groups, low, high});
    return true;
  }();
  (void)once;
}

std::vector<std::string> register_stand_ins(const archive::Archive& a) {
  forget_operators();
  Missing missing;
  for (const archive::Record& r : a.records()) {
    const bool code = r.name.starts_with("code/") || r.name.starts_with("libs/");
    if (code && r.name.ends_with(".py")) {
      const std::string text = without_strings(a.read(r));
      register_classes(text, /*pickle=*/false, missing);
      for (const Call& call : calls(text)) {
        if (!is_stand_in(call.op) && anybody_has(call.op)) continue;
        register_operator(call);
        missing.add(call.op, r.name + ":" + std::to_string(call.line));
      }
    } else if (r.name == "data.pkl" || r.name == "constants.pkl") {
      register_classes(a.read(r), /*pickle=*/true, missing);
    }
  }
  return missing.all;
}

bool is_stand_in(const c10::ClassType& type) {
  return type.name() && registered().classes.contains(type.name()->qualifiedName());
}

bool is_stand_in(const std::string& op) { return registered().operators.contains(op); }

}  // namespace oe::torch_io
