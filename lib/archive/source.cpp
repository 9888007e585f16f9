// Serialized code has one form: two blanks a level, a statement a line but for parameter lists.
//
//   class Net(Module):
//     __parameters__ = ["weight", ]
//     __buffers__ = []
//     weight : Tensor
//     def forward(self: __torch__.Net,
//       x: Tensor,
//       sizes: List[int]=[1, 2]) -> Tuple[Tensor, int]:
//       return (torch.relu(x), ops.lib.count(x))
#include "lib/archive/source.h"

#include <algorithm>
#include <cctype>

#include "lib/support/text.h"

namespace oe::archive {
namespace {

bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string name_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && name_char(text[end])) ++end;
  return std::string(text.substr(at, end - at));
}

// The names of ["weight", "bias", ].
std::vector<std::string> quoted(std::string_view line) {
  std::vector<std::string> names;
  for (size_t at = line.find('"'); at != std::string_view::npos; at = line.find('"', at + 1)) {
    const size_t end = line.find('"', at + 1);
    if (end == std::string_view::npos) break;
    names.emplace_back(line.substr(at + 1, end - at - 1));
    at = end;
  }
  return names;
}

// "x: List[int]=[1, 2]", without what it is by default.
Summary::Argument argument(std::string_view text) {
  text = strip(text);
  const size_t colon = text.find(':');
  Summary::Argument a{std::string(strip(text.substr(0, std::min(colon, text.find('='))))),
                      "Tensor"};
  if (colon == std::string_view::npos) return a;
  const std::string_view type = text.substr(colon + 1);
  a.type = strip(type.substr(0, type.find('=')));
  return a;
}

// "def NAME(self, ...) -> RESULT:" from `at`.
Summary::Method method(std::string_view code, size_t at) {
  Summary::Method m;
  m.name = name_at(code, at);
  size_t begin = code.find('(', at);
  if (begin == std::string_view::npos) return m;
  int depth = 0;
  bool is_self = true;  // the first one, whatever its author calls it
  size_t end = begin++;
  for (; end < code.size(); ++end) {
    const char c = code[end];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth > 1 || (depth == 1 && c != ',')) continue;
    const Summary::Argument a = argument(code.substr(begin, end - begin));
    if (!a.name.empty() && !is_self) m.arguments.push_back(a);
    is_self = false;
    begin = end + 1;
    if (depth == 0) break;
  }
  const std::string_view rest = code.substr(end, code.find(":\n", end) - end);
  if (const size_t arrow = rest.find("->"); arrow != std::string_view::npos)
    m.result = strip(rest.substr(arrow + 2));
  return m;
}

}  // namespace

std::map<std::string, ClassOutline> outline(std::string_view code) {
  std::map<std::string, ClassOutline> all;
  ClassOutline* current = nullptr;
  for (size_t at = 0; at < code.size();) {
    const size_t end = std::min(code.find('\n', at), code.size());
    const std::string_view line = code.substr(at, end - at);
    if (line.starts_with("class ")) {
      current = &all[name_at(line, 6)];
      current->module = line.find("(Module)") != std::string_view::npos;
    } else if (line.starts_with("def ")) {
      all[""].methods.push_back(method(code, at + 4));
    } else if (current && line.starts_with("  __parameters__")) {
      current->parameters = quoted(line);
    } else if (current && line.starts_with("  __buffers__")) {
      current->buffers = quoted(line);
    } else if (current && line.starts_with("  def ")) {
      current->methods.push_back(method(code, at + 6));
    }
    at = end + 1;
  }
  return all;
}

std::string method_text(std::string_view code, std::string_view class_name,
                        std::string_view method) {
  const std::string indent = class_name.empty() ? "" : "  ";
  const std::string begin = indent + "def " + std::string(method) + "(";
  std::string text;
  bool in_class = class_name.empty(), inside = false;
  for (size_t at = 0; at < code.size();) {
    const size_t end = std::min(code.find('\n', at), code.size());
    const std::string_view line = code.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("class ")) in_class = name_at(line, 6) == class_name;
    // What is indented deeper goes on with the method.
    const bool deeper = line.starts_with(indent + "  ");
    if (inside && !deeper && !strip(line).empty()) break;
    if (in_class && line.starts_with(begin)) inside = true;
    if (inside) text += std::string(line.substr(std::min(indent.size(), line.size()))) + "\n";
  }
  return text;
}

void count_operators(std::string_view code, Summary& s) {
  constexpr std::string_view aten = "torch.", library = "ops.", device = "torch.device(\"",
                             foreign = "__torch__.torch.classes.";
  for (size_t at = 0; at < code.size(); ++at) {
    if (at > 0 && (name_char(code[at - 1]) || code[at - 1] == '.')) continue;
    const std::string_view rest = code.substr(at);
    if (rest.starts_with(device)) {
      s.devices.insert(
          std::string(rest.substr(device.size(), rest.find('"', device.size()) - device.size())));
    } else if (rest.starts_with(foreign)) {
      size_t end = foreign.size();
      while (end < rest.size() && (name_char(rest[end]) || rest[end] == '.')) ++end;
      s.classes.insert(std::string(rest.substr(0, end)));
    } else if (rest.starts_with(aten)) {
      const std::string name = name_at(rest, aten.size());
      if (rest.substr(aten.size() + name.size()).starts_with("(")) ++s.operators["aten::" + name];
    } else if (rest.starts_with(library)) {
      const std::string space = name_at(rest, library.size());
      const std::string_view after = rest.substr(library.size() + space.size());
      if (after.starts_with(".")) ++s.operators[space + "::" + name_at(after, 1)];
    }
  }
}

}  // namespace oe::archive
