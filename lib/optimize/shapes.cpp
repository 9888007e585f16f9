// Arithmetic on sizes: what is known of each element of a small int64 tensor.
//
//   s = Shape (x)                            # x is [batch,3,8,8]
//   n = Gather (s, 0)
//   u = Unsqueeze (n, {0})
//   t = Concat <axis = 0> (u, {-1})
//   y = Reshape (x, t)                   =>  y = Reshape (x, {0, -1})
//
// An element is a number, a dim of a tensor, or element i of some other tensor. Tensors of numbers
// become initializers; a run of dims of one tensor becomes one Shape; a Reshape that copies dims of
// its own input says so with 0, which holds for empty tensors too; -1 stands for one unknown size
// only where all others are positive numbers. An Expand goes where the operator that reads it
// broadcasts to the same shape: each of its dims is a dim of its own input or of another operand.
// Expand of Expand becomes one, and Expand goes behind an operator whose other operands are
// numbers:
//
//   y = Where (Expand (c, s), 0.0, -10.0)    =>  y = Expand (Where (c, 0.0, -10.0), s)
#include <algorithm>
#include <unordered_map>

#include "lib/ir/traits.h"
#include "lib/optimize/elements.h"
#include "lib/optimize/passes.h"
#include "lib/optimize/size_arithmetic.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

class Shapes {
 public:
  explicit Shapes(Model& m)
      : rewriter_(m),
        dims_(rewriter_),
        sizes_(rewriter_, dims_),
        learner_(rewriter_, dims_, sizes_) {
    for_each_graph(m.graph, [this](Graph& g) {
      for (const auto& n : g.nodes) takes_shapes_ |= n->op == "Shape";
    });
    if (!takes_shapes_) return;
    uses_ = use_counts(m);
    dims_.inputs(m.graph);
  }

  bool run() {
    return rewriter_.walk([this](Node& n) {
      if (n.domain.empty()) visit(n);
    });
  }

 private:
  Rewriter rewriter_;
  DimSources dims_;
  bool takes_shapes_ = false;  // without a Shape nobody asks where dims come from
  KnownElements sizes_;
  SizeLearner learner_;
  std::unordered_map<const Value*, size_t> uses_;  // before the pass; empty without a Shape

  void visit(Node& n) {
    if (n.op == "Reshape")
      reshape(n);
    else if (n.op == "Expand")
      expand(n);
    else if (n.op == "Slice" && takes_all(n))
      return rewriter_.forward(n, n.inputs[0]);
    else if (traits_of(n).dims == DimRule::Broadcast)
      operands(n);
    Value* out = n.outputs.size() == 1 ? n.outputs[0] : nullptr;
    if (out) {
      if (auto e = sizes_.result_of(n)) {
        if (rewrite(n, *e)) return;  // the node is gone
        sizes_.set(out, std::move(*e));
      }
    }
    if (!takes_shapes_) return;
    dims_.visit(n);
    learner_.visit(n);
  }

  // Says the same elements with less; true when the node goes away.
  bool rewrite(Node& n, const Elements& e) {
    Value* out = n.outputs[0];
    const bool scalar = out->type.shape->empty();
    const bool constant =
        std::all_of(e.begin(), e.end(), [](const Element& x) { return x.is_number(); });
    if (constant && !n.is("Identity")) {
      Ints list;
      for (const Element& x : e) list.push_back(x.number);
      rewriter_.become_constant(
          n, Tensor::of<int64_t>(DType::Int64,
                                 scalar ? Ints{} : Ints{static_cast<int64_t>(list.size())}, list));
      return !rewriter_.is_output(out);
    }
    if (e.empty() || constant) return false;
    bool run = true;
    for (size_t i = 0; i + 1 < e.size(); ++i) run &= e[i].precedes(e[i + 1]);
    if (run && e[0].kind == Element::Kind::Item) return items(n, e, scalar);
    if (run && e[0].kind == Element::Kind::Dim)
      scalar ? dim_of(n, e[0]) : shape_of(n, e);
    else if (n.op == "Concat")
      regroup(n, e);
    return false;
  }

  static void set_shape(Node& n, const Element& first, size_t count) {
    const int64_t start = first.index, end = start + static_cast<int64_t>(count);
    n.op = "Shape";
    n.inputs = {first.source};
    n.attributes = {};
    if (start != 0) n.attributes.set("start", start);
    if (end != first.source->rank()) n.attributes.set("end", end);
  }

