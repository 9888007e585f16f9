// Which axes of a result are static, and which are the same axis as one of an input.
//
// A size that is the same in every world is still dynamic when something that determines it is
// dynamic: `x[:5]` has five rows in every world that was large enough. So static is what a rule
// per operator family derives; an operator without a rule that meets a dynamic axis gets dynamic
// axes throughout.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

using K = Sym::Kind;

struct Context {
  const OpInfo& op;
  const std::vector<Sym>& args;
  std::vector<TensorValuePtr> values;  // per argument; null when it is no tensor
  const PerWorld& out;
  size_t index;  // of the result
  size_t rank;   // of the result
  size_t worlds;
  std::function<Axis(Taint)> fresh;
  std::function<TensorValuePtr(const Sym&)> read;

  const Sym* arg(const char* name) const {
    auto i = op.schema->argumentIndexWithName(name);
    return i ? &args[static_cast<size_t>(*i)] : nullptr;
  }
  std::optional<int64_t> constant(const char* name) const {
    const Sym* s = arg(name);
    if (!s || !s->is_constant_number()) return std::nullopt;
    const auto& v = s->c.at(0);
    return v.isBool() ? static_cast<int64_t>(v.toBool()) : v.toInt();
  }
  // Size of the result's axis in a world; -1 when that world has none.
  int64_t size(size_t w, size_t axis) const {
    return out.has(w) ? out.at(w).toTensor().size(static_cast<int64_t>(axis)) : -1;
  }
  bool same_size(size_t axis, const TensorValue& t, size_t t_axis) const {
    for (size_t w = 0; w < worlds; ++w)
      if (out.has(w) && t.c.has(w) &&
          size(w, axis) != t.c.at(w).toTensor().size(static_cast<int64_t>(t_axis)))
        return false;
    return true;
  }
  Axis number(const Sym& s) const {
    if (s.taint == Taint::Constant) return {};
    if (s.is(K::Int) && s.axis_id) return {s.taint, s.axis_id};
    return fresh(s.taint);
  }
  Taint all() const {
    Taint t = Taint::Shape;
    for (const auto& v : values)
      if (v)
        for (const Axis& a : v->axes) t = join(t, a.taint);
    return t;
  }
  // The axis with everything that could change it: static stays static.
  Axis derived(const Axis& a) const { return a.is_static() ? Axis{} : fresh(a.taint); }
};

using Axes = std::optional<std::vector<Axis>>;

size_t wrap(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

int64_t example_size(const TensorValue& t, size_t axis) {
  for (size_t w = 0;; ++w)
    if (w == 64 || t.c.has(w)) return t.c.at(w).toTensor().size(static_cast<int64_t>(axis));
}

Axis broadcast(const Context& c, const std::vector<std::pair<const TensorValue*, size_t>>& in) {
  Axis out;
  for (const auto& [t, i] : in) {
    const Axis& a = t->axes[i];
    if (a.is_static()) {
      if (example_size(*t, i) != 1) return {};
      continue;
    }
    if (out.is_static())
      out = a;
    else if (out.id != a.id)
      out = c.fresh(join(out.taint, a.taint));
  }
  return out;
}

std::vector<Axis> broadcast_axes(const Context& c, const std::vector<const TensorValue*>& in,
                                 size_t rank) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < rank; ++i) {
    std::vector<std::pair<const TensorValue*, size_t>> aligned;
    for (const TensorValue* t : in)
      if (t->axes.size() + i >= rank) aligned.emplace_back(t, t->axes.size() + i - rank);
    axes.push_back(broadcast(c, aligned));
  }
  return axes;
}

// Whether the worlds' sizes say which axis is which: every axis has had two sizes, and no two axes
// have had the same ones throughout.
bool told_apart(const Context& c, const std::vector<const TensorValue*>& in) {
  std::map<int, std::vector<int64_t>> sizes;
  for (const TensorValue* t : in)
    for (size_t i = 0; i < t->axes.size(); ++i) {
      if (t->axes[i].is_static()) continue;
      auto [at, fresh] = sizes.try_emplace(t->axes[i].id);
      for (size_t w = 0; fresh && w < c.worlds; ++w)
        if (c.out.has(w) && t->c.has(w))
          at->second.push_back(t->c.at(w).toTensor().size(static_cast<int64_t>(i)));
    }
  std::set<std::vector<int64_t>> seen;
  return std::ranges::all_of(sizes, [&](const auto& e) {
    const bool varies = std::ranges::adjacent_find(e.second, std::not_equal_to{}) != e.second.end();
    return varies && seen.insert(e.second).second;
  });
}

