// The table of operators beside the schemas and the shape inference of the ONNX library.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "lib/ir/traits.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/schema.h"

using namespace oe;
using namespace oe::ir;

namespace {

const onnx::Schema& last_schema(std::string_view op) {
  for (int64_t opset = kNewestOpset; opset >= kOldestOpset; --opset)
    if (const onnx::Schema* s = onnx::find_schema("", op, opset); s && !s->deprecated) return *s;
  throw std::logic_error("no opset has " + std::string(op));
}

DType type_for(const onnx::Schema& s, const std::string& type) {
  const std::pair<DType, const char*> types[] = {{DType::Float, "tensor(float)"},
                                                 {DType::Int64, "tensor(int64)"},
                                                 {DType::Bool, "tensor(bool)"},
                                                 {DType::UInt8, "tensor(uint8)"}};
  for (const auto& [t, text] : types)
    if (s.constraints.contains(type) ? onnx::lists(s, type, t) : type == text) return t;
  throw std::logic_error(s.name + " takes no type of the test: " + type);
}

Attributes required(std::string_view op) {
  if (op == "Cast") return {{"to", int64_t{1}}};
  if (op == "GroupNormalization") return {{"num_groups", int64_t{1}}};
  if (op == "LRN") return {{"size", int64_t{1}}};
  return {};
}

// The shape that the ONNX library infers for the operator's first result from inputs of these
// dims; inputs beyond them have the last dims.
std::vector<int64_t> inferred(std::string_view op, const std::vector<std::vector<int64_t>>& dims) {
  const onnx::Schema& s = last_schema(op);
  Model m;
  m.opsets[""] = s.since_version;
  m.graph.name = "g";
  const size_t count = std::max<size_t>(s.min_inputs, s.inputs[0].variadic ? dims.size() : 1);
  std::vector<Value*> inputs;
  for (size_t i = 0; i < count; ++i) {
    std::vector<Dim> shape;
    for (const int64_t n : dims[std::min(i, dims.size() - 1)]) shape.push_back(Dim::of(n));
    const onnx::Formal& formal = s.inputs[std::min(i, s.inputs.size() - 1)];
    inputs.push_back(m.new_value("x", Type::tensor(type_for(s, formal.type), std::move(shape))));
  }
  m.graph.inputs = inputs;
  Value* out = m.new_value("y");
  m.graph.nodes.push_back(make_node(m, op, op, inputs, {out}, required(op)));
  m.graph.outputs = {out};
  onnx::infer(m);
  std::vector<int64_t> found;
  if (!out->type.shape) return {-1};
  for (const Dim& d : *out->type.shape) found.push_back(d.is_number() ? d.number : -1);
  return found;
}

}  // namespace

TEST_CASE("every operator of ONNX has a row, and every row is one", "[traits]") {
  std::set<std::string> known;
  for (int64_t opset = kOldestOpset; opset <= kNewestOpset; ++opset)
    for (const std::string& op : onnx::operators(opset)) known.insert(op);
  std::set<std::string> rows;
  for (const Traits& t : all_traits()) rows.emplace(t.op);
  CHECK(rows == known);
}

TEST_CASE("dims of the table are those that ONNX infers", "[traits]") {
  const std::vector<int64_t> dims = {2, 3, 4};
  for (const Traits& t : all_traits()) {
    CAPTURE(t.op);
    if (t.dims == DimRule::Same) {
      // ONNX infers nothing for this one.
      const bool no_rule = t.op == "GroupNormalization";
      const int64_t rest = t.op == "PRelu" ? 1 : 3;
      CHECK(inferred(t.op, {dims, {rest}}) == (no_rule ? std::vector<int64_t>{-1} : dims));
    }
    if (t.dims == DimRule::Broadcast) CHECK(inferred(t.op, {{2, 1, 4}, {3, 1}, {3, 1}}) == dims);
  }
}

TEST_CASE("facts of the table agree with the types of the schemas", "[traits]") {
  for (const Traits& t : all_traits()) {
    CAPTURE(t.op);
    if (t.has(kElementwise)) CHECK(t.dims == DimRule::Same);
    if (t.has(kMoves) || t.has(kRounds)) {
      const onnx::Schema& s = last_schema(t.op);
      CHECK(s.outputs[0].type == s.inputs[0].type);
    }
    CHECK((t.why.empty() || t.half >= Half::Float32));
  }
}

TEST_CASE("operators of other domains have no facts", "[traits]") {
  Node n;
  n.domain = "custom";
  n.op = "Relu";
  CHECK(traits_of(n).op.empty());
  CHECK(traits_of(n).facts == 0);
  CHECK(traits_of("Relu").has(kElementwise));
}