  // A run of dims of one tensor is one Shape of it.
  void shape_of(Node& n, const Elements& e) {
    Node wanted;
    set_shape(wanted, e[0], e.size());
    if (n.is("Shape") && n.inputs == wanted.inputs && same_range(n, wanted)) return;
    set_shape(n, e[0], e.size());
    rewriter_.mark_changed();
  }
  static bool same_range(const Node& a, const Node& b) {
    for (std::string_view key : {"start", "end"}) {
      const auto *x = a.attributes.get<int64_t>(key), *y = b.attributes.get<int64_t>(key);
      if (!x != !y || (x && *x != *y)) return false;
    }
    return true;
  }

  // A dim is read from the tensor that it comes from, so that equal dims become one value. Not
  // where one Shape would become two.
  void dim_of(Node& n, const Element& e) {
    const Node* shape = n.is("Gather") ? n.inputs[0]->producer : nullptr;
    if (!shape || !shape->is("Shape") || shape->inputs[0] == e.source) return;
    const auto all = sizes_.of(n.inputs[0]);
    const bool one_source = all && std::ranges::all_of(*all, [&](const Element& other) {
                              return other.is_number() || other.source == e.source;
                            });
    const auto uses = uses_.find(shape->outputs[0]);
    if (!one_source && (uses == uses_.end() || uses->second > 1)) return;
    const int64_t rank = *e.source->rank();
    Value* sizes = rewriter_.insert(n, "Shape", {e.source},
                                    Type::tensor(DType::Int64, std::vector<Dim>{Dim::of(rank)}));
    n.inputs[0] = sizes;
    n.inputs[1] = rewriter_.model().new_initializer(
        n.name + "_index", Tensor::of<int64_t>(DType::Int64, {}, {e.index}));
    rewriter_.mark_changed();
  }

  // A run of elements of one tensor: that tensor, or one node that takes them out of it.
  bool items(Node& n, const Elements& e, bool scalar) {
    Value* v = e[0].source;
    if (v == n.outputs[0]) return false;
    const bool whole =
        !v->rank() || *v->rank() == 0 ||
        (e[0].index == 0 && (*v->type.shape)[0] == Dim::of(static_cast<int64_t>(e.size())));
    const bool same_rank = scalar == (v->rank() == 0);
    if (whole && same_rank) {
      if (n.is("Identity") && rewriter_.is_output(n.outputs[0])) return false;
      rewriter_.forward(n, v);
      return !rewriter_.is_output(n.outputs[0]);
    }
    if (n.inputs[0] == v) return false;  // one node away already
    if (whole) {
      Value* zero = axis_zero();
      n.op = scalar ? "Squeeze" : "Unsqueeze";
      n.inputs = {v, zero};
      n.attributes = {};
      rewriter_.mark_changed();
    } else if (scalar) {
      n.op = "Gather";
      n.inputs = {v, rewriter_.model().new_initializer(
                         n.name + "_index", Tensor::of<int64_t>(DType::Int64, {}, {e[0].index}))};
      n.attributes = {};
      rewriter_.mark_changed();
    }
    return false;
  }

  Value* axis_zero() {
    return rewriter_.model().new_initializer("axis_0", Tensor::of<int64_t>(DType::Int64, {1}, {0}));
  }

