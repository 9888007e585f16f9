// Axes whose sizes are given, and axes that are moved, joined, cut or repeated.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>
#include <map>

#include "lib/capture/operators/axes/axes.h"

namespace oe::capture {
namespace {

// The axis -1 stands for in view(): what is left of the input's axes after the named ones.
Axis inferred_size(const AxisCall& c, const TensorValue& in, const std::vector<Axis>& named,
                   size_t axis) {
  std::map<int, int> left;
  Taint t = Taint::Shape;
  for (const Axis& a : in.axes)
    if (!a.is_static()) {
      ++left[a.id];
      t = join(t, a.taint);
    }
  for (const Axis& a : named)
    if (!a.is_static()) --left[a.id];
  std::erase_if(left, [](const auto& e) { return e.second == 0; });
  if (left.empty()) return {};
  if (left.size() == 1 && left.begin()->second == 1)
    for (size_t i = 0; i < in.axes.size(); ++i)
      if (in.axes[i].id == left.begin()->first && c.same_size(axis, in, i)) return in.axes[i];
  return c.fresh(t);
}

// arange: from 0 in steps of 1 there are as many numbers as `end` says.
Axes counted(const AxisCall& c) {
  auto is = [&](const char* name, int64_t wanted) {
    const AbstractValue* s = c.arg(name);
    return !s || (s->is(K::Int) && s->is_constant_number() && s->c.at(0).toInt() == wanted);
  };
  const AbstractValue& end = *c.arg("end");
  if (c.op.base == "aten::arange" && end.is(K::Int) && is("start", 0) && is("step", 1))
    return std::vector<Axis>{c.number(end)};
  Taint t = Taint::Constant;
  for (const AbstractValue& a : c.args) t = join(t, a.is_number() ? a.taint : Taint::Constant);
  return std::vector<Axis>{c.sized_by(t)};
}
Axes joined(const AxisCall& c, bool stacked) {
  const auto& list = *c.arg("tensors")->list();
  auto dim = c.constant("dim");
  if (!dim) return std::nullopt;
  if (list.is_open()) {
    // All elements agree, save on the axis that they are joined on.
    std::vector<Axis> axes = list.open.sequence()->element.axes;
    for (Axis& a : axes)
      if (!a.is_static() && a.id == 0) a = c.fresh(Taint::Data);
    const Axis joined = c.fresh(Taint::Data);
    const auto at = static_cast<long>(wrapped(*dim, c.rank));
    if (stacked)
      axes.insert(axes.begin() + at, joined);
    else if (axes.size() == c.rank)
      axes[static_cast<size_t>(at)] = joined;
    return axes;
  }
  std::vector<TensorValuePtr> parts;
  for (const AbstractValue& e : list.items) {
    auto t = c.read(e);
    // cat skips one-dimensional empty tensors, whatever the others' rank.
    if (!stacked && t->axes.size() == 1 && c.rank != 1) continue;
    if (t->axes.size() + (stacked ? 1 : 0) != c.rank) return std::nullopt;
    parts.push_back(t);
  }
  const size_t at = wrapped(*dim, c.rank);
  std::vector<Axis> axes(c.rank);
  for (size_t i = 0; i < c.rank; ++i) {
    if (stacked && i == at) continue;
    const size_t source = stacked && i > at ? i - 1 : i;
    if (!stacked && i == at) {
      Taint t = Taint::Constant;
      for (const auto& p : parts) t = join(t, p->axes[i].taint);
      axes[i] = t == Taint::Constant ? Axis{} : parts.size() == 1 ? parts[0]->axes[i] : c.fresh(t);
      continue;
    }
    axes[i] = parts.empty() ? Axis{} : parts[0]->axes[source];
    for (const auto& p : parts)  // they are all equal: one that is known says it for all
      if (p->axes[source].is_static()) axes[i] = {};
  }
  return axes;
}

Axes concatenated(const AxisCall& c) { return joined(c, false); }
Axes stacked(const AxisCall& c) { return joined(c, true); }

bool whole(const AbstractValue& start, const AbstractValue& end, const AbstractValue& step,
           const Axis& axis) {
  const bool from_start =
      start.is(K::None) || (start.is_constant_number() && start.c.at(0).toInt() == 0);
  const bool to_end =
      end.is(K::None) ||
      (end.is_constant_number() && end.c.at(0).toInt() == std::numeric_limits<int64_t>::max()) ||
      (end.is(K::Int) && end.axis_id && end.axis_id == axis.id);
  return from_start && to_end && step.is_constant_number() && step.c.at(0).toInt() == 1;
}

Axes sliced(const AxisCall& c) {
  const TensorValue& in = c.self();
  auto dim = c.constant("dim");
  if (!dim) return std::nullopt;
  const size_t at = wrapped(*dim, in.axes.size());
  std::vector<Axis> axes = in.axes;
  if (c.op.base.starts_with("aten::narrow")) {
    axes[at] = c.number(*c.arg("length"));
    return axes;
  }
  const AbstractValue &start = *c.arg("start"), &end = *c.arg("end"), &step = *c.arg("step");
  if (whole(start, end, step, in.axes[at])) return axes;
  const Taint t = join(in.axes[at].taint, join(step.taint, join(start.taint, end.taint)));
  axes[at] = c.sized_by(t);
  return axes;
}

Axes selected(const AxisCall& c) {
  auto dim = c.constant("dim");
  if (!dim) return std::nullopt;
  std::vector<Axis> axes = c.self().axes;
  axes.erase(axes.begin() + static_cast<long>(wrapped(*dim, axes.size())));
  return axes;
}

Axes unsqueezed(const AxisCall& c) {
  auto dim = c.constant("dim");
  if (!dim) return std::nullopt;
  std::vector<Axis> axes = c.self().axes;
  axes.insert(axes.begin() + static_cast<long>(wrapped(*dim, c.rank)), Axis{});
  return axes;
}

Axes paired(const AxisCall& c) {
  std::vector<Axis> axes = c.self().axes;
  axes.emplace_back();
  return axes;
}

Axes unpaired(const AxisCall& c) {
  std::vector<Axis> axes = c.self().axes;
  axes.pop_back();
  return axes;
}

// Fourier transforms between real and complex: the last of the transformed axes has another size.
Axes transformed(const AxisCall& c) {
  std::vector<Axis> axes = c.self().axes;
  const auto& dims = c.arg("dim")->list()->items;
  if (dims.empty() || !dims.back().is_constant_number()) return std::nullopt;
  Axis& last = axes.at(wrapped(dims.back().c.at(0).toInt(), c.rank));
  if (const AbstractValue* size = c.arg("last_dim_size"))
    last = c.number(*size);
  else if (c.arg("onesided")->c.at(0).toBool())
    last = c.sized_by(last.taint);
  return axes;
}

Axes squeezed(const AxisCall& c) {
  const TensorValue& in = c.self();
  if (c.computed({"dim"})) return unknown_rank(c);
  std::vector<bool> chosen(in.axes.size(), true);
  if (const AbstractValue* dim = c.arg("dim")) {
    std::fill(chosen.begin(), chosen.end(), false);
    std::vector<AbstractValue> dims =
        dim->is(K::List) ? dim->list()->items : std::vector<AbstractValue>{*dim};
    for (const AbstractValue& d : dims)
      if (!chosen.empty()) chosen[wrapped(d.c.at(0).toInt(), chosen.size())] = true;
  }
  std::vector<Axis> axes;
  for (size_t i = 0; i < chosen.size(); ++i) {
    // Perhaps it goes, perhaps not.
    if (chosen[i] && !in.axes[i].is_static()) return unknown_rank(c);
    if (chosen[i] && example_size(in, i) == 1) continue;
    axes.push_back(in.axes[i]);
  }
  return axes;
}

Axes permuted(const AxisCall& c) {
  for (const AbstractValue& a : c.args) {
    const auto computed = [](const AbstractValue& s) {
      return s.is_number() && !s.is_constant_number();
    };
    if (computed(a) || (a.is(K::List) && std::ranges::any_of(a.list()->items, computed)))
      return std::nullopt;
  }
  // Label every axis with a size of its own and look where the labels go.
  const TensorValue& in = c.self();
  std::vector<int64_t> labels;
  for (size_t i = 0; i < in.axes.size(); ++i) labels.push_back(static_cast<int64_t>(i) + 2);
  torch::jit::Stack stack;
  stack.emplace_back(at::empty({1}).expand(labels));
  for (size_t i = 1; i < c.args.size(); ++i) {  // behind `self`
    const AbstractValue& a = c.args[i];
    if (a.is(K::List)) {
      c10::List<int64_t> list;
      for (const AbstractValue& e : a.list()->items) list.push_back(e.c.at(0).toInt());
      stack.emplace_back(list);
    } else {
      stack.push_back(a.c.at(0));
    }
  }
  c.op.op->getOperation()(stack);
  std::vector<Axis> axes;
  for (int64_t label : stack[0].toTensor().sizes())
    axes.push_back(in.axes[static_cast<size_t>(label - 2)]);
  return axes;
}
Axes flattened(const AxisCall& c) {
  const TensorValue& in = c.self();
  const size_t rank = in.axes.size();
  if (c.computed({"start_dim", "end_dim"})) return unknown_rank(c);
  if (rank == 0) return std::vector<Axis>(1);
  const size_t from = wrapped(c.constant("start_dim").value_or(0), rank);
  const size_t to = wrapped(c.constant("end_dim").value_or(-1), rank);
  std::vector<Axis> axes;
  for (size_t i = 0; i < rank; ++i) {
    if (i < from || i > to) {
      axes.push_back(in.axes[i]);
    } else if (i == from) {
      Taint t = Taint::Constant;
      const Axis* only = nullptr;
      bool others_are_one = true;
      for (size_t k = from; k <= to; ++k) {
        t = join(t, in.axes[k].taint);
        if (!in.axes[k].is_static() && !only)
          only = &in.axes[k];
        else if (!in.axes[k].is_static() || example_size(in, k) != 1)
          others_are_one = false;
      }
      axes.push_back(!only ? Axis{} : others_are_one ? *only : c.fresh(t));
    }
  }
  return axes;
}
Axes split(const AxisCall& c) {
  const TensorValue& in = c.self();
  auto dim = c.op.base.ends_with("hsplit") || c.op.base.ends_with("vsplit") ||
                     c.op.base.ends_with("dsplit")
                 ? std::nullopt
                 : c.constant("dim");
  if (!dim) return std::nullopt;
  const size_t at = wrapped(*dim, in.axes.size());
  std::vector<Axis> axes = in.axes;
  if (c.op.base.starts_with("aten::unbind")) {
    axes.erase(axes.begin() + static_cast<long>(at));
    return axes;
  }
  if (c.op.base.find("with_sizes") != std::string::npos) {
    axes[at] = c.number(c.arg("split_sizes")->list()->items.at(c.index));
    return axes;
  }
  axes[at] =
      c.sized_by(join(in.axes[at].taint, c.taint({"split_size", "split_sizes", "chunks", "sections",
                                                  "indices", "tensor_indices_or_sections"})));
  return axes;
}
Axes repeated(const AxisCall& c) {
  const TensorValue& in = c.self();
  const AbstractValue* r = c.arg("repeats");
  if (!r) r = c.arg("dims");
  if (!r || !r->is(K::List)) return std::nullopt;
  std::vector<Axis> axes;
  const auto& items = r->list()->items;
  for (size_t i = 0; i < c.rank; ++i) {
    Axis a;
    int64_t size = 1;
    if (in.axes.size() + i >= c.rank) {
      a = in.axes[in.axes.size() + i - c.rank];
      size = example_size(in, in.axes.size() + i - c.rank);
    }
    const AbstractValue n = items.size() + i >= c.rank ? items[items.size() + i - c.rank]
                                                       : AbstractValue::of(int64_t{1});
    if (n.is_constant_number())
      axes.push_back(n.c.at(0).toInt() == 1 ? a : c.sized_by(a.taint));
    else
      axes.push_back(a.is_static() && size == 1 ? c.number(n) : c.fresh(join(n.taint, a.taint)));
  }
  return axes;
}
// An odd number of quarter turns exchanges the two axes.
Axes turned(const AxisCall& c) {
  const auto turns = c.constant("k");
  const AbstractValue* dims = c.arg("dims");
  if (!turns || !dims || !dims->is(K::List) || dims->list()->items.size() != 2 ||
      c.computed({"dims"}))
    return std::nullopt;
  std::vector<Axis> axes = c.self().axes;
  const auto axis = [&](size_t i) {
    return wrapped(dims->list()->items[i].c.at(0).toInt(), axes.size());
  };
  if (*turns % 2 != 0) std::swap(axes[axis(0)], axes[axis(1)]);
  return axes;
}

constexpr AxisRow kShapes[] = {
    {"aten::view", given_sizes},
    {"aten::reshape", given_sizes},
    {"aten::_reshape_alias", given_sizes},
    {"aten::expand", given_sizes},
    {"aten::broadcast_to", given_sizes},
    {"aten::_unsafe_view", given_sizes},
    {"aten::zeros", given_sizes},
    {"aten::ones", given_sizes},
    {"aten::full", given_sizes},
    {"aten::empty", given_sizes},
    {"aten::rand", given_sizes},
    {"aten::randn", given_sizes},
    {"aten::randint", given_sizes},
    {"aten::new_zeros", given_sizes},
    {"aten::new_ones", given_sizes},
    {"aten::new_full", given_sizes},
    {"aten::new_empty", given_sizes},
    {"aten::normal", given_sizes},
    {"aten::view_copy", given_sizes},
    {"aten::expand_copy", given_sizes},
    {"aten::_reshape_copy", given_sizes},
    {"aten::as_strided_copy", given_sizes},
    {"aten::arange", given_sizes},
    {"aten::linspace", given_sizes},
    {"aten::eye", given_sizes},
    {"aten::range", given_sizes},
    {"aten::as_strided", given_sizes},
    {"aten::unflatten", given_sizes},
    {"aten::logspace", given_sizes},
    {"aten::hann_window", given_sizes},
    {"aten::hamming_window", given_sizes},
    {"aten::blackman_window", given_sizes},
    {"aten::bartlett_window", given_sizes},
    {"aten::cat", concatenated},
    {"aten::concat", concatenated},
    {"aten::concatenate", concatenated},
    {"aten::stack", stacked},
    {"aten::slice", sliced},
    {"aten::narrow", sliced},
    {"aten::slice_copy", sliced},
    {"aten::narrow_copy", sliced},
    {"aten::select", selected},
    {"aten::select_copy", selected},
    {"aten::unsqueeze", unsqueezed},
    {"aten::unsqueeze_copy", unsqueezed},
    {"aten::squeeze", squeezed},
    {"aten::squeeze_copy", squeezed},
    {"aten::transpose", permuted},
    {"aten::transpose_copy", permuted},
    {"aten::t", permuted},
    {"aten::t_copy", permuted},
    {"aten::permute", permuted},
    {"aten::permute_copy", permuted},
    {"aten::movedim", permuted},
    {"aten::moveaxis", permuted},
    {"aten::swapaxes", permuted},
    {"aten::swapdims", permuted},
    {"aten::numpy_T", permuted},
    {"aten::mT", permuted},
    {"aten::adjoint", permuted},
    {"aten::matrix_H", permuted},
    {"aten::mH", permuted},
    {"aten::flatten", flattened},
    {"aten::ravel", flattened},
    {"aten::split", split},
    {"aten::split_with_sizes", split},
    {"aten::chunk", split},
    {"aten::unbind", split},
    {"aten::unbind_copy", split},
    {"aten::split_with_sizes_copy", split},
    {"aten::unsafe_split", split},
    {"aten::unsafe_chunk", split},
    {"aten::unsafe_split_with_sizes", split},
    {"aten::tensor_split", split, "tensor_indices_or_sections"},
    {"aten::hsplit", split},
    {"aten::vsplit", split},
    {"aten::dsplit", split},
    {"aten::view_as_real", paired},
    {"aten::view_as_complex", unpaired},
    {"aten::_fft_r2c", transformed},
    {"aten::_fft_c2r", transformed},
    {"aten::rot90", turned},
    {"aten::repeat", repeated},
    {"aten::tile", repeated},
};

}  // namespace

Axes given_sizes(const AxisCall& c) {
  const std::string& b = c.op.base;
  if (b == "aten::arange" || b == "aten::range") return counted(c);
  for (const char* length : {"steps", "window_length"})
    if (const AbstractValue* n = c.arg(length)) return std::vector<Axis>{c.number(*n)};
  if (b == "aten::eye")
    return std::vector<Axis>{c.number(*c.arg("n")), c.number(*c.arg(c.arg("m") ? "m" : "n"))};
  const AbstractValue* list = c.arg("size");
  if (!list) list = c.arg("shape");
  if (!list) list = c.arg("sizes");
  if (!list) return std::nullopt;
  std::vector<AbstractValue> items =
      list->is(K::List) ? list->list()->items : std::vector<AbstractValue>{*list};
  const AbstractValue* self = c.arg("self");
  const TensorValue* in = self && self->is(K::Tensor) ? &c.self() : nullptr;
  size_t offset = 0, after = 0;
  if (b == "aten::unflatten") {
    offset = wrapped(*c.constant("dim"), in->axes.size());
    after = in->axes.size() - offset - 1;
  }
  if (items.size() + offset + after != c.rank) return std::nullopt;
  const bool expand = b.starts_with("aten::expand") || b == "aten::broadcast_to";
  std::vector<Axis> named(items.size());
  std::vector<size_t> open;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool infer = items[i].is_constant_number() && items[i].c.at(0).toInt() == -1;
    if (infer)
      open.push_back(i);
    else
      named[i] = c.number(items[i]);
  }
  for (size_t i : open) {
    if (expand) {
      named[i] = in->axes[in->axes.size() + i - items.size()];
    } else if (in && b == "aten::unflatten") {
      named[i] = c.sized_by(join(in->axes[offset].taint, c.taint({"sizes"})));
    } else if (in) {
      named[i] = inferred_size(c, *in, named, i);
    }
  }
  if (!offset && !after) return named;
  std::vector<Axis> axes(in->axes.begin(), in->axes.begin() + static_cast<long>(offset));
  axes.insert(axes.end(), named.begin(), named.end());
  axes.insert(axes.end(), in->axes.end() - static_cast<long>(after), in->axes.end());
  return axes;
}

std::span<const AxisRow> shape_axes() { return kShapes; }

}  // namespace oe::capture