// Whether no tensor brings dynamic axes that the first one does not have.
bool first_has_all(const std::vector<const TensorValue*>& in) {
  std::set<int> of_first;
  for (const Axis& a : in[0]->axes) of_first.insert(a.id);
  return std::ranges::all_of(in, [&](const TensorValue* t) {
    return std::ranges::all_of(
        t->axes, [&](const Axis& a) { return a.is_static() || of_first.contains(a.id); });
  });
}

Axes structural(const Context& c) {
  for (const Sym& a : c.args)
    if (a.is(K::Int) && a.taint != Taint::Constant &&
        c.op.schema->arguments()[static_cast<size_t>(&a - c.args.data())].type()->kind() ==
            c10::TypeKind::IntType)
      return std::nullopt;
  std::vector<const TensorValue*> tensors;
  std::function<void(const Sym&)> add = [&](const Sym& s) {
    if (s.is(K::Tensor)) tensors.push_back(c.read(s).get());
    if (s.is(K::List))
      for (const Sym& e : s.list->items) add(e);
  };
  for (const Sym& a : c.args) add(a);
  if (tensors.empty()) return std::nullopt;
  auto fits = [&](const std::vector<const TensorValue*>& in) {
    for (size_t w = 0; w < c.worlds; ++w) {
      if (!c.out.has(w)) continue;
      for (size_t i = 0; i < c.rank; ++i) {
        int64_t size = 1;
        for (const TensorValue* t : in) {
          if (!t->ranked || t->axes.size() > c.rank) return false;
          if (t->axes.size() + i < c.rank || !t->c.has(w)) continue;
          const int64_t n =
              t->c.at(w).toTensor().size(static_cast<int64_t>(t->axes.size() + i - c.rank));
          if (n != 1 && size != 1 && n != size) return false;
          if (n != 1) size = n;
        }
        if (size != c.size(w, i)) return false;
      }
    }
    return true;
  };
  // cdist of [n, k] and [m, k] looks like one of its operands where n = m = k in every world.
  if (!c.op.pointwise && !told_apart(c, tensors)) return std::nullopt;
  if (fits(tensors)) return broadcast_axes(c, tensors, c.rank);
  if (tensors[0]->axes.size() == c.rank && first_has_all(tensors) && fits({tensors[0]}))
    return tensors[0]->axes;
  return std::nullopt;
}

bool all_ones(const Sym* s) {
  if (!s || !s->is(K::List) || s->list->items.empty()) return false;
  return std::all_of(s->list->items.begin(), s->list->items.end(),
                     [](const Sym& e) { return e.is_constant_number() && e.c.at(0).toInt() == 1; });
}

// Spatial axes of a window operator. With stride 1 the size is the input's plus a constant, so one
// equal world proves that the constant is zero.
Axis window_axis(const Context& c, const TensorValue& in, size_t axis, size_t in_axis) {
  if (in.axes[in_axis].is_static()) return {};
  if (all_ones(c.arg("stride")) && c.same_size(axis, in, in_axis)) return in.axes[in_axis];
  return c.fresh(in.axes[in_axis].taint);
}

Axes windowed(const Context& c, bool convolution) {
  const TensorValue& in = *c.values[0];
  size_t spatial = convolution ? c.values[1]->axes.size() - 2 : 0;
  if (!convolution) spatial = static_cast<size_t>(c.op.base[c.op.base.find("pool") + 4] - '0');
  if (in.axes.size() != c.rank || c.rank < spatial) return std::nullopt;
  std::vector<Axis> axes = in.axes;
  if (convolution) {
    bool static_weights = true;
    for (const Axis& a : c.values[1]->axes) static_weights = static_weights && a.is_static();
    axes[c.rank - spatial - 1] = static_weights ? Axis{} : c.fresh(Taint::Shape);
  }
  for (size_t i = c.rank - spatial; i < c.rank; ++i) axes[i] = window_axis(c, in, i, i);
  return axes;
}