  // Neighbours of a Concat that are numbers, or dims of one tensor, become one input.
  void regroup(Node& n, const Elements& e) {
    std::vector<std::pair<size_t, size_t>> parts;  // [begin, end) of each input in e
    for (Value* v : n.inputs) {
      const size_t begin = parts.empty() ? 0 : parts.back().second;
      parts.emplace_back(begin, begin + sizes_.of(v)->size());
    }
    // Groups of inputs [first, last]; an input is never split.
    std::vector<std::pair<size_t, size_t>> groups;
    auto pure = [&](size_t begin, size_t end) {
      for (size_t i = begin; i + 1 < end; ++i)
        if (!(e[i].is_number() && e[i + 1].is_number()) &&
            !(e[i].kind == Element::Kind::Dim && e[i].precedes(e[i + 1])))
          return false;
      return begin == end || e[begin].kind != Element::Kind::Item;
    };
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!groups.empty() && pure(parts[groups.back().first].first, parts[i].second))
        groups.back().second = i;
      else
        groups.emplace_back(i, i);
    }
    if (groups.size() == n.inputs.size()) return;
    std::vector<Value*> inputs;
    for (auto [first, last] : groups) {
      if (first == last)
        inputs.push_back(n.inputs[first]);
      else
        inputs.push_back(joined(n, e, parts[first].first, parts[last].second));
    }
    n.inputs = std::move(inputs);
    rewriter_.mark_changed();
  }

  Value* joined(Node& n, const Elements& e, size_t begin, size_t end) {
    const auto length = static_cast<int64_t>(end - begin);
    if (begin == end || e[begin].is_number()) {
      Ints list;
      for (size_t i = begin; i < end; ++i) list.push_back(e[i].number);
      return rewriter_.model().new_initializer(n.name + "_sizes",
                                               Tensor::of<int64_t>(DType::Int64, {length}, list));
    }
    Node shape;
    set_shape(shape, e[begin], end - begin);
    Value* out = rewriter_.insert(n, "Shape", shape.inputs,
                                  Type::tensor(DType::Int64, std::vector<Dim>{Dim::of(length)}),
                                  shape.attributes);
    sizes_.set(out, Elements(e.begin() + static_cast<int64_t>(begin),
                             e.begin() + static_cast<int64_t>(end)));
    return out;
  }

  bool is_dim(const Element& e, Value* x, int64_t axis) const {
    return e.kind == Element::Kind::Dim && dims_.of(x, axis) == DimSource{e.source, e.index};
  }

  void set_constant_shape(Node& n, Ints list) {
    const auto length = static_cast<int64_t>(list.size());
    n.inputs[1] = rewriter_.model().new_initializer(
        n.name + "_shape", Tensor::of<int64_t>(DType::Int64, {length}, list));
    rewriter_.mark_changed();
  }

  void reshape(Node& n) {
    if (n.inputs.size() != 2 || !n.inputs[0] || rewriter_.constant(n.inputs[1])) return;
    const auto e = sizes_.of(n.inputs[1]);
    if (!e) return;
    Value* x = n.inputs[0];
    const bool allow_zero = n.attributes.get_or<int64_t>("allowzero", 0);
    Ints list;
    size_t unknown = 0, copied = 0, zeros = 0, computed = 0;
    const Shape& result = n.outputs[0]->type.shape;
    for (size_t i = 0; i < e->size(); ++i) {
      Element d = (*e)[i];
      // A -1 beside a dim, of which the size is known all the same: the -1 can be that of the dim.
      if (d.is_number() && d.number < 0 && result && i < result->size() && (*result)[i].is_number())
        d.number = (*result)[i].number;
      if (d.is_number()) {
        zeros += d.number == 0;
        computed += d.number < 0;
        list.push_back(d.number);
      } else if (static_cast<int64_t>(i) < x->rank().value_or(0) &&
                 is_dim(d, x, static_cast<int64_t>(i))) {
        ++copied;
        list.push_back(0);
      } else {
        ++unknown;
        list.push_back(-1);
      }
    }
    // -1 is the same size only if the others cannot be empty; a literal 0 and a copy exclude each
    // other when zeros are literal.
    if (unknown > 1 || (unknown == 1 && (copied || zeros || computed))) return;
    if (allow_zero && copied && zeros) return;
    if (copied) n.attributes.erase("allowzero");
    set_constant_shape(n, std::move(list));
  }

  // Whether Expand to `second` makes up for one to `first` that is left out: each dim of it is 1, a
  // dim of `x`, or the same there.
  bool covers(const Elements& second, const Elements& first, Value* x) const {
    if (second.size() < first.size()) return false;
    for (size_t i = 0; i < first.size(); ++i) {
      const Element& e = first[i];
      const bool is_one = e.is_number() && e.number == 1;
      if (!is_one && e != second[second.size() - first.size() + i] &&
          !is_size(e, x, first.size() - 1 - i))
        return false;
    }
    return true;
  }

  // Broadcasting a dim to its own size or to 1 leaves it.
  void expand(Node& n) {
    if (n.inputs.size() != 2 || !n.inputs[0]) return;
    const auto e = sizes_.of(n.inputs[1]);
    if (const Node* inner = produced_by(n.inputs[0], "Expand"); inner && e) {
      const auto first = sizes_.of(inner->inputs[1]);
      if (first && covers(*e, *first, inner->inputs[0])) {
        n.inputs[0] = inner->inputs[0];
        rewriter_.mark_changed();
      }
    }
    if (rewriter_.constant(n.inputs[1])) return;
    Value* x = n.inputs[0];
    if (!e || !x->rank()) return;
    Ints list;
    for (size_t i = 0; i < e->size(); ++i) {
      const Element& d = (*e)[i];
      const int64_t axis = *x->rank() - static_cast<int64_t>(e->size() - i);
      if (d.is_number())
        list.push_back(d.number);
      else if (axis >= 0 && is_dim(d, x, axis))
        list.push_back(1);
      else
        return;
    }
    set_constant_shape(n, std::move(list));
  }

  // Whether a Slice takes each axis up to its own size.
  bool takes_all(const Node& n) const {
    const auto starts = rewriter_.ints(n.input(1)), steps = rewriter_.ints(n.input(4));
    const auto ends = n.input(2) ? sizes_.of(n.input(2)) : std::nullopt;
    const auto axes = rewriter_.ints(n.input(3));
    if (!starts || !ends || !axes || axes->size() != ends->size() || !has_rank(n.inputs[0]))
      return false;
    const auto all = [](const Ints& list, int64_t v) {
      return std::ranges::all_of(list, [v](int64_t i) { return i == v; });
    };
    if (!all(*starts, 0) || (n.input(4) && (!steps || !all(*steps, 1)))) return false;
    for (size_t i = 0; i < axes->size(); ++i) {
      const auto axis = normalized((*axes)[i], *n.inputs[0]->rank());
      if (!axis || !is_dim((*ends)[i], n.inputs[0], *axis)) return false;
    }
    return true;
  }

  bool is_size(const Element& e, Value* v, size_t from_right) const {
    if (!v || !v->rank() || from_right >= v->type.shape->size()) return false;
    const auto axis = *v->rank() - 1 - static_cast<int64_t>(from_right);
    return e.is_number() ? dims_.number(v, axis) == e.number : is_dim(e, v, axis);
  }

  void operands(Node& n) {
    leave_out_expands(n);
    expand_result(n);
  }

  static bool is_single(const Value* v, int64_t most_rank) {
    return has_rank(v) && *v->rank() <= most_rank &&
           std::ranges::all_of(*v->type.shape, [](const Dim& d) { return d == Dim::of(1); });
  }

  // The node works on what its only operand of several elements was expanded from.
  void expand_result(Node& n) {
    Value** expanded = nullptr;
    for (Value*& operand : n.inputs) {
      if (!operand || expanded || !produced_by(operand, "Expand")) continue;
      const auto uses = uses_.find(operand);
      if (uses != uses_.end() && uses->second == 1) expanded = &operand;
    }
    if (!expanded || n.outputs.size() != 1 || n.attributes.size() != 0) return;
    const Node& expand = *(*expanded)->producer;
    Value* from = expand.inputs[0];
    if (!has_rank(from)) return;
    for (const Value* operand : n.inputs)
      if (operand != *expanded && !is_single(operand, *from->rank())) return;
    *expanded = from;
    Type type = n.outputs[0]->type;
    type.shape = from->type.shape;
    Value* result = rewriter_.insert(n, n.op, n.inputs, type);
    n.op = "Expand";
    n.inputs = {result, expand.inputs[1]};
    rewriter_.mark_changed();
  }

  void leave_out_expands(Node& n) {
    for (Value*& operand : n.inputs) {
      const Node* expand = operand ? produced_by(operand, "Expand") : nullptr;
      const auto shape = expand ? sizes_.of(expand->inputs[1]) : std::nullopt;
      if (!shape || !expand->inputs[0]->rank()) continue;
      size_t found = 0;
      for (size_t i = 0; i < shape->size(); ++i) {
        const Element& e = (*shape)[i];
        const size_t from_right = shape->size() - 1 - i;
        const auto has = [&](Value* v) { return v != operand && is_size(e, v, from_right); };
        const bool one =
            e.is_number() && e.number == 1 &&
            (from_right < expand->inputs[0]->type.shape->size() ||
             std::ranges::any_of(n.inputs, [&](const Value* v) {
               return v != operand && v && v->rank() && from_right < v->type.shape->size();
             }));
        found += one || has(expand->inputs[0]) || std::ranges::any_of(n.inputs, has);
      }
      if (found != shape->size()) continue;
      operand = expand->inputs[0];
      rewriter_.mark_changed();
    }
  }
};

}  // namespace

bool simplify_shapes(Model& m, const Options&) { return Shapes(m).run(); }

}  // namespace oe::optimize
