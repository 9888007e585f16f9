// Opset 16: scatter reductions add and mul, GridSample, pixel shift of RoiAlign.
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

void conditional(Rewriter& r, ir::Node& n) {
  for (const ir::Value* v : n.outputs)
    if (v && v->type.kind == ir::Type::Kind::Optional)
      throw Unsupported("needs opset 16 or later for a value that may be absent");
  r.keep();
}

constexpr Row rows[] = {
    same("GreaterOrEqual"),
    rewrite("GridSample", grid_sample_by_gather),
    same("Identity"),
    rewrite("If", conditional),
    same("LeakyRelu"),
    same("LessOrEqual"),
    same("Loop"),
    same("PRelu"),
    rewrite("RoiAlign", roi_align),
    same("Scan"),
    rewrite("ScatterElements", scatter_elements),
    rewrite("ScatterND", scatter_nd),
    same("Where"),
};

}  // namespace

Rung opset_16() { return rows; }

}  // namespace oe::opsets
