// Which axes of an example can have other sizes.
#include <optional>

#include "lib/infer/infer.h"
#include "lib/infer/shadow.h"
#include "lib/infer/shape_run.h"
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

  // Whether the method comes through with these axes at some other size, and at which; if not, why.
  // A size near by is none: 29 where 28 is wanted passes only because pools round down. Nor is one
  // element, which goes with any number of them.
  std::optional<int64_t> moves(const std::vector<Axis>& axes, std::string& why) {
    const int64_t n = size(axes[0]);
    for (const int64_t other : {2 * n, n + 32, n / 2}) {
      if (other == n || other < 2) continue;
      Sizes sizes = sizes_;
      for (const auto& [leaf, axis] : axes) sizes[leaf][axis] = other;
      const std::string refusal = refused(sizes);
      if (refusal.empty()) return other;
      if (why.empty()) why = refusal;
    }
    return std::nullopt;
  }

  bool runs() { return refused(sizes_).empty(); }
  int64_t size(const Axis& a) const { return sizes_[a.first][a.second]; }
  void set(const std::vector<Axis>& axes, int64_t n) {
    for (const auto& [leaf, axis] : axes) sizes_[leaf][axis] = n;
  }

 private:
  std::string refused(const Sizes& sizes) {
    Arguments a;
    try {
      for (const c10::IValue& v : torch_io::resized_inputs(example_, sizes, example_.options.seed))
        a.values.push_back({map_tensors(v, without_data)});
    } catch (const c10::Error&) {
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
  const auto free = [&](const std::vector<Axis>& axes, int64_t moved) {
    const auto [leaf, axis] = axes[0];
    const std::string& own = e.leaves[leaf].axis_names[axis];
    const std::string symbol =
        own.empty() ? torch_io::automatic_axis_name(e.leaves[leaf].name, axis) : own;
    // Only smaller sizes run: a table ends there.
    const int64_t most = moved < probe.size(axes[0]) ? probe.size(axes[0]) : 0;
    for (const auto& [l, a] : axes) all[l][a] = {true, symbol, "", most};
  };
  std::string unused;
  for (size_t leaf = 0; leaf < all.size(); ++leaf)
    for (size_t axis = 0; axis < all[leaf].size(); ++axis) {
      if (all[leaf][axis].free || e.leaves[leaf].role != torch_io::Role::Own) continue;
      // Axes of the same position and size, which may have to agree.
      std::vector<Axis> alike = {{leaf, axis}};
      const int64_t n = probe.size({leaf, axis});
      for (size_t other = leaf + 1; other < all.size(); ++other)
        if (axis < all[other].size() && !all[other][axis].free && probe.size({other, axis}) == n)
          alike.emplace_back(other, axis);
      // One element goes with any number of them: whether axes agree shows at two.
      const auto together = alike.size() > 1 ? probe.moves(alike, unused) : std::nullopt;
      const bool ones = n == 1 && together;
      if (ones) probe.set(alike, 2);
      std::string why;
      if (const auto moved = probe.moves({{leaf, axis}}, why)) {
        free({{leaf, axis}}, *moved);
      } else if (together) {
        // Those that move alone have a size of their own.
        std::erase_if(alike,
                      [&](const Axis& a) { return a != alike[0] && probe.moves({a}, unused); });
        free(alike, *together);
      } else {
        all[leaf][axis].reason = why;
      }
      if (ones) probe.set(alike, 1);
    }
  return all;
}

}  // namespace oe::infer
