// Axes of operators that look elements up, and of those whose sizes are born from data.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "lib/capture/operators/axes/axes.h"

namespace oe::capture {
namespace {

bool is_mask(const TensorValue& t) {
  const auto type = t.c.any().toTensor().scalar_type();
  return type == c10::ScalarType::Bool || type == c10::ScalarType::Byte;
}

Axes embedding(const AxisCall& c) {
  std::vector<Axis> axes = c.tensor({"indices"}).axes;
  axes.push_back(c.tensor({"weight"}).axes[1]);
  return axes;
}

// embedding_bag: a bag for each offset, also for indices of two axes. Its other results are not
// used.
Axes bags(const AxisCall& c) {
  const AbstractValue* last = c.arg("include_last_offset");
  if (c.index != 0 && c.computed({"mode"})) return unknown_rank(c);
  if (c.index != 0 || c.rank != 2 || !last || !last->is_constant_number()) return std::nullopt;
  Axis rows = c.tensor({"offsets"}).axes.at(0);
  if (last->c.at(0).toBool()) rows = c.sized_by(rows.taint);
  return std::vector<Axis>{rows, c.tensor({"weight"}).axes[1]};
}

Axes index_selected(const AxisCall& c) {
  std::vector<Axis> axes = c.self().axes;
  if (axes.empty()) return axes;
  const auto dim = c.constant("dim");
  if (!dim) return std::nullopt;
  const TensorValue& index = c.tensor({"index"});
  axes[wrapped(*dim, axes.size())] = index.axes.empty() ? Axis{} : index.axes[0];
  return axes;
}

Axes gathered(const AxisCall& c) { return c.tensor({"index"}).axes; }

// The features of a sequence stay; the lengths, which are data, say how many rows there are.
Axes sequence(const AxisCall& c, size_t born, size_t features_from) {
  if (c.index != 0) return data_sized(c);
  std::vector<Axis> axes;
  for (size_t i = 0; i < born; ++i) axes.push_back(c.fresh(Taint::Data));
  const std::vector<Axis>& in = c.self().axes;
  axes.insert(axes.end(),
              in.begin() + static_cast<std::ptrdiff_t>(std::min(features_from, in.size())),
              in.end());
  return axes;
}
Axes packed_sequence(const AxisCall& c) { return sequence(c, 1, 2); }
Axes padded_sequence(const AxisCall& c) { return sequence(c, 2, 1); }

Axes histogram(const AxisCall& c) { return std::vector<Axis>{c.sized_by(c.taint({"bins"}))}; }

// The elements say how many classes there are where no number does.
Axes classes(const AxisCall& c) {
  std::vector<Axis> axes = c.self().axes;
  const AbstractValue& count = *c.arg("num_classes");
  const bool counted = count.is_constant_number() && count.c.at(0).toInt() < 0;
  axes.push_back(counted ? c.fresh(Taint::Data) : c.number(count));
  return axes;
}

// nonzero_static: so many positions, a number for each axis.
Axes positions(const AxisCall& c) {
  if (!c.self().ranked) return std::nullopt;
  return std::vector<Axis>{c.number(*c.arg("size")), {}};
}

// The diagonal of two axes is a new one behind the others.
Axes diagonal(const AxisCall& c) {
  const TensorValue& in = c.tensor({"self", "A"});
  const auto one = c.constant("dim1"), two = c.constant("dim2");
  if (!one || !two) return std::nullopt;
  const size_t first = wrapped(*one, in.axes.size()), second = wrapped(*two, in.axes.size());
  std::vector<Axis> axes;
  for (size_t i = 0; i < in.axes.size(); ++i)
    if (i != first && i != second) axes.push_back(in.axes[i]);
  axes.push_back(
      c.sized_by(join(c.taint({"offset"}), join(in.axes[first].taint, in.axes[second].taint))));
  return axes;
}

constexpr AxisRow kIndexing[] = {
    {"aten::embedding", embedding},
    {"aten::embedding_bag", bags},
    {"aten::_embedding_bag", bags},
    {"aten::index", indexed},
    {"aten::_unsafe_index", indexed},
    {"aten::index_select", index_selected},
    {"aten::gather", gathered},
    {"aten::nonzero", data_sized},
    {"aten::nonzero_numpy", data_sized},
    {"aten::argwhere", data_sized},
    {"aten::masked_select", data_sized},
    {"aten::unique_dim", data_sized},
    {"aten::_unique", data_sized},
    {"aten::_unique2", data_sized},
    {"aten::unique_consecutive", data_sized},
    {"aten::unique_dim_consecutive", data_sized},
    {"aten::bincount", data_sized},
    {"aten::histc", histogram},
    {"aten::one_hot", classes, "self"},
    {"aten::nonzero_static", positions},
    {"aten::diagonal", diagonal},
    {"aten::diagonal_copy", diagonal},
    {"aten::linalg_diagonal", diagonal},
    {"aten::_pack_padded_sequence", packed_sequence, "lengths"},
    {"aten::_pad_packed_sequence", padded_sequence, "batch_sizes"},
    {"torchvision::nms", data_sized},
};

}  // namespace

Axes indexed(const AxisCall& c) {
  const TensorValue& in = c.self();
  std::vector<TensorValuePtr> integers;
  std::vector<TensorValue> from_masks;
  std::vector<Axis> before, after;
  size_t axis = 0;
  bool started = false, ended = false, apart = false;
  for (const AbstractValue& s : c.arg("indices")->list()->items) {
    TensorValuePtr t = s.is(K::Tensor) ? c.read(s) : nullptr;
    if (!t) {
      if (started) ended = true;
      (started ? after : before).push_back(in.axes[axis++]);
      continue;
    }
    if (ended) apart = true;
    started = true;
    if (is_mask(*t)) {
      auto positions = std::make_shared<TensorValue>();
      positions->axes = {t->taint == Taint::Constant ? Axis{} : c.fresh(Taint::Data)};
      int64_t count = 0;
      for (size_t w = 0; w < c.worlds; ++w)
        if (t->c.has(w)) count = t->c.at(w).toTensor().sum().item<int64_t>();
      positions->c = PerWorld::constant(at::empty({count}));
      axis += t->axes.size();
      integers.push_back(positions);
    } else {
      integers.push_back(t);
      ++axis;
    }
  }
  for (; axis < in.axes.size(); ++axis) (started ? after : before).push_back(in.axes[axis]);
  std::vector<const TensorValue*> raw;
  size_t rank = 0;
  for (const auto& t : integers) {
    raw.push_back(t.get());
    rank = std::max(rank, t->axes.size());
  }
  std::vector<Axis> joined = broadcast_axes(c, raw, rank);
  std::vector<Axis> axes;
  if (apart) {
    axes = joined;
    axes.insert(axes.end(), before.begin(), before.end());
  } else {
    axes = before;
    axes.insert(axes.end(), joined.begin(), joined.end());
  }
  axes.insert(axes.end(), after.begin(), after.end());
  return axes;
}

bool has_mask(const AxisCall& c) {
  return std::ranges::any_of(c.arg("indices")->list()->items, [&](const AbstractValue& s) {
    return s.is(K::Tensor) && c.read(s)->taint != Taint::Constant && is_mask(*c.read(s));
  });
}

Axes data_sized(const AxisCall& c) {
  std::vector<Axis> axes;
  const bool positions = c.op.base == "aten::nonzero" || c.op.base == "aten::argwhere";
  for (size_t i = 0; i < c.rank; ++i)
    axes.push_back(positions && i == 1 ? Axis{} : c.fresh(Taint::Data));
  return axes;
}

std::span<const AxisRow> index_axes() { return kIndexing; }

}  // namespace oe::capture
