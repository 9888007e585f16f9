// The body of a rule of the user: nodes in ONNX's text syntax that stand for one node.
#include "lib/onnx/rule_body.h"

#include <onnx/checker.h>
#include <onnx/defs/parser.h>

#include <algorithm>
#include <cstdio>

#include "lib/onnx/body.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/registry.h"
#include "lib/onnx/schema.h"

namespace oe::onnx {

struct RuleBody::Proto {
  std::shared_ptr<pb::FunctionProto> function = std::make_shared<pb::FunctionProto>();
};

namespace {

// The parser's message without its frame: "[ParseError at position (line: 7 column: 58)]\nError
// context: ...\nIdentifier expected but not found."
TextError text_error(const std::string& message) {
  int line = 0, column = 0;
  if (const size_t at = message.find("(line: "); at != std::string::npos)
    std::sscanf(message.c_str() + at, "(line: %d column: %d)", &line, &column);
  const size_t last = message.find_last_of('\n');
  return {last == std::string::npos ? message : message.substr(last + 1), line, column};
}

struct Used {
  std::set<std::string> values, attributes, domains;
  template <class Nodes>
  void look(const Nodes& nodes) {
    for (const auto& n : nodes) {
      if (!n.domain().empty() && n.domain() != "ai.onnx") domains.insert(n.domain());
      values.insert(n.input().begin(), n.input().end());
      for (const auto& a : n.attribute()) {
        if (!a.ref_attr_name().empty()) attributes.insert(a.ref_attr_name());
        if (!a.has_g()) continue;
        look(a.g().node());
        for (const auto& o : a.g().output()) values.insert(o.name());
      }
    }
  }
};

// Every result is made by a node, every attribute and operator exists.
void check_body(const pb::FunctionProto& f, const std::vector<std::string>& parameters,
                const Used& used) {
  std::set<std::string> made;
  for (const auto& n : f.node()) made.insert(n.output().begin(), n.output().end());
  for (const std::string& r : f.output())
    if (!made.contains(r)) throw TextError("no node computes the result '" + r + "'", 0, 0);
  for (const std::string& a : used.attributes)
    if (std::find(parameters.begin(), parameters.end(), a) == parameters.end())
      throw TextError("'@" + a + "' is not one of the parameters", 0, 0);
  pb::checker::CheckerContext context;
  std::unordered_map<std::string, int> opsets;
  for (const auto& o : f.opset_import()) opsets[o.domain()] = static_cast<int>(o.version());
  context.set_opset_imports(opsets);
  context.set_ir_version(static_cast<int>(newest_ir_version()));
  context.set_schema_registry(&registry());
  try {
    pb::checker::check_function(f, context, pb::checker::LexicalScopeContext());
  } catch (const std::exception& e) {
    std::string why = e.what();
    if (const size_t end = why.find("\n\n"); end != std::string::npos) why.resize(end);
    throw TextError(why, 0, 0);
  }
}

}  // namespace

RuleBody::RuleBody(const std::string& text, const std::vector<std::string>& parameters,
                   const std::vector<std::string>& results, int64_t opset)
    : opset_(opset) {
  Proto proto;
  pb::FunctionProto& f = *proto.function;
  // The function's head goes before the text on its first line, so that lines stay what they are;
  // columns of the opening brace's own line are moved back.
  const std::string head =
      "<domain: \"rule\", opset_import: [\"\" : " + std::to_string(opset) + "]> rule () => ()";
  const size_t open = text.find('{');
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(open), '\n');
  const std::string whole = text.substr(0, open) + head + text.substr(open);
  pb::OnnxParser parser(whole);
  if (const auto status = parser.Parse(f); !status.IsOK()) {
    TextError e = text_error(status.ErrorMessage());
    if (e.line == line) e.column -= static_cast<int>(head.size());
    throw e;
  }
  Used used;
  used.look(f.node());
  for (const std::string& p : parameters) {
    if (used.values.contains(p)) tensors_.push_back(p);
    if (used.attributes.contains(p)) attributes_.push_back(p);
  }
  for (const std::string& t : tensors_) f.add_input(t);
  for (const std::string& a : attributes_) f.add_attribute(a);
  for (const std::string& r : results) f.add_output(r);
  domains_ = used.domains;
  for (const std::string& d : domains_) {
    auto* import = f.add_opset_import();
    import->set_domain(d);
    import->set_version(1);
  }
  check_body(f, parameters, used);
  proto_ = std::make_shared<const Proto>(std::move(proto));
}

std::string RuleBody::incompatible(int64_t opset) const {
  return onnx::incompatible(*proto_->function, opset_, opset);
}

void RuleBody::put(ir::Model& m, const ir::Node& n, int64_t opset,
                   std::vector<std::unique_ptr<ir::Node>>& out) const {
  put_body(
      m, n, proto_->function, opset,
      [&](const std::string& name) { return n.attributes.find(name); }, out);
}

ir::Function RuleBody::function(ir::Model& m, const std::string& domain,
                                const std::string& name) const {
  ir::Function f{domain, name, attributes_, {{"", m.opset()}}, {}};
  for (const std::string& d : domains_) f.opsets[d] = m.opsets.at(d);
  NodeReader reader(m, proto_->function, {});
  NodeReader::Scope scope;
  for (const std::string& t : tensors_) {
    f.body.inputs.push_back(m.new_value(t));
    scope.values[t] = f.body.inputs.back();
  }
  for (const auto& node : proto_->function->node()) {
    reader.declare(node, scope);
    f.body.nodes.push_back(reader.node(node, scope));
  }
  for (const std::string& r : proto_->function->output())
    f.body.outputs.push_back(scope.values.at(r));
  return f;
}

}  // namespace oe::onnx
