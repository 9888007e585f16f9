// What every axis rule uses, the table of all rules, and what holds whatever the rule.
#include "lib/capture/operators/axes/axes.h"

#include <ATen/core/Tensor.h>

#include <set>
#include <stdexcept>
#include <unordered_map>

namespace oe::capture {
namespace {

// What the arguments say of the result before any rule does.
struct Arguments {
  bool dynamic = false;  // something about them is
  bool ranked = true;
  bool sizes = false;  // a number of its own may be a size: topk(x, min(n, 512))
};

Arguments look_at(const AxisCall& c) {
  Arguments a;
  std::function<void(const AbstractValue&)> look = [&](const AbstractValue& s) {
    if (s.is(K::Tensor)) {
      TensorValuePtr t = c.read(s);
      a.ranked = a.ranked && t->ranked;
      for (const Axis& axis : t->axes) a.dynamic = a.dynamic || !axis.is_static();
    } else if (s.is(K::List)) {
      a.dynamic = a.dynamic || s.list()->is_open();
      for (const AbstractValue& e : s.list()->items) look(e);
    } else if (s.is_number() && s.taint != Taint::Constant) {
      a.dynamic = true;
    }
  };
  for (const AbstractValue& s : c.args) {
    look(s);
    a.sizes = a.sizes || (s.is_number() && s.taint != Taint::Constant && !s.axis_id);
  }
  return a;
}

AxisRule rule_of(const OpInfo& op) { return op.axes ? op.axes->rule : by_sizes; }

// Whether the elements of an argument decide on sizes.
bool counts_elements(const AxisCall& c) {
  const AxisRule rule = rule_of(c.op);
  if (rule == data_sized) return true;
  if (rule == indexed) return has_mask(c);
  const AbstractValue* counted =
      c.op.axes && c.op.axes->counted ? c.arg(c.op.axes->counted) : nullptr;
  return counted && counted->is(K::Tensor) && c.read(*counted)->taint != Taint::Constant;
}

// A static axis that has another size in some world is dynamic: something determines it that no
// rule and no argument tells of.
void compare_worlds(const AxisCall& c, std::vector<Axis>& axes) {
  for (size_t i = 0; i < c.rank; ++i) {
    if (!axes[i].is_static()) continue;
    const int64_t example = c.out.any().toTensor().size(static_cast<int64_t>(i));
    for (size_t w = 0; w < c.worlds; ++w)
      if (c.out.has(w) && c.size(w, i) != example) {
        axes[i] = c.fresh(Taint::Shape);
        break;
      }
  }
}

}  // namespace

const AbstractValue* AxisCall::arg(const char* name) const {
  auto i = op.schema->argumentIndexWithName(name);
  return i ? &args[static_cast<size_t>(*i)] : nullptr;
}

const TensorValue& AxisCall::tensor(std::initializer_list<const char*> names) const {
  for (const char* name : names)
    if (const auto i = op.schema->argumentIndexWithName(name)) {
      if (const TensorValuePtr& value = values.at(static_cast<size_t>(*i))) return *value;
      throw std::logic_error(op.name + ": its argument " + name + " is no tensor");
    }
  throw std::logic_error(op.name + ": it has no argument " + *names.begin());
}

std::optional<int64_t> AxisCall::constant(const char* name) const {
  const AbstractValue* s = arg(name);
  if (!s || !s->is_constant_number()) return std::nullopt;
  const auto& v = s->c.at(0);
  return v.isBool() ? static_cast<int64_t>(v.toBool()) : v.toInt();
}

Taint AxisCall::taint(std::initializer_list<const char*> names) const {
  Taint t = Taint::Constant;
  const std::function<void(const AbstractValue&)> add = [&](const AbstractValue& s) {
    t = join(t, s.is(K::Tensor) ? read(s)->taint : s.taint);
    if (!s.is(K::List)) return;
    if (s.list()->is_open()) t = Taint::Data;
    for (const AbstractValue& e : s.list()->items) add(e);
  };
  for (const char* name : names)
    if (const AbstractValue* s = arg(name)) add(*s);
  return t;
}

int64_t AxisCall::size(size_t w, size_t axis) const {
  return out.has(w) ? out.at(w).toTensor().size(static_cast<int64_t>(axis)) : -1;
}

bool AxisCall::same_size(size_t axis, const TensorValue& t, size_t t_axis) const {
  for (size_t w = 0; w < worlds; ++w)
    if (out.has(w) && t.c.has(w) &&
        size(w, axis) != t.c.at(w).toTensor().size(static_cast<int64_t>(t_axis)))
      return false;
  return true;
}

Axis AxisCall::number(const AbstractValue& s) const {
  if (s.taint == Taint::Constant) return {};
  if (s.is(K::Int) && s.axis_id) return {s.taint, s.axis_id};
  return fresh(s.taint);
}

size_t wrapped(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

int64_t example_size(const TensorValue& t, size_t axis) {
  return t.c.any().toTensor().size(static_cast<int64_t>(axis));
}

Axis broadcast(const AxisCall& c, const std::vector<std::pair<const TensorValue*, size_t>>& in) {
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

std::vector<Axis> broadcast_axes(const AxisCall& c, const std::vector<const TensorValue*>& in,
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

std::array<std::span<const AxisRow>, 6> axis_tables() {
  return {elementwise_axes(), product_axes(), reduction_axes(),
          window_axes(),      shape_axes(),   index_axes()};
}

const AxisRow* axis_row(const std::string& name) {
  static const std::unordered_map<std::string_view, const AxisRow*> rows = [] {
    std::unordered_map<std::string_view, const AxisRow*> all;
    for (const auto& table : axis_tables())
      for (const AxisRow& row : table) all.emplace(row.name, &row);
    return all;
  }();
  const auto it = rows.find(name);
  return it == rows.end() ? nullptr : it->second;
}

bool gives_length(const OpInfo& op, const std::vector<AbstractValue>& args, size_t worlds,
                  const std::function<TensorValuePtr(const AbstractValue&)>& read) {
  const auto arg = [&](const char* name) {
    const auto i = op.schema->argumentIndexWithName(name);
    return i ? &args[static_cast<size_t>(*i)] : nullptr;
  };
  for (const char* name : {"sections", "chunks", "split_size"})
    if (const AbstractValue* s = arg(name); s && s->is(K::Int) && s->taint != Taint::Constant)
      return false;
  if (const AbstractValue* s = arg("tensor_indices_or_sections")) {
    const TensorValuePtr t = read(*s);
    if (!t->ranked) return false;
    return t->axes.empty() ? t->taint == Taint::Constant : t->axes[0].is_static();
  }
  const AbstractValue* cut = arg("split_size");
  if (!op.base.starts_with("aten::unbind") && !arg("chunks") && !(cut && cut->is(K::Int)))
    return true;
  // One for each piece of an axis.
  const AbstractValue* dim = arg("dim");
  const TensorValuePtr t = read(args.at(0));
  if (!t->ranked || !dim || !dim->is_constant_number()) return false;
  if (t->axes.empty()) return true;
  const size_t axis = wrapped(dim->c.at(0).toInt(), t->axes.size());
  if (t->axes[axis].is_static()) return true;
  // Worlds of several sizes tell whether the number depends on it.
  std::set<int64_t> sizes;
  for (size_t w = 0; w < worlds; ++w)
    if (t->c.has(w)) sizes.insert(t->c.at(w).toTensor().size(static_cast<int64_t>(axis)));
  return sizes.size() > 1;
}

bool gives_rank(const OpInfo& op, size_t arguments) {
  if (rule_of(op) == given_sizes) return true;  // as many axes as sizes are given
  if (op.base == "aten::_shape_as_tensor" || op.base.ends_with("_cell")) return true;
  // A reduction over everything.
  return rule_of(op) == reduced && !op.schema->argumentIndexWithName("dim") && arguments <= 2;
}

std::vector<Axis> axes_of(const AxisCall& c) {
  const Arguments arguments = look_at(c);
  Axes axes;
  if (arguments.ranked && !arguments.dynamic && !counts_elements(c)) {
    axes.emplace(c.rank);
    compare_worlds(c, *axes);
    return *axes;
  }
  // Whether a loss is one number, and a reduced axis stays.
  if (arguments.ranked)
    axes = c.computed({"reduction", "keepdim"}) ? unknown_rank(c) : rule_of(c.op)(c);
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < c.rank; ++i) {
      axes->push_back(c.fresh(Taint::Data));
      axes->back().open = !arguments.sizes && rule_of(c.op) == by_sizes;
    }
    return *axes;
  }
  if (axes->size() == c.rank) compare_worlds(c, *axes);
  return *axes;
}

}  // namespace oe::capture