Axes matmul(const Context& c) {
  const size_t first = c.op.base.starts_with("aten::add") || c.op.base == "aten::baddbmm" ? 1 : 0;
  const TensorValue &a = *c.values[first], &b = *c.values[first + 1];
  const size_t ra = a.axes.size(), rb = b.axes.size();
  std::vector<Axis> axes;
  if (c.op.base == "aten::addr") return std::vector<Axis>{a.axes[0], b.axes[0]};
  if (c.op.base == "aten::addbmm") return std::vector<Axis>{a.axes[1], b.axes[2]};
  std::vector<const TensorValue*> batch;
  TensorValue ba = a, bb = b;
  if (ra > 2) {
    ba.axes.resize(ra - 2);
    batch.push_back(&ba);
  }
  if (rb > 2) {
    bb.axes.resize(rb - 2);
    batch.push_back(&bb);
  }
  const size_t batch_rank = std::max(ra > 2 ? ra - 2 : 0, rb > 2 ? rb - 2 : 0);
  axes = broadcast_axes(c, batch, batch_rank);
  if (ra > 1) axes.push_back(a.axes[ra - 2]);
  if (rb > 1) axes.push_back(b.axes[rb - 1]);
  return axes;
}

Axes reduce(const Context& c) {
  const TensorValue& in = *c.values[0];
  if (c.arg("other")) return structural(c);
  const Sym* dim = c.arg("dim");
  std::vector<bool> reduced(in.axes.size(), true);
  if (dim && !dim->is(K::None) && !(dim->is(K::List) && dim->list->items.empty())) {
    std::fill(reduced.begin(), reduced.end(), false);
    std::vector<Sym> dims = dim->is(K::List) ? dim->list->items : std::vector<Sym>{*dim};
    for (const Sym& d : dims) {
      if (!d.is(K::Int) || !d.is_constant_number()) return std::nullopt;
      if (!in.axes.empty()) reduced[wrap(d.c.at(0).toInt(), in.axes.size())] = true;
    }
  }
  const bool keep = c.constant("keepdim").value_or(0) != 0;
  std::vector<Axis> axes;
  if (const Sym* q = c.arg("q"); q && q->is(K::Tensor)) axes = c.read(*q)->axes;  // quantile
  for (size_t i = 0; i < in.axes.size(); ++i) {
    if (!reduced[i])
      axes.push_back(in.axes[i]);
    else if (keep)
      axes.push_back({});
  }
  return axes;
}

// The leading axes are broadcast, the last but one is the query's, the last one the values'.
Axes attention(const Context& c) {
  if (c.index != 0) return std::nullopt;
  std::vector<TensorValue> leading;
  size_t rank = 0;
  for (size_t i = 0; i < 3; ++i) {
    leading.push_back(*c.values[i]);
    std::vector<Axis>& axes = leading.back().axes;
    axes.resize(axes.size() - 2);
    if (c.constant("enable_gqa").value_or(0) != 0 && i > 0) axes.clear();  // fewer heads
    rank = std::max(rank, axes.size());
  }
  if (rank + 2 != c.rank) return std::nullopt;
  std::vector<const TensorValue*> in;
  for (const TensorValue& t : leading) in.push_back(&t);
  std::vector<Axis> axes = broadcast_axes(c, in, rank);
  axes.push_back(c.values[0]->axes.end()[-2]);
  axes.push_back(c.values[2]->axes.back());
  return axes;
}

