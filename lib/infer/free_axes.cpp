// Which axes of an example can have other sizes.
#include "lib/infer/infer.h"
#include "lib/infer/shadow.h"
#include "lib/infer/shape_run.h"
#include "lib/support/text.h"
#include "lib/torch/axes.h"

namespace oe::infer {
namespace {

using Axis = std::pair<size_t, size_t>;  // leaf, its axis
using Sizes = std::vector<std::vector<int64_t>>;

class Probe {
 public:
  Probe(const torch_io::Loaded& m, const torch_io::ExampleInputs& e) : module_(m), example_(e) {
    for (const torch_io::InputLeaf& l : e.leaves)
      sizes_.push_back(l.value.isTensor() ? l.value.toTensor().sizes().vec()
                                          : std::vector<int64_t>{});
  }

  // Whether the method comes through with these axes at some other size; if not, why. A size near
  // by is none: 29 where 28 is wanted passes only because pools round down.
  bool moves(const std::vector<Axis>& places, std::string& why) {
    const int64_t n = size(places[0]);
    for (const int64_t other : {2 * n, n + 32, n / 2}) {
      if (other == n || other == 0) continue;
      Sizes sizes = sizes_;
      for (const auto& [leaf, axis] : places) sizes[leaf][axis] = other;
      const std::string refusal = refused(sizes);
      if (refusal.empty()) return true;
      if (why.empty()) why = refusal;
    }
    return false;
  }

  bool runs() { return refused(sizes_).empty(); }
  int64_t size(const Axis& p) const { return sizes_[p.first][p.second]; }

 private:
  std::string refused(const Sizes& sizes) {
    Arguments a;
    try {
      for (const c10::IValue& v : torch_io::resized_inputs(example_, sizes, example_.seed))
        a.values.push_back({map_tensors(v, [](const at::Tensor& t) {
                              return t.numel() > kComputed ? shadow(t) : t;
                            })});
    } catch (const c10::Error& e) {
      return "it cannot be made";
    }
    const Run r = run_shapes(module_, a, {});
    return r.stop ? describe(*r.stop) : "";
  }

  const torch_io::Loaded& module_;
  const torch_io::ExampleInputs& example_;
  Sizes sizes_;
};

}  // namespace

std::vector<std::vector<Freedom>> free_axes(const torch_io::Loaded& m,
                                            const torch_io::ExampleInputs& e) {
  std::vector<std::vector<Freedom>> all;
  for (const torch_io::InputLeaf& l : e.leaves) all.emplace_back(l.axis_names.size());
  Probe probe(m, e);
  if (!probe.runs()) return all;
  for (size_t leaf = 0; leaf < all.size(); ++leaf)
    for (size_t axis = 0; axis < all[leaf].size(); ++axis) {
      if (all[leaf][axis].free || !e.leaves[leaf].attribute.empty()) continue;
      std::vector<Axis> places = {{leaf, axis}};
      std::string why;
      if (!probe.moves(places, why)) {
        for (size_t other = leaf + 1; other < all.size(); ++other)
          if (axis < all[other].size() && !all[other][axis].free &&
              probe.size({other, axis}) == probe.size({leaf, axis}))
            places.emplace_back(other, axis);
        std::string together;
        if (places.size() == 1 || !probe.moves(places, together)) {
          all[leaf][axis].reason = why;
          continue;
        }
      }
      const std::string& own = e.leaves[leaf].axis_names[axis];
      const std::string symbol =
          own.empty() ? torch_io::automatic_axis_name(e.leaves[leaf].name, axis + 1) : own;
      for (const auto& [l, a] : places) all[l][a] = {true, symbol, ""};
    }
  return all;
}

}  // namespace oe::infer
