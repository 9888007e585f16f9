// Readable text of a model in the syntax of the ONNX parser, which reads it back unless a large
// initializer is abbreviated. Types of intermediate values are trailing comments.
#include <array>
#include <string_view>

#include "lib/ir/ir.h"
#include "lib/support/text.h"

namespace oe::ir {
namespace {

constexpr int64_t kMostElements = 32;  // tensors with more elements are abbreviated

bool is_identifier(std::string_view s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (s.empty() || !letter(s[0])) return false;
  for (char c : s)
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

// Words the parser takes for a type or a number where a name may stand.
bool is_reserved(std::string_view s) {
  static constexpr std::array kWords = {"seq", "map", "optional", "sparse_tensor", "opaque",
                                        "inf", "nan", "infinity", "int4",          "uint4"};
  for (std::string_view w : kWords)
    if (s == w) return true;
  return dtype_from_name(s) != DType::Undefined;
}

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";  // a line of this text is one of ours
    else
      out += c;
  }
  return out + "\"";
}

std::string identifier(std::string_view s) {
  return is_identifier(s) && !is_reserved(s) ? std::string(s) : quoted(s);
}

// The parser takes no quoted name for a graph in an attribute, and such a name means nothing.
std::string graph_identifier(std::string_view s) {
  std::string out;
  for (char c : s) out += is_identifier(std::string("_") + c) ? c : '_';
  if (!is_identifier(out) || is_reserved(out)) out.insert(0, "_");
  return out;
}

std::string dims(const std::vector<Dim>& list) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out += ",";
    out += list[i].is_symbol() ? identifier(list[i].symbol) : to_string(list[i]);
  }
  return out + "]";
}

// "float[batch,3]"; "float" is 0-d and "float[]" of unknown rank. Empty for an unknown type.
}  // namespace

std::string type_text(const Type& t) {
  switch (t.kind) {
    case Type::Kind::Tensor: {
      std::string out(name(t.dtype));
      if (!t.shape) return out + "[]";
      return t.shape->empty() ? out : out + dims(*t.shape);
    }
    case Type::Kind::Sequence:
      return "seq(" + (t.element ? type_text(*t.element) : "") + ")";
    case Type::Kind::Optional:
      return "optional(" + (t.element ? type_text(*t.element) : "") + ")";
    case Type::Kind::Unknown:
      break;
  }
  return "";
}

namespace {

template <class List, class F>
std::string join(const List& list, const F& text) {
  std::string out;
  for (const auto& e : list) {
    if (!out.empty()) out += ", ";
    out += text(e);
  }
  return out;
}

template <class T>
std::string integers(const Tensor& t) {
  return join(t.values<T>(), [](T v) { return std::to_string(v); });
}

std::string elements(const Tensor& t) {
  if (t.numel() > kMostElements) return "<" + std::to_string(t.numel()) + " elements>";
  auto list = [&]() -> std::string {
    switch (t.dtype()) {
      case DType::String:
        return join(t.strings(), quoted);
      case DType::Float:
        return join(t.values<float>(), [](float x) { return float_text(x); });
      case DType::Double:
        return join(t.values<double>(), [](double x) { return float_text(x); });
      case DType::Complex64:
      case DType::Complex128: {  // pairs of real and imaginary part
        const auto* f = static_cast<const float*>(t.data());
        const auto* d = static_cast<const double*>(t.data());
        std::string out;
        for (int64_t i = 0; i < 2 * t.numel(); ++i)
          out += (i ? ", " : "") +
                 (t.dtype() == DType::Complex64 ? float_text(f[i]) : float_text(d[i]));
        return out;
      }
      case DType::Int8:
        return integers<int8_t>(t);
      case DType::Int16:
        return integers<int16_t>(t);
      case DType::Int32:
        return integers<int32_t>(t);
      case DType::Int64:
        return integers<int64_t>(t);
      case DType::UInt32:
        return integers<uint32_t>(t);
      case DType::UInt64:
        return integers<uint64_t>(t);
      default:
        break;
    }
    // Small unsigned integers, bool, and the bit patterns of 16 and 8 bit floats.
    return byte_size(t.dtype()) == 2 ? integers<uint16_t>(t) : integers<uint8_t>(t);
  };
  return "{" + list() + "}";
}

std::string tensor_type_text(const Tensor& t) {
  std::vector<Dim> list;
  for (int64_t d : t.dims()) list.push_back(Dim::of(d));
  return type_text(Type::tensor(t.dtype(), std::move(list)));
}

std::string opset_text(const std::map<std::string, int64_t>& opsets) {
  return "opset_import: [" +
         join(opsets,
              [](const auto& entry) {
                return quoted(entry.first) + " : " + std::to_string(entry.second);
              }) +
         "]";
}

class Printer {
 public:
  std::string out;

