// Readable text of a program, one line a node, nested blocks indented.
#include "lib/program/program.h"

#include "lib/support/text.h"

namespace oe::program {
namespace {

constexpr int64_t kMostElements = 8;  // longer constants are abbreviated

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string text(const Value* v) {
  return "%" + (v->name.empty() ? "" : v->name + ".") + std::to_string(v->id);
}

std::string text(const Arg& a);

std::string text(const Args& list) {
  std::string out;
  for (const Arg& a : list) out += (out.empty() ? "" : ", ") + text(a);
  return out;
}

std::string text(const Arg& a) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(const Value* v) const { return v ? text(v) : "<null>"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return float_text(v); }
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(ComplexNumber v) const {
      return "(" + float_text(v.real) + ", " + float_text(v.imag) + "j)";
    }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(const Args& v) const { return "[" + text(v) + "]"; }
  };
  return std::visit(Visitor{}, a.v);
}

std::string typed(const Value* v) { return v ? text(v) + ": " + to_string(v->type) : "<null>"; }

std::string typed(const std::vector<Value*>& list) {
  std::string out;
  for (const Value* v : list) out += (out.empty() ? "" : ", ") + typed(v);
  return out;
}

std::string elements(const Tensor& t) {
  if (t.numel() > kMostElements) return "<" + std::to_string(t.numel()) + " elements>";
  std::string out;
  auto add = [&](const std::string& s) { out += (out.empty() ? "" : ", ") + s; };
  if (t.dtype() == DType::String)
    for (const auto& s : t.strings()) add(quoted(s));
  else if (is_integer(t.dtype()))
    for (int64_t v : t.as_int64()) add(std::to_string(v));
  else if (t.dtype() == DType::Bool)
    for (int64_t v : t.as_int64()) add(v ? "True" : "False");
  else if (t.dtype() == DType::Float)
    for (float v : t.values<float>()) add(float_text(v));
  else if (t.dtype() == DType::Double || t.dtype() == DType::Float16 ||
           t.dtype() == DType::BFloat16)
    for (double v : t.as_double()) add(float_text(v));
  else
    return "<" + std::to_string(t.numel()) + " elements>";
  return "{" + out + "}";
}

class Printer {
 public:
  std::string out;

  void line(int indent, const std::string& s) { out += std::string(indent, ' ') + s + "\n"; }

  void node(const Node& n, int indent) {
    std::string s = typed(n.outputs);
    if (!s.empty()) s += " = ";
    s += n.op + "(" + text(n.args) + ")";
    if (n.origin) {
      std::string where = n.origin->module_path;
      if (!n.origin->file.empty())
        where += (where.empty() ? "" : " ") + n.origin->file + ":" + std::to_string(n.origin->line);
      if (!where.empty()) s += "  # " + where;
    }
    line(indent, s);
    for (size_t i = 0; i < n.blocks.size(); ++i) {
      const Block& b = *n.blocks[i];
      line(indent + 2, "block" + std::to_string(i) + "(" + typed(b.params) + "):");
      for (const auto& inner : b.nodes) node(*inner, indent + 4);
      line(indent + 4, "-> (" + text(b.returns) + ")");
    }
  }
};

}  // namespace

std::string to_string(const Type& t) {
  switch (t.kind) {
    case Type::Kind::Tensor: {
      // PyTorch's spelling of the types whose ONNX names leave the width out.
      std::string out = t.dtype == DType::Float    ? "float32"
                        : t.dtype == DType::Double ? "float64"
                                                   : std::string(name(t.dtype));
      return out + to_string(t.shape);
    }
    case Type::Kind::Int:
      return "int";
    case Type::Kind::Float:
      return "float";
    case Type::Kind::Bool:
      return "bool";
    case Type::Kind::String:
      return "str";
    case Type::Kind::List:
      return "list(" + (t.element ? to_string(*t.element) : "?") + ")";
    case Type::Kind::Optional:
      return "optional(" + (t.element ? to_string(*t.element) : "?") + ")";
    case Type::Kind::None:
      return "None";
  }
  return "?";
}

std::string print(const Program& p) {
  Printer printer;
  printer.line(0, "program (");
  for (const Port& port : p.inputs)
    printer.line(
        4, port.name + " = " + (port.value.value() ? typed(port.value.value()) : text(port.value)));
  printer.line(0, "):");
  for (const Value& v : p.values)
    if (v.constant) printer.line(2, typed(&v) + " = constant " + elements(*v.constant));
  for (const auto& n : p.body.nodes) printer.node(*n, 2);
  printer.line(2, "return (");
  for (const Port& port : p.outputs)
    printer.line(
        4, port.name + " = " + (port.value.value() ? typed(port.value.value()) : text(port.value)));
  printer.line(2, ")");
  return printer.out;
}

}  // namespace oe::program
