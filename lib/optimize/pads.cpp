// A Pad of zeros goes into the Conv or AveragePool that reads its result, a Pad of -inf into a
// MaxPool.
//
//   p = Pad (x, {0, 0, 1, 1, 0, 0, 1, 1})
//   y = Conv (p, w)                         =>  y = Conv <pads = [1, 1, 1, 1]> (x, w)
//
// ONNX Runtime wants the pads of a pool to be less than its kernel; others stay.
#include <cmath>
#include <numeric>

#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {

using namespace ir;

namespace {

class Pads {
 public:
  explicit Pads(Model& m) : r_(m) {}

  bool run() {
    return r_.walk([this](Node& n) {
      const bool max = n.is("MaxPool");
      if (!max && !n.is("Conv") && !n.is("AveragePool")) return;
      const Node* pad = produced_by(n.inputs[0], "Pad");
      if (!pad || n.attributes.get_or<std::string>("auto_pad", "NOTSET") != "NOTSET") return;
      auto pads = spatial(*pad);
      if (!pads || !pads_with(*pad, max)) return;
      const auto* own = n.attributes.get<Ints>("pads");
      if (own && own->size() != pads->size()) return;
      if (!n.is("Conv") && !fits_pool(n, *pads, own)) return;
      for (size_t i = 0; own && i < own->size(); ++i) (*pads)[i] += (*own)[i];
      n.attributes.set("pads", std::move(*pads));
      if (n.is("AveragePool")) n.attributes.set("count_include_pad", int64_t{1});
      n.inputs[0] = pad->inputs[0];
      r_.mark_changed();
    });
  }

 private:
  Rewriter r_;

  // The pads of the axes from 2 on; nothing where one is negative or another axis is padded.
  std::optional<Ints> spatial(const Node& pad) const {
    const int64_t rank = pad.inputs[0] ? pad.inputs[0]->rank().value_or(0) : 0;
    const auto listed = r_.ints(pad.input(1));
    if (rank < 3 || !listed) return std::nullopt;
    Ints axes;
    if (pad.input(3)) {
      const auto given = r_.ints(pad.input(3));
      if (!given) return std::nullopt;
      axes = *given;
    } else {
      axes.resize(static_cast<size_t>(rank));
      std::iota(axes.begin(), axes.end(), 0);
    }
    if (listed->size() != 2 * axes.size()) return std::nullopt;
    const auto spatial = static_cast<size_t>(rank) - 2;
    Ints pads(2 * spatial, 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = normalized(axes[i], rank);
      const int64_t begin = (*listed)[i], end = (*listed)[axes.size() + i];
      if (!axis || begin < 0 || end < 0) return std::nullopt;
      if (*axis < 2 && (begin != 0 || end != 0)) return std::nullopt;
      if (*axis < 2) continue;
      pads[static_cast<size_t>(*axis) - 2] = begin;
      pads[static_cast<size_t>(*axis) - 2 + spatial] = end;
    }
    return pads;
  }

  // Whether it pads with zeros, or with what no maximum is.
  bool pads_with(const Node& pad, bool lowest) const {
    if (pad.attributes.get_or<std::string>("mode", "constant") != "constant" ||
        !is_float(pad.inputs[0]->type.dtype))
      return false;
    if (!pad.input(2)) return !lowest;
    const TensorPtr value = r_.constant(pad.input(2));
    if (!value || value->numel() != 1 || !is_float(value->dtype())) return false;
    const double v = value->as_double()[0];
    return lowest ? std::isinf(v) && v < 0 : v == 0;
  }

  static bool is_float(DType t) { return t == DType::Float || t == DType::Double; }

  static bool fits_pool(const Node& n, const Ints& pads, const Ints* own) {
    const auto* kernel = n.attributes.get<Ints>("kernel_shape");
    if (!kernel || 2 * kernel->size() != pads.size() || n.outputs.size() > 1 ||
        n.attributes.get_or<int64_t>("ceil_mode", 0) != 0)
      return false;
    if (const auto* dilations = n.attributes.get<Ints>("dilations"))
      if (std::ranges::any_of(*dilations, [](int64_t d) { return d != 1; })) return false;
    const bool padded = own && std::ranges::any_of(*own, [](int64_t p) { return p != 0; });
    if (padded && n.is("AveragePool") && n.attributes.get_or<int64_t>("count_include_pad", 0) == 0)
      return false;
    for (size_t i = 0; i < pads.size(); ++i)
      if (pads[i] + (own ? (*own)[i] : 0) >= (*kernel)[i % kernel->size()]) return false;
    return true;
  }
};

}  // namespace

bool merge_pads(Model& m, const Options&) { return Pads(m).run(); }

}  // namespace oe::optimize