// The axis -1 stands for in view(): what is left of the input's axes after the named ones.
Axis inferred_size(const Context& c, const TensorValue& in, const std::vector<Axis>& named,
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
Axes counted(const Context& c) {
  auto is = [&](const char* name, int64_t wanted) {
    const Sym* s = c.arg(name);
    return !s || (s->is(K::Int) && s->is_constant_number() && s->c.at(0).toInt() == wanted);
  };
  const Sym& end = *c.arg("end");
  if (c.op.base == "aten::arange" && end.is(K::Int) && is("start", 0) && is("step", 1))
    return std::vector<Axis>{c.number(end)};
  Taint t = Taint::Constant;
  for (const Sym& a : c.args) t = join(t, a.is_number() ? a.taint : Taint::Constant);
  return std::vector<Axis>{t == Taint::Constant ? Axis{} : c.fresh(t)};
}

Axes sizes(const Context& c) {
  const std::string& b = c.op.base;
  if (b == "aten::arange" || b == "aten::range") return counted(c);
  for (const char* length : {"steps", "window_length"})
    if (const Sym* n = c.arg(length)) return std::vector<Axis>{c.number(*n)};
  if (b == "aten::eye")
    return std::vector<Axis>{c.number(*c.arg("n")), c.number(*c.arg(c.arg("m") ? "m" : "n"))};
  const Sym* list = c.arg("size");
  if (!list) list = c.arg("shape");
  if (!list) list = c.arg("sizes");
  if (!list) return std::nullopt;
  std::vector<Sym> items = list->is(K::List) ? list->list->items : std::vector<Sym>{*list};
  const TensorValue* in = !c.values.empty() && c.values[0] ? c.values[0].get() : nullptr;
  size_t offset = 0, after = 0;
  if (b == "aten::unflatten") {
    offset = wrap(*c.constant("dim"), in->axes.size());
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
      const Axis& whole = in->axes[offset];
      named[i] = whole.is_static() ? Axis{} : c.fresh(whole.taint);
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

Axes concatenated(const Context& c, bool stacked) {
  const auto& items = c.args[0].list->items;
  auto dim = c.constant("dim");
  if (!dim) return std::nullopt;
  if (c.args[0].list->is_open()) {
    // All elements agree, save on the axis that they are joined on.
    std::vector<Axis> axes = c.args[0].list->open.sequence->element.axes;
    for (Axis& a : axes)
      if (!a.is_static() && a.id == 0) a = c.fresh(Taint::Data);
    const Axis joined = c.fresh(Taint::Data);
    const auto at = static_cast<long>(wrap(*dim, c.rank));
    if (stacked)
      axes.insert(axes.begin() + at, joined);
    else if (axes.size() == c.rank)
      axes[static_cast<size_t>(at)] = joined;
    return axes;
  }
  std::vector<TensorValuePtr> parts;
  for (const Sym& e : items) {
    auto t = c.read(e);
    // cat skips one-dimensional empty tensors, whatever the others' rank.
    if (!stacked && t->axes.size() == 1 && c.rank != 1) continue;
    if (t->axes.size() + (stacked ? 1 : 0) != c.rank) return std::nullopt;
    parts.push_back(t);
  }
  const size_t at = wrap(*dim, c.rank);
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

bool whole(const Sym& start, const Sym& end, const Sym& step, const Axis& axis) {
  const bool from_start =
      start.is(K::None) || (start.is_constant_number() && start.c.at(0).toInt() == 0);
  const bool to_end =
      end.is(K::None) ||
      (end.is_constant_number() && end.c.at(0).toInt() == std::numeric_limits<int64_t>::max()) ||
      (end.is(K::Int) && end.axis_id && end.axis_id == axis.id);
  return from_start && to_end && step.is_constant_number() && step.c.at(0).toInt() == 1;
}

Axes sliced(const Context& c) {
  const TensorValue& in = *c.values[0];
  auto dim = c.constant("dim");
  if (!dim) return std::nullopt;
  const size_t at = wrap(*dim, in.axes.size());
  std::vector<Axis> axes = in.axes;
  if (c.op.base == "aten::narrow") {
    axes[at] = c.number(*c.arg("length"));
    return axes;
  }
  const Sym &start = *c.arg("start"), &end = *c.arg("end"), &step = *c.arg("step");
  if (whole(start, end, step, in.axes[at])) return axes;
  const Taint t = join(in.axes[at].taint, join(start.taint, end.taint));
  axes[at] = t == Taint::Constant ? Axis{} : c.fresh(t);
  return axes;
}

Axes permuted(const Context& c) {
  // Label every axis with a size of its own and look where the labels go.
  const TensorValue& in = *c.values[0];
  std::vector<int64_t> labels;
  for (size_t i = 0; i < in.axes.size(); ++i) labels.push_back(static_cast<int64_t>(i) + 2);
  torch::jit::Stack stack;
  stack.emplace_back(at::empty({1}).expand(labels));
  for (size_t i = 1; i < c.args.size(); ++i) {
    const Sym& a = c.args[i];
    if (a.is(K::List)) {
      c10::List<int64_t> list;
      for (const Sym& e : a.list->items) list.push_back(e.c.at(0).toInt());
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

Axes flattened(const Context& c) {
  const TensorValue& in = *c.values[0];
  const size_t rank = in.axes.size();
  if (rank == 0) return std::vector<Axis>(1);
  const size_t from = wrap(c.constant("start_dim").value_or(0), rank);
  const size_t to = wrap(c.constant("end_dim").value_or(-1), rank);
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

Axes split(const Context& c) {
  const TensorValue& in = *c.values[0];
  auto dim = c.op.base.ends_with("hsplit") || c.op.base.ends_with("vsplit") ||
                     c.op.base.ends_with("dsplit")
                 ? std::nullopt
                 : c.constant("dim");
  if (!dim) return std::nullopt;
  const size_t at = wrap(*dim, in.axes.size());
  std::vector<Axis> axes = in.axes;
  if (c.op.base == "aten::unbind") {
    axes.erase(axes.begin() + static_cast<long>(at));
    return axes;
  }
  if (c.op.base.find("with_sizes") != std::string::npos) {
    axes[at] = c.number(c.args[1].list->items.at(c.index));
    return axes;
  }
  Taint t = join(in.axes[at].taint, c.args[1].taint);
  axes[at] = t == Taint::Constant ? Axis{} : c.fresh(t);
  return axes;
}

Axes indexed(const Context& c) {
  const TensorValue& in = *c.values[0];
  std::vector<TensorValuePtr> integers;
  std::vector<TensorValue> from_masks;
  std::vector<Axis> before, after;
  size_t axis = 0;
  bool started = false, ended = false, apart = false;
  for (const Sym& s : c.args[1].list->items) {
    TensorValuePtr t = s.is(K::Tensor) ? c.read(s) : nullptr;
    if (!t) {
      if (started) ended = true;
      (started ? after : before).push_back(in.axes[axis++]);
      continue;
    }
    if (ended) apart = true;
    started = true;
    const auto type = [&] {
      for (size_t w = 0;; ++w)
        if (t->c.has(w)) return t->c.at(w).toTensor().scalar_type();
    }();
    if (type == c10::ScalarType::Bool || type == c10::ScalarType::Byte) {
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

// im2col, col2im: the batch stays, what is left is static where all that it comes from is.
Axes patches(const Context& c) {
  const TensorValue& in = *c.values[0];
  const bool batched = c.rank == 3 ? in.axes.size() == 4 : in.axes.size() == c.rank - 1;
  const bool same_rank =
      c.op.base == "aten::col2im" ? in.axes.size() + 1 == c.rank : in.axes.size() == c.rank + 1;
  if (!same_rank) return std::nullopt;
  Taint t = Taint::Constant;
  for (size_t i = batched; i < in.axes.size(); ++i) t = join(t, in.axes[i].taint);
  if (const Sym* size = c.arg("output_size"))
    for (const Sym& s : size->list->items) t = join(t, s.taint);
  std::vector<Axis> axes;
  for (size_t i = 0; i < c.rank; ++i)
    axes.push_back(batched && i == 0 ? in.axes[0] : t == Taint::Constant ? Axis{} : c.fresh(t));
  return axes;
}

// embedding_bag: a bag for each offset, or for each row of indices. Its other results are not used.
Axes bags(const Context& c) {
  const Sym* last = c.arg("include_last_offset");
  if (c.index != 0 || c.rank != 2 || !last || !last->is_constant_number()) return std::nullopt;
  Axis rows = c.values[1]->axes[0];
  if (c.values[1]->axes.size() == 1) {
    rows = c.values[2]->axes[0];
    if (last->c.at(0).toBool()) rows = c.derived(rows);
  }
  return std::vector<Axis>{rows, c.values[0]->axes[1]};
}

// Trailing axes by an int[] argument where given, else derived from the input's.
Axes trailing(const Context& c, const Sym* output_size) {
  const TensorValue& in = *c.values[0];
  if (in.axes.size() != c.rank) return std::nullopt;
  std::vector<Axis> axes = in.axes;
  const bool given = output_size && (output_size->is(K::List) || output_size->is(K::Int));
  std::vector<Sym> items;
  if (given)
    items = output_size->is(K::List) ? output_size->list->items : std::vector<Sym>{*output_size};
  size_t spatial = given ? items.size() : c.rank - 2;
  if (items.size() == 1 && c.op.base == "aten::__interpolate") spatial = c.rank - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t at = c.rank - spatial + i;
    if (!given)
      axes[at] = c.derived(in.axes[at]);
    else if (items[items.size() == 1 ? 0 : i].is(K::None))
      continue;  // adaptive pooling: keeps the input's size
    else
      axes[at] = c.number(items[items.size() == 1 ? 0 : i]);
  }
  return axes;
}

Axes padded(const Context& c) {
  const TensorValue& in = *c.values[0];
  const Sym* pad = c.arg("pad");
  if (!pad) pad = c.arg("padding");
  if (!pad || !pad->is(K::List)) return std::nullopt;
  std::vector<Axis> axes = in.axes;
  const auto& items = pad->list->items;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const size_t at = axes.size() - 1 - i / 2;
    const Taint t = join(items[i].taint, items[i + 1].taint);
    if (t == Taint::Constant && items[i].c.at(0).toInt() == 0 && items[i + 1].c.at(0).toInt() == 0)
      continue;
    const Taint all = join(t, in.axes[at].taint);
    axes[at] = all == Taint::Constant ? Axis{} : c.fresh(all);
  }
  return axes;
}

Axes repeated(const Context& c) {
  const TensorValue& in = *c.values[0];
  const Sym* r = c.arg("repeats");
  if (!r) r = c.arg("dims");
  if (!r || !r->is(K::List)) return std::nullopt;
  std::vector<Axis> axes;
  const auto& items = r->list->items;
  for (size_t i = 0; i < c.rank; ++i) {
    Axis a;
    int64_t size = 1;
    if (in.axes.size() + i >= c.rank) {
      a = in.axes[in.axes.size() + i - c.rank];
      size = example_size(in, in.axes.size() + i - c.rank);
    }
    const Sym n =
        items.size() + i >= c.rank ? items[items.size() + i - c.rank] : Sym::of(int64_t{1});
    if (n.is_constant_number())
      axes.push_back(n.c.at(0).toInt() == 1 ? a : c.derived(a));
    else
      axes.push_back(a.is_static() && size == 1 ? c.number(n) : c.fresh(join(n.taint, a.taint)));
  }
  return axes;
}

Axes along(const Context& c) {
  const TensorValue& in = *c.values[0];
  const Sym* dim = c.arg("dim");
  if (!dim) dim = c.arg("dimension");
  if (!dim || !dim->is(K::Int) || !dim->is_constant_number()) return std::nullopt;
  if (in.axes.empty()) return std::nullopt;
  const size_t at = wrap(dim->c.at(0).toInt(), in.axes.size());
  std::vector<Axis> axes = in.axes;
  if (c.op.base == "aten::topk") {
    axes[at] = c.number(*c.arg("k"));
    return axes;
  }
  Taint t = axes[at].taint;
  for (const Sym& a : c.args)
    if (&a != &c.args[0]) t = join(t, a.is(K::Tensor) ? c.read(a)->taint : a.taint);
  axes[at] = t == Taint::Constant ? Axis{} : c.fresh(t);
  if (c.op.base == "aten::unfold") axes.push_back(c.number(*c.arg("size")));
  return axes;
}

// Every letter is one axis; a size of 1 gives way to the other operand's.
Axes einsum(const Context& c) {
  const Sym& equation = c.args[0];
  if (!equation.is(K::String) || equation.taint != Taint::Constant) return std::nullopt;
  std::string text = equation.c.at(0).toStringRef();
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.find('.') != std::string::npos) return std::nullopt;
  std::map<char, std::vector<std::pair<const TensorValue*, size_t>>> letters;
  std::vector<TensorValuePtr> operands;
  for (const Sym& s : c.args[1].list->items) operands.push_back(c.read(s));
  size_t operand = 0, axis = 0;
  for (size_t i = 0; i < arrow; ++i) {
    if (text[i] == ',') {
      ++operand, axis = 0;
      continue;
    }
    if (operand >= operands.size() || axis >= operands[operand]->axes.size()) return std::nullopt;
    letters[text[i]].emplace_back(operands[operand].get(), axis++);
  }
  std::vector<Axis> axes;
  for (size_t i = arrow + 2; i < text.size(); ++i) axes.push_back(broadcast(c, letters[text[i]]));
  return axes;
}

Axes by_rule(const Context& c) {
  auto in = [&](size_t i) -> const TensorValue& { return *c.values[i]; };
  switch (c.op.rule) {
    case AxisRule::Structural:
      return structural(c);
    case AxisRule::First:
      return in(0).axes;
    case AxisRule::Other:
      return c.read(*c.arg("other"))->axes;
    case AxisRule::Convolution:
      return windowed(c, true);
    case AxisRule::Pool:
      return windowed(c, false);
    case AxisRule::Linear: {
      std::vector<Axis> axes = in(0).axes;
      axes.pop_back();
      if (in(1).axes.size() == 2) axes.push_back(in(1).axes[0]);
      return axes;
    }
    case AxisRule::MatMul:
      return matmul(c);
    case AxisRule::Masked:
      return broadcast_axes(c, {&in(0), &in(1)}, c.rank);
    case AxisRule::Attention:
      return attention(c);
    case AxisRule::Reduce:
      return reduce(c);
    case AxisRule::Sizes:
      return sizes(c);
    case AxisRule::Cat:
      return concatenated(c, false);
    case AxisRule::Stack:
      return concatenated(c, true);
    case AxisRule::Slice:
      return sliced(c);
    case AxisRule::Select: {
      auto dim = c.constant("dim");
      if (!dim) return std::nullopt;
      std::vector<Axis> axes = in(0).axes;
      axes.erase(axes.begin() + static_cast<long>(wrap(*dim, axes.size())));
      return axes;
    }
    case AxisRule::Unsqueeze: {
      auto dim = c.constant("dim");
      if (!dim) return std::nullopt;
      std::vector<Axis> axes = in(0).axes;
      axes.insert(axes.begin() + static_cast<long>(wrap(*dim, c.rank)), Axis{});
      return axes;
    }
    case AxisRule::Squeeze: {
      // Empty result with rank > 0 says: the rank itself depends on a dynamic axis.
      std::vector<bool> chosen(in(0).axes.size(), true);
      if (const Sym* dim = c.arg("dim")) {
        std::fill(chosen.begin(), chosen.end(), false);
        std::vector<Sym> dims = dim->is(K::List) ? dim->list->items : std::vector<Sym>{*dim};
        for (const Sym& d : dims)
          if (!chosen.empty()) chosen[wrap(d.c.at(0).toInt(), chosen.size())] = true;
      }
      std::vector<Axis> axes;
      for (size_t i = 0; i < chosen.size(); ++i) {
        if (chosen[i] && !in(0).axes[i].is_static()) return std::vector<Axis>(c.rank + 1);
        if (chosen[i] && example_size(in(0), i) == 1) continue;
        axes.push_back(in(0).axes[i]);
      }
      return axes;
    }
    case AxisRule::Permute:
      return permuted(c);
    case AxisRule::Flatten:
      return flattened(c);
    case AxisRule::Split:
      return split(c);
    case AxisRule::Embedding: {
      std::vector<Axis> axes = in(1).axes;
      axes.push_back(in(0).axes[1]);
      return axes;
    }
    case AxisRule::Index:
      return indexed(c);
    case AxisRule::IndexSelect: {
      std::vector<Axis> axes = in(0).axes;
      if (axes.empty()) return axes;
      const TensorValue& index = *c.read(*c.arg("index"));
      axes[wrap(c.constant("dim").value_or(0), axes.size())] =
          index.axes.empty() ? Axis{} : index.axes[0];
      return axes;
    }
    case AxisRule::Gather:
      return c.read(*c.arg("index"))->axes;
    case AxisRule::Recurrent: {
      if (!c.op.schema->argumentIndexWithName("batch_first")) return std::nullopt;  // packed
      std::vector<Axis> axes = in(0).axes;
      if (c.rank != axes.size()) return std::nullopt;
      if (c.index == 0) {
        axes.back() = {};
        return axes;
      }
      if (c.rank == 3) return std::vector<Axis>{{}, axes[*c.constant("batch_first") ? 0 : 1], {}};
      return std::vector<Axis>(c.rank);
    }
    case AxisRule::Cell: {
      const Sym& state = c.args[1];
      const Sym& mine = state.is(K::List) ? state.list->items.at(c.index) : state;
      return c.read(mine)->axes;
    }
    case AxisRule::Resize: {
      const Sym* size = c.arg("output_size");
      return trailing(c, size ? size : c.arg("size"));
    }
    case AxisRule::AdaptivePool:
      return trailing(c, c.arg("output_size"));
    case AxisRule::Patches:
      return patches(c);
    case AxisRule::Bags:
      return bags(c);
    case AxisRule::Pad:
      return padded(c);
    case AxisRule::PixelShuffle: {
      std::vector<Axis> axes = in(0).axes;
      for (size_t i = c.rank - 3; i < c.rank; ++i) axes[i] = c.derived(axes[i]);
      return axes;
    }
    case AxisRule::Repeat:
      return repeated(c);
    case AxisRule::Along:
      return along(c);
    case AxisRule::Einsum:
      return einsum(c);
    case AxisRule::DataSized: {
      std::vector<Axis> axes;
      const bool positions = c.op.base == "aten::nonzero" || c.op.base == "aten::argwhere";
      for (size_t i = 0; i < c.rank; ++i)
        axes.push_back(positions && i == 1 ? Axis{} : c.fresh(Taint::Data));
      return axes;
    }
  }
  return std::nullopt;
}

bool masks(const Sym& indices, const std::function<TensorValuePtr(const Sym&)>& read) {
  for (const Sym& s : indices.list->items)
    if (s.is(K::Tensor) && read(s)->taint != Taint::Constant) {
      const TensorValuePtr t = read(s);
      for (size_t w = 0;; ++w)
        if (t->c.has(w)) {
          const auto type = t->c.at(w).toTensor().scalar_type();
          if (type == c10::ScalarType::Bool || type == c10::ScalarType::Byte) return true;
          break;
        }
    }
  return false;
}

}  // namespace

std::vector<Axis> Executor::infer_axes(const OpInfo& op, const std::vector<Sym>& args,
                                       const PerWorld& out, size_t index) {
  size_t example = 0;
  while (!out.has(example)) ++example;
  const auto rank = static_cast<size_t>(out.at(example).toTensor().dim());
  auto reader = [this](const Sym& s) { return read(s.tensor); };

  bool dynamic = op.rule == AxisRule::DataSized, ranked = true;
  std::function<void(const Sym&)> look = [&](const Sym& s) {
    if (s.is(K::Tensor)) {
      TensorValuePtr t = read(s.tensor);
      ranked = ranked && t->ranked;
      for (const Axis& a : t->axes) dynamic = dynamic || !a.is_static();
    } else if (s.is(K::List)) {
      dynamic = dynamic || s.list->is_open();
      for (const Sym& e : s.list->items) look(e);
    } else if (s.is_number() && s.taint != Taint::Constant) {
      dynamic = true;
    }
  };
  for (const Sym& a : args) look(a);
  if (op.rule == AxisRule::Index && masks(args[1], reader)) dynamic = true;
  if (op.base == "aten::repeat_interleave" || op.base == "aten::one_hot")
    dynamic = dynamic || taint_of(args[0]) != Taint::Constant;
  if (ranked && !dynamic) return std::vector<Axis>(rank);
  // An argument that is a number of its own may be a size: topk(x, min(n, 512)).
  bool numbers = false;
  for (const Sym& a : args)
    numbers = numbers || (a.is_number() && a.taint != Taint::Constant && !a.axis_id);
  auto all_dynamic = [&] {
    std::vector<Axis> axes;
    for (size_t i = 0; i < rank; ++i) {
      axes.push_back(fresh_axis(Taint::Data));
      axes.back().open = !numbers && op.rule == AxisRule::Structural;
    }
    return axes;
  };
  if (!ranked) return all_dynamic();

  Context c{op,    args, {}, out, index, rank, worlds_, [this](Taint t) { return fresh_axis(t); },
            reader};
  for (const Sym& a : args) c.values.push_back(a.is(K::Tensor) ? read(a.tensor) : nullptr);
  Axes axes = by_rule(c);
  if (!axes) return all_dynamic();
  if (axes->size() != rank) return *axes;
  for (size_t i = 0; i < rank; ++i) {
    if (!(*axes)[i].is_static()) continue;
    for (size_t w = 0; w < worlds_; ++w)
      if (out.has(w) && c.size(w, i) != c.size(example, i)) {
        (*axes)[i] = fresh_axis(Taint::Shape);
        break;
      }
  }
  return *axes;
}

}  // namespace oe::capture
