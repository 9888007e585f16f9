// Opset 20: Gelu, affine grids, names of the GridSample modes, strings.
#include <algorithm>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Mode names changed; inputs of rank 5 are new.
void grid_sample(Rewriter& r, ir::Node& n) {
  if (r.in(0).rank() != 4) return grid_sample_by_gather(r, n);
  const auto mode = n.attributes.get_or<std::string>("mode", "linear");
  n.attributes.set("mode", mode == "linear"  ? std::string("bilinear")
                           : mode == "cubic" ? std::string("bicubic")
                                             : mode);
  r.keep();
}

void dft(Rewriter& r, ir::Node& n) {
  int64_t axis = -2;
  if (T v = r.in(2)) {
    const auto known = ints(v);
    if (!known) throw Unsupported("needs opset 20 or later where the axis is computed");
    axis = known->at(0);
  }
  n.inputs.resize(std::min<size_t>(n.inputs.size(), 2));
  while (!n.inputs.empty() && !n.inputs.back()) n.inputs.pop_back();
  n.attributes.set("axis", wrapped(axis, axis < 0 ? r.in(0).rank() : 0));
  r.keep();
}

constexpr Row rows[] = {
    rewrite("AffineGrid", affine_grid),
    same("ConstantOfShape"),
    rewrite("DFT", dft),
    rewrite("Gelu", gelu),
    rewrite("GridSample", grid_sample),
    needs("ImageDecoder"),
    same("IsInf"),
    same("IsNaN"),
    same("ReduceMax"),
    same("ReduceMin"),
    needs("RegexFullMatch"),
    needs("StringConcat"),
    needs("StringSplit"),
};

}  // namespace

Rung opset_20() { return rows; }

}  // namespace oe::opsets
