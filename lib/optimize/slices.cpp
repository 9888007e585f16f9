// Slice of Slice becomes one; Slice, Split and Gather of Concat: parts.cpp.
//
//   a = Slice (x, {4}, {16}, {1})
//   y = Slice (a, {2}, {8}, {2})       =>  y = Slice (x, {4,2}, {16,8}, {1,2})
//   z = Slice (a, {2}, {8}, {1})       =>  z = Slice (x, {6}, {12}, {1})
#include <algorithm>
#include <utility>

#include "lib/optimize/parts.h"
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

struct Cut {
  Ints starts, ends, axes, steps;
};

class MergingSlices {
 public:
  explicit MergingSlices(Model& m) : rewriter_(m), uses_(use_counts(m)) {}

  bool run() {
    return rewriter_.walk([this](Node& n) {
      if (!n.is("Slice")) return;
      const Node* inner = produced_by(n.inputs[0], "Slice");
      if (!inner) return;
      auto first = cut_of(*inner);
      const auto second = cut_of(n);
      if (!first || !second) return;
      const bool only_within = std::ranges::includes(sorted(first->axes), sorted(second->axes));
      // One that others read stays. On other axes it is cheaper to cut again than all that it was
      // cut from.
      if (uses_[n.inputs[0]] != 1 && !only_within) return;
      if (!add(*first, *second, *inner->inputs[0])) return;
      n.inputs = {inner->inputs[0], rewriter_.new_ints(n.name + "_starts", first->starts),
                  rewriter_.new_ints(n.name + "_ends", first->ends),
                  rewriter_.new_ints(n.name + "_axes", first->axes)};
      if (std::ranges::any_of(first->steps, [](int64_t s) { return s != 1; }))
        n.inputs.push_back(rewriter_.new_ints(n.name + "_steps", first->steps));
      rewriter_.mark_changed();
    });
  }

 private:
  Rewriter rewriter_;
  std::unordered_map<const Value*, size_t> uses_;

  static Ints sorted(Ints v) {
    std::ranges::sort(v);
    return v;
  }

  // Cuts the result of `first`, a cut of `x`, again. False: it cannot be said with one.
  static bool add(Cut& first, const Cut& second, const Value& x) {
    for (size_t i = 0; i < second.axes.size(); ++i) {
      const auto same = std::ranges::find(first.axes, second.axes[i]);
      if (same == first.axes.end()) {
        for (const auto list : {&Cut::starts, &Cut::ends, &Cut::axes, &Cut::steps})
          (first.*list).push_back((second.*list)[i]);
        continue;
      }
      const auto at = static_cast<size_t>(same - first.axes.begin());
      const Dim size = has_rank(&x) ? (*x.type.shape)[static_cast<size_t>(*same)] : Dim();
      if (!size.is_number() || first.steps[at] != 1 || second.steps[i] != 1) return false;
      const int64_t begin = slice_bound(first.starts[at], size.number);
      const int64_t length = std::max<int64_t>(slice_bound(first.ends[at], size.number) - begin, 0);
      first.starts[at] = begin + slice_bound(second.starts[i], length);
      first.ends[at] = std::max(begin + slice_bound(second.ends[i], length), first.starts[at]);
    }
    return true;
  }

  // The numbers of a Slice, axes from 0; nothing where one is computed.
  std::optional<Cut> cut_of(const Node& n) const {
    const auto starts = rewriter_.ints(n.input(1)), ends = rewriter_.ints(n.input(2));
    if (!starts || !ends) return std::nullopt;
    Cut c{*starts, *ends, {}, Ints(starts->size(), 1)};
    for (size_t i = 0; i < starts->size(); ++i) c.axes.push_back(static_cast<int64_t>(i));
    for (const auto& [input, list] : {std::pair(n.input(3), &c.axes), {n.input(4), &c.steps}}) {
      if (!input) continue;
      const auto known = rewriter_.ints(input);
      if (!known) return std::nullopt;
      *list = *known;
    }
    const size_t size = c.starts.size();
    if (c.ends.size() != size || c.axes.size() != size || c.steps.size() != size)
      return std::nullopt;
    for (int64_t& axis : c.axes) {
      if (axis < 0 && !n.inputs[0]->rank()) return std::nullopt;
      if (axis < 0) axis += *n.inputs[0]->rank();
    }
    return c;
  }
};

}  // namespace

bool merge_slices(Model& m, const Options&) {
  const bool parts = read_parts(m);
  return MergingSlices(m).run() || parts;
}

}  // namespace oe::optimize