  void graph(const Graph& g, const std::string& graph_name, int indent) {
    out += graph_name + " (" + join(g.inputs, [](Value* v) { return declared(*v); }) + ") => (" +
           join(g.outputs, [](Value* v) { return declared(*v); }) + ")";
    if (!g.initializers.empty()) {
      out += "\n<\n";
      for (size_t i = 0; i < g.initializers.size(); ++i) {
        const Value& v = *g.initializers[i];
        out += "  " + (v.data ? tensor_type_text(*v.data) : type_text(v.type)) + " " +
               identifier(v.name) + " = " + (v.data ? elements(*v.data) : "<no data>") +
               (i + 1 < g.initializers.size() ? ",\n" : "\n");
      }
      out += ">\n{\n";
    } else {
      out += indent ? " {\n" : "\n{\n";
    }
    for (const auto& n : g.nodes) node(*n, indent + 2);
    out += std::string(indent, ' ') + "}";
  }

  void function(const Function& f) {
    out +=
        "<domain: " + quoted(f.domain) + ", " + opset_text(f.opsets) + ">\n" + identifier(f.name);
    if (!f.attributes.empty()) out += " <" + join(f.attributes, identifier) + ">";
    out +=
        " (" + join(f.body.inputs, operand) + ") => (" + join(f.body.outputs, operand) + ")\n{\n";
    for (const auto& n : f.body.nodes) node(*n, 2);
    out += "}\n";
  }

 private:
  static std::string declared(const Value& v) {
    std::string type = type_text(v.type);
    return type.empty() ? identifier(v.name) : type + " " + identifier(v.name);
  }

  static std::string operand(const Value* v) { return v ? identifier(v->name) : "\"\""; }

  void node(const Node& n, int indent) {
    out += std::string(indent, ' ') + join(n.outputs, operand) + " = ";
    if (!n.domain.empty()) out += n.domain + ".";
    out += n.op;
    bool nested = false;
    for (const auto& [key, a] : n.attributes)
      nested |= std::holds_alternative<std::shared_ptr<Graph>>(a);
    if (!nested) attributes(n, indent);
    out += " (" + join(n.inputs, operand) + ")";
    if (nested) attributes(n, indent);
    std::string types = join(n.outputs, [](const Value* v) {
      std::string t = v ? type_text(v->type) : "";
      return t.empty() ? "?" : t;
    });
    if (types.find_first_not_of("?, ") != std::string::npos) out += "  # " + types;
    out += "\n";
  }

  void attributes(const Node& n, int indent) {
    if (n.attributes.size() == 0) return;
    const char* separator = " <";
    for (const auto& [key, a] : n.attributes) {
      out += separator + key;
      separator = ", ";
      std::visit([&](const auto& v) { attribute(v, indent); }, a);
    }
    out += ">";
  }

  void attribute(const Reference& v, int) { out += " = @" + v.name; }
  void attribute(int64_t v, int) { out += " = " + std::to_string(v); }
  void attribute(float v, int) { out += " = " + float_text(v); }
  void attribute(const std::string& v, int) { out += " = " + quoted(v); }
  // An empty list has no type of its own in the syntax.
  void attribute(const Ints& v, int) {
    out += v.empty() ? ": ints = []"
                     : " = [" + join(v, [](int64_t i) { return std::to_string(i); }) + "]";
  }
  void attribute(const Floats& v, int) {
    out +=
        v.empty() ? ": floats = []" : " = [" + join(v, [](float x) { return float_text(x); }) + "]";
  }
  void attribute(const Strings& v, int) {
    out += v.empty() ? ": strings = []" : " = [" + join(v, quoted) + "]";
  }
  void attribute(const TensorPtr& v, int) {
    out += v ? " = " + tensor_type_text(*v) + " " + elements(*v) : " = <no data>";
  }
  void attribute(const Type& v, int) { out += ": type_proto = " + type_text(v); }
  void attribute(const std::shared_ptr<Graph>& v, int indent) {
    out += " = ";
    if (v)
      graph(*v, graph_identifier(v->name), indent);
    else
      out += "<no graph>";
  }
};

}  // namespace

std::string print(const Model& m) {
  Printer p;
  p.out = "<\n";
  if (m.ir_version) p.out += "  ir_version: " + std::to_string(m.ir_version) + ",\n";
  p.out += "  " + opset_text(m.opsets);
  if (!m.doc.empty()) p.out += ",\n  doc_string: " + quoted(m.doc);
  if (!m.metadata.empty())
    p.out +=
        ",\n  metadata_props: [" +
        join(m.metadata,
             [](const auto& entry) { return quoted(entry.first) + " : " + quoted(entry.second); }) +
        "]";
  p.out += "\n>\n";
  p.graph(m.graph, m.graph.name.empty() ? "graph" : identifier(m.graph.name), 0);
  p.out += "\n";
  for (const Function& f : m.functions) p.function(f);
  return p.out;
}

}  // namespace oe::ir
