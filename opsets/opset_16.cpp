// Opset 16: scatter reductions add and mul, GridSample, pixel shift of RoiAlign, bfloat16 through
// nested graphs.
#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

void roi_align(Rewriter& r, ir::Node& n) {
  // The older form has no pixel shift, and clamps the size of a region, which cannot be undone.
  if (n.attributes.get_or<std::string>("coordinate_transformation_mode", "half_pixel") !=
      "output_half_pixel")
    throw Unsupported("");
  n.attributes.erase("coordinate_transformation_mode");
  r.keep();
}

void scatter_elements(Rewriter& r, ir::Node& n) {
  const auto reduction = n.attributes.get_or<std::string>("reduction", "none");
  if (reduction != "none") return scatter_elements_loop(r, n, reduction == "add" ? "Add" : "Mul");
  n.attributes.erase("reduction");
  r.keep();
}
void scatter_nd(Rewriter& r, ir::Node& n) {
  const auto reduction = n.attributes.get_or<std::string>("reduction", "none");
  if (reduction != "none") return scatter_nd_loop(r, n, reduction == "add" ? "Add" : "Mul");
  n.attributes.erase("reduction");
  r.keep();
}

bool is_bfloat16(const ir::Value* v) {
  return v->type.kind == ir::Type::Kind::Tensor && v->type.dtype == DType::BFloat16;
}

std::unique_ptr<ir::Node> cast_node(ir::Model& m, ir::Value* from, ir::Value* to) {
  return ir::make_node(m, from->name + "_Cast", "Cast", {from}, {to},
                       {{"to", static_cast<int64_t>(to->type.dtype)}});
}

// Before 16 nested graphs take and give no bfloat16: float32, which holds it, goes through. The
// graphs' inputs are the node's from `first_input` on, the node's outputs theirs from
// `first_output` on.
void widen_bfloat16(Rewriter& r, ir::Node& n, std::initializer_list<const char*> graphs,
                    size_t first_input, size_t first_output) {
  ir::Model& m = r.model();
  std::vector<size_t> narrow;  // outputs
  for (const char* name : graphs) {
    const auto* graph = n.attributes.get<std::shared_ptr<ir::Graph>>(name);
    if (!graph) throw Unsupported("");
    ir::Graph& g = **graph;
    narrow.clear();
    for (size_t i = first_output; i < g.outputs.size(); ++i) {
      ir::Value* v = g.outputs[i];
      if (!is_bfloat16(v)) continue;
      g.outputs[i] = m.new_value(v->name + "_wide", like(v, DType::Float));
      g.nodes.push_back(cast_node(m, v, g.outputs[i]));
      narrow.push_back(i - first_output);
    }
    for (size_t i = first_input; i < g.inputs.size(); ++i) {
      ir::Value* v = g.inputs[i];
      if (!is_bfloat16(v)) continue;
      g.inputs[i] = m.new_value(v->name + "_wide", like(v, DType::Float));
      g.nodes.insert(g.nodes.begin(), cast_node(m, g.inputs[i], v));
      n.inputs[i] = cast(r.in(i), DType::Float);
    }
  }
  std::vector<std::pair<T, T>> results;
  for (size_t i : narrow) {
    if (!n.outputs[i]) continue;
    const T original = r.detach(i);
    n.outputs[i]->type.dtype = DType::Float;
    results.emplace_back(original, r.at(n.outputs[i]));
  }
  r.keep();
  for (const auto& [original, wide] : results) r.bind(original, cast(wide, DType::BFloat16));
}

void conditional(Rewriter& r, ir::Node& n) {
  for (const ir::Value* v : n.outputs)
    if (v && v->type.kind == ir::Type::Kind::Optional)
      throw Unsupported("needs opset 16 or later for a value that may be absent");
  widen_bfloat16(r, n, {"then_branch", "else_branch"}, 0, 0);
}
void loop(Rewriter& r, ir::Node& n) { widen_bfloat16(r, n, {"body"}, 2, 1); }
void scan(Rewriter& r, ir::Node& n) { widen_bfloat16(r, n, {"body"}, 0, 0); }

constexpr Row rows[] = {
    same("GreaterOrEqual"),
    rewrite("GridSample", grid_sample_by_gather),
    same("Identity"),
    rewrite("If", conditional),
    same("LeakyRelu"),
    same("LessOrEqual"),
    rewrite("Loop", loop),
    same("PRelu"),
    rewrite("RoiAlign", roi_align),
    rewrite("Scan", scan),
    rewrite("ScatterElements", scatter_elements),
    rewrite("ScatterND", scatter_nd),
    same("Where"),
};

}  // namespace

Rung opset_16() { return rows; }

}  // namespace oe::opsets
