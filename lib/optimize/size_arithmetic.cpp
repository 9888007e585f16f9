// Sizes as polynomials, by the definitions of the operators: dims that are numbers after all, and
// names for dims of outputs.
//
//   input x[batch,3,h,w], y = Resize (x) by 2   =>  output y[batch,3,2*h,2*w]
//   y = Reshape (x[batch,12,h], {2 * batch,6,-1})  =>  the last dim is h, of x[batch,12,5] it is 5
//
// All hold for all sizes. Nodes are at the newest opset, those of nested graphs are left out. What
// depends on the elements of a tensor has no polynomial.
#include "lib/optimize/size_arithmetic.h"

#include <algorithm>
#include <map>

#include "lib/ir/traits.h"
#include "lib/optimize/elements.h"
#include "lib/optimize/passes.h"
#include "lib/optimize/sizes.h"
#include "lib/optimize/tensors.h"
#include "lib/support/dim_expression.h"

namespace oe::optimize {

using namespace ir;

class SizeArithmetic {
 public:
  // The symbol of a dim that no operator computes from others: its name, or a symbol of its own,
  // whatever its name is.
  enum class Unknown { Named, Own };
  SizeArithmetic(Unknown unknown, const Rewriter& r, const DimSources& sources,
                 const KnownElements& elements)
      : unknown_(unknown), rewriter_(r), sources_(sources), elements_(elements) {}

  // After the sources and the elements have seen it.
  void visit(const Node& n) {
    if (!n.domain.empty() || n.outputs.empty() || !n.outputs[0]) return;
    Value* out = n.outputs[0];
    if (Sizes numbers = arithmetic(n); !numbers.empty()) numbers_[out] = std::move(numbers);
    if (!has_rank(out)) return;
    set(out, dims_of_result(n));
    if (is_recurrent(n))
      for (size_t i = 1; i < n.outputs.size(); ++i) set(n.outputs[i], last_states(n));
  }

  Size dim(Value* v, int64_t axis) const {
    const auto i = static_cast<size_t>(axis);
    const Dim& d = (*v->type.shape)[i];
    if (d.is_number()) return DimPolynomial::number(d.number);
    if (d.is_symbol() && unknown_ == Unknown::Named)
      return is_dim_name(d.symbol) ? Size(DimPolynomial::symbol(d.symbol)) : std::nullopt;
    const DimSource s = sources_.of(v, axis);
    if (s.value != v || s.axis != axis) return dim(s.value, s.axis);
    const auto found = computed_.find(v);
    if (found != computed_.end() && found->second[i]) return found->second[i];
    if (unknown_ == Unknown::Named) return std::nullopt;
    const auto [own, fresh] = own_.try_emplace({v, axis}, list_.size());
    if (fresh) list_.push_back({v, axis});
    return DimPolynomial::symbol("s" + std::to_string(own->second));
  }

  // The dim of a tensor that a size is, where it is one.
  std::optional<DimSource> source_of(const Size& size) const {
    const std::string text = size ? size->text() : "";
    const bool symbol = text.size() > 1 && text.size() < 12 && text[0] == 's' &&
                        text.find_first_not_of("0123456789", 1) == std::string::npos;
    return symbol ? std::optional(list_[std::stoul(text.substr(1))]) : std::nullopt;
  }
  // The computed elements of an int64 tensor; empty: unknown.
  const Sizes& computed_elements(const Value* v) const {
    static const Sizes none;
    const auto it = numbers_.find(v);
    return it == numbers_.end() ? none : it->second;
  }

 private:
  const Unknown unknown_;
  mutable std::map<std::pair<const Value*, int64_t>, size_t> own_;
  mutable std::vector<DimSource> list_;  // by the number of the symbol
  const Rewriter& rewriter_;
  const DimSources& sources_;
  const KnownElements& elements_;
  std::unordered_map<const Value*, Sizes> computed_;  // dims that are not those of an input
  std::unordered_map<const Value*, Sizes> numbers_;   // elements of computed int64 tensors

  static bool is_recurrent(const Node& n) {
    return n.op == "LSTM" || n.op == "GRU" || n.op == "RNN";
  }

  void set(const Value* v, Sizes dims) {
    if (has_rank(v) && dims.size() == v->type.shape->size()) computed_[v] = std::move(dims);
  }

  Sizes dims(Value* v) const {
    Sizes all;
    for (int64_t i = 0; i < *v->rank(); ++i) all.push_back(dim(v, i));
    return all;
  }

  // The elements of a short int64 tensor; empty: unknown.
  Sizes elements(Value* v) const {
    Sizes all;
    const auto known = elements_.of(v);
    if (!known) return all;
    for (const Element& e : *known) {
      if (e.is_number()) {
        all.push_back(DimPolynomial::number(e.number));
      } else if (e.kind == Element::Kind::Dim) {
        all.push_back(dim(e.source, e.index));
      } else {
        const auto found = numbers_.find(e.source);
        const auto i = static_cast<size_t>(e.index);
        all.push_back(found != numbers_.end() && i < found->second.size() ? found->second[i]
                                                                          : std::nullopt);
      }
    }
    return all;
  }

  Sizes arithmetic(const Node& n) const {
    if (n.op == "ReduceProd" && has_rank(n.outputs[0])) {
      const Sizes a = elements(n.input(0));
      const bool all = n.outputs[0]->rank() == 0 || n.attributes.get_or<int64_t>("keepdims", 1);
      return a.empty() || !all ? Sizes{} : Sizes{product(a, 0, a.size())};
    }
    if (n.op != "Add" && n.op != "Sub" && n.op != "Mul" && n.op != "Div") return {};
    const Sizes a = elements(n.input(0)), b = elements(n.input(1));
    if (a.empty() || b.empty()) return {};
    Sizes all;
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return {};
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const Size &x = a[a.size() == 1 ? 0 : i], &y = b[b.size() == 1 ? 0 : i];
      all.push_back(n.op == "Add"   ? sum(x, y)
                    : n.op == "Sub" ? difference(x, y)
                    : n.op == "Mul" ? product(x, y)
                                    : quotient(x, y));
    }
    return all;
  }

  Sizes dims_of_result(const Node& n) const {
    if (n.op == "Range") return range(n);
    if (n.op == "ConstantOfShape") return elements(n.input(0));
    if (!has_rank(n.input(0))) return {};
    if (n.op == "Conv" || n.op == "MaxPool" || n.op == "AveragePool") return windows(n);
    if (n.op == "ConvTranspose") return transposed_windows(n);
    if (n.op == "Resize") return resize(n);
    if (n.op == "Concat") return concat(n);
    if (n.op == "Pad") return pad(n);
    if (n.op == "Slice") return slice(n);
    if (n.op == "Reshape") return reshape(n);
    if (n.op == "Flatten") return flatten(n);
    if (n.op == "Expand") return expand(n);
    if (n.op == "Tile") return tile(n);
    if (n.op == "DepthToSpace") return depth_to_space(n);
    if (n.op == "GatherElements" && has_rank(n.input(1))) return dims(n.inputs[1]);
    if (is_recurrent(n)) return recurrent(n);
    if (n.op == "MatMul") return matmul(n);
    if (n.op == "Einsum") return einsum(n);
    if (traits_of(n).dims == DimRule::Broadcast) return broadcast(n);
    return {};
  }

  // From 0 in steps of 1.
  Sizes range(const Node& n) const {
    const Sizes start = elements(n.input(0)), limit = elements(n.input(1)),
                delta = elements(n.input(2));
    if (start.size() != 1 || limit.size() != 1 || delta.size() != 1 || !delta[0] ||
        delta[0]->as_number() != 1)
      return {};
    const Size length = difference(limit[0], start[0]);
    return {length ? Size(length->at_least_zero()) : std::nullopt};
  }

  // Attributes of a convolution or a pool; empty where the padding follows the size.
  struct Window {
    Ints kernel, strides, dilations, pads;
  };
  std::optional<Window> window_of(const Node& n) const {
    const size_t spatial = static_cast<size_t>(*n.inputs[0]->rank()) - 2;
    Window w;
    if (const auto* kernel = n.attributes.get<Ints>("kernel_shape")) {
      w.kernel = *kernel;
    } else if (has_rank(n.input(1))) {
      for (size_t i = 2; i < n.inputs[1]->type.shape->size(); ++i)
        if (const Dim& d = (*n.inputs[1]->type.shape)[i]; d.is_number())
          w.kernel.push_back(d.number);
    }
    w.strides = n.attributes.get_or<Ints>("strides", Ints(spatial, 1));
    w.dilations = n.attributes.get_or<Ints>("dilations", Ints(spatial, 1));
    w.pads = n.attributes.get_or<Ints>("pads", Ints(2 * spatial, 0));
    const bool fits = w.kernel.size() == spatial && w.strides.size() == spatial &&
                      w.dilations.size() == spatial && w.pads.size() == 2 * spatial &&
                      n.attributes.get_or<std::string>("auto_pad", "NOTSET") == "NOTSET";
    return fits ? std::optional(w) : std::nullopt;
  }

  Sizes windows(const Node& n) const {
    const auto w = window_of(n);
    if (!w || n.attributes.get_or<int64_t>("ceil_mode", 0)) return {};
    Sizes out(2);  // batch and channels have a source or a number
    if (!n.is("Conv")) out[1] = dim(n.inputs[0], 1);
    out[0] = dim(n.inputs[0], 0);
    const size_t spatial = w->kernel.size();
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t span = w->dilations[i] * (w->kernel[i] - 1) + 1;
      const Size free = sum(dim(n.inputs[0], static_cast<int64_t>(i) + 2),
                            w->pads[i] + w->pads[spatial + i] - span);
      out.push_back(sum(floor_quotient(free, w->strides[i]), 1));
    }
    return out;
  }

  Sizes transposed_windows(const Node& n) const {
    const auto w = window_of(n);
    if (!w || n.attributes.find("output_shape")) return {};
    Sizes out = {dim(n.inputs[0], 0), std::nullopt};
    const size_t spatial = w->kernel.size();
    const Ints more = n.attributes.get_or<Ints>("output_padding", Ints(spatial, 0));
    if (more.size() != spatial) return {};
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t span = w->dilations[i] * (w->kernel[i] - 1) + 1;
      const Size steps = sum(dim(n.inputs[0], static_cast<int64_t>(i) + 2), -1);
      out.push_back(
          sum(product(steps, w->strides[i]), more[i] + span - w->pads[i] - w->pads[spatial + i]));
    }
    return out;
  }

  Sizes resize(const Node& n) const {
    if (n.attributes.find("axes") ||
        n.attributes.get_or<std::string>("keep_aspect_ratio_policy", "stretch") != "stretch")
      return {};
    if (n.input(3)) return elements(n.inputs[3]);
    const TensorPtr scales = rewriter_.constant(n.input(2));
    if (!scales || scales->dtype() != DType::Float ||
        static_cast<int64_t>(scales->numel()) != *n.inputs[0]->rank())
      return {};
    Sizes out;
    for (size_t i = 0; i < static_cast<size_t>(scales->numel()); ++i) {
      const float scale = scales->values<float>()[i];
      out.push_back(scaled(dim(n.inputs[0], static_cast<int64_t>(i)), scale));
    }
    return out;
  }

  Sizes concat(const Node& n) const {
    const auto axis = normalized(n.attributes.get_or<int64_t>("axis", 0), *n.inputs[0]->rank());
    if (!axis) return {};
    Sizes out = dims(n.inputs[0]);
    Size total = DimPolynomial::number(0);
    for (Value* v : n.inputs) {
      if (!has_rank(v) || v->rank() != n.inputs[0]->rank()) return {};
      total = sum(total, dim(v, *axis));
    }
    out[static_cast<size_t>(*axis)] = total;
    return out;
  }

  Sizes pad(const Node& n) const {
    Sizes out = dims(n.inputs[0]);
    const Sizes pads = elements(n.input(1));
    if (n.input(3) || pads.size() != 2 * out.size()) return {};
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = sum(out[i], sum(pads[i], pads[out.size() + i]));
    return out;
  }

  // Whole axes in steps, from the first or the last element, or without elements at one end.
  Sizes slice(const Node& n) const {
    const Sizes starts = elements(n.input(1)), ends = elements(n.input(2));
    Sizes out = dims(n.inputs[0]);
    const auto axes = n.input(3) ? rewriter_.ints(n.inputs[3]) : std::nullopt;
    const auto steps =
        n.input(4) ? rewriter_.ints(n.inputs[4]) : std::optional(Ints(starts.size(), 1));
    if (!axes || !steps || axes->size() != starts.size() || ends.size() != starts.size() ||
        steps->size() != starts.size())
      return {};
    for (size_t i = 0; i < axes->size(); ++i) {
      const auto axis = normalized((*axes)[i], *n.inputs[0]->rank());
      if (!axis) return {};
      Size& d = out[static_cast<size_t>(*axis)];
      d = d && starts[i] && ends[i] ? taken(*d, *starts[i], *ends[i], (*steps)[i]) : std::nullopt;
    }
    return out;
  }

  Sizes reshape(const Node& n) const {
    const Sizes in = dims(n.inputs[0]);
    Sizes out = elements(n.input(1));
    const bool zero_copies = !n.attributes.get_or<int64_t>("allowzero", 0);
    std::optional<size_t> rest;
    for (size_t i = 0; i < out.size(); ++i) {
      const auto number = out[i] ? out[i]->as_number() : std::nullopt;
      if (number == 0 && zero_copies) out[i] = i < in.size() ? in[i] : std::nullopt;
      if (number && *number < 0) rest = i;
    }
    if (!rest) return out;
    out[*rest] = DimPolynomial::number(1);
    const Size total = product(in, 0, in.size()), others = product(out, 0, out.size());
    out[*rest] = total && others ? total->divided_exactly(*others) : std::nullopt;
    return out;
  }

  Sizes flatten(const Node& n) const {
    const Sizes in = dims(n.inputs[0]);
    const int64_t axis = n.attributes.get_or<int64_t>("axis", 1);
    const auto at = static_cast<size_t>(axis < 0 ? axis + *n.inputs[0]->rank() : axis);
    if (at > in.size()) return {};
    return {product(in, 0, at), product(in, at, in.size())};
  }

  Sizes expand(const Node& n) const {
    const Sizes shape = elements(n.input(1));
    return shape.empty() ? Sizes{} : wider(dims(n.inputs[0]), shape);
  }
  Sizes broadcast(const Node& n) const {
    Sizes out;
    for (Value* v : n.inputs) {
      if (!has_rank(v)) return {};
      out = out.empty() && v == n.inputs[0] ? dims(v) : wider(std::move(out), dims(v));
    }
    return out;
  }

  Sizes matmul(const Node& n) const {
    if (!has_rank(n.input(1)) || *n.inputs[0]->rank() < 2 || *n.inputs[1]->rank() < 2) return {};
    const Sizes a = dims(n.inputs[0]), b = dims(n.inputs[1]);
    Sizes out = wider(Sizes(a.begin(), a.end() - 2), Sizes(b.begin(), b.end() - 2));
    out.push_back(a[a.size() - 2]);
    out.push_back(b.back());
    return out;
  }

  // "bhid,bhjd->bhij"; without an ellipsis.
  Sizes einsum(const Node& n) const {
    std::string equation = n.attributes.get_or<std::string>("equation", "");
    std::erase(equation, ' ');
    const size_t arrow = equation.find("->");
    if (arrow == std::string::npos || equation.find('.') != std::string::npos) return {};
    std::map<char, Size> sizes;
    size_t operand = 0, axis = 0;
    for (size_t i = 0; i < arrow; ++i) {
      if (equation[i] == ',') {
        ++operand;
        axis = 0;
        continue;
      }
      Value* v = n.input(operand);
      if (!has_rank(v) || axis >= v->type.shape->size()) return {};
      const Size own = dim(v, static_cast<int64_t>(axis++));
      const auto [it, fresh] = sizes.try_emplace(equation[i], own);
      if (!fresh) it->second = wider(it->second, own);
    }
    Sizes out;
    for (size_t i = arrow + 2; i < equation.size(); ++i) out.push_back(sizes[equation[i]]);
    return out;
  }

  Sizes tile(const Node& n) const {
    Sizes out = dims(n.inputs[0]);
    const Sizes repeats = elements(n.input(1));
    if (repeats.size() != out.size()) return {};
    for (size_t i = 0; i < out.size(); ++i) out[i] = product(out[i], repeats[i]);
    return out;
  }

  Sizes depth_to_space(const Node& n) const {
    Sizes out = dims(n.inputs[0]);
    const int64_t block = n.attributes.get_or<int64_t>("blocksize", 1);
    if (out.size() != 4) return {};
    out[1] = floor_quotient(out[1], block * block);
    out[2] = product(out[2], block);
    out[3] = product(out[3], block);
    return out;
  }

  // The first output: [length, directions, batch, hidden].
  Sizes recurrent(const Node& n) const {
    if (n.inputs[0]->rank() != 3 || n.attributes.get_or<int64_t>("layout", 0)) return {};
    return {dim(n.inputs[0], 0), std::nullopt, dim(n.inputs[0], 1), std::nullopt};
  }
  Sizes last_states(const Node& n) const {
    const Sizes all = has_rank(n.input(0)) ? recurrent(n) : Sizes{};
    return all.empty() ? all : Sizes(all.begin() + 1, all.end());
  }
};

SizeLearner::SizeLearner(const Rewriter& r, DimSources& dims, KnownElements& elements)
    : rewriter_(r),
      arithmetic_(
          std::make_unique<SizeArithmetic>(SizeArithmetic::Unknown::Own, r, dims, elements)),
      dims_(dims),
      elements_(elements) {}
SizeLearner::~SizeLearner() = default;

std::optional<DimSource> SizeLearner::source_of(const Size& size) const {
  if (!size || size->as_number()) return std::nullopt;
  if (const auto s = arithmetic_->source_of(size)) return s;
  const auto it = first_.find(size->text());
  return it == first_.end() ? std::nullopt : std::optional(it->second);
}

void SizeLearner::visit(const Node& n) {
  arithmetic_->visit(n);
  for (Value* v : n.outputs)
    for (int64_t axis = 0; has_rank(v) && axis < *v->rank(); ++axis) {
      if (dims_.number(v, axis)) continue;
      const Size size = arithmetic_->dim(v, axis);
      const auto s = source_of(size);
      if (s && s->value != v && *s != dims_.of(v, axis)) dims_.equate(v, axis, *s);
      if (!s && size && size->never_negative() && rewriter_.in_main_graph())
        first_.emplace(size->text(), DimSource{v, axis});
    }
  if (n.outputs.size() != 1 || !n.outputs[0]) return;
  Elements known;
  for (const Size& size : arithmetic_->computed_elements(n.outputs[0])) {
    const auto s = source_of(size);
    if (!s) return;
    known.push_back({Element::Kind::Dim, 0, s->value, s->axis});
  }
  const Type& t = n.outputs[0]->type;
  if (!known.empty() && t.shape && (t.shape->empty() ? known.size() == 1 : t.shape->size() == 1))
    elements_.set(n.outputs[0], std::move(known));
}

namespace {

// The whole graph, without what nested graphs compute.
class WholeGraph {
 public:
  WholeGraph(Model& m, SizeArithmetic::Unknown unknown)
      : rewriter_(m),
        sources_(rewriter_),
        elements_(rewriter_, sources_),
        arithmetic_(unknown, rewriter_, sources_, elements_) {}

  void visit(const Node& n) {
    sources_.visit(n);
    if (n.domain.empty() && n.outputs.size() == 1 && n.outputs[0])
      if (auto e = elements_.result_of(n)) elements_.set(n.outputs[0], std::move(*e));
    arithmetic_.visit(n);
  }
  Size dim(Value* v, int64_t axis) const { return arithmetic_.dim(v, axis); }

 private:
  Rewriter rewriter_;
  DimSources sources_;
  KnownElements elements_;
  SizeArithmetic arithmetic_;
};

}  // namespace

bool infer_sizes(Model& m) {
  bool computes = false, changed = false;  // without a Shape, inference has found all numbers
  for (const auto& n : m.graph.nodes) computes |= n->is("Shape");
  if (!computes) return false;
  WholeGraph d(m, SizeArithmetic::Unknown::Own);
  for (const auto& n : m.graph.nodes) {
    d.visit(*n);
    for (Value* v : n->outputs) {
      if (!has_rank(v)) continue;
      for (size_t i = 0; i < v->type.shape->size(); ++i) {
        Dim& own = (*v->type.shape)[i];
        const Size size = own.is_number() ? std::nullopt : d.dim(v, static_cast<int64_t>(i));
        const auto number = size ? size->as_number() : std::nullopt;
        if (!number || *number < 0) continue;
        own = Dim::of(*number);
        changed = true;
      }
    }
  }
  return changed;
}

void name_output_dims(Model& m) {
  WholeGraph d(m, SizeArithmetic::Unknown::Named);
  for (const auto& n : m.graph.nodes) d.visit(*n);
  for (Value* v : m.graph.outputs) {
    if (!has_rank(v)) continue;
    auto& dims = *v->type.shape;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != Dim::unknown()) continue;
      const Size size = d.dim(v, static_cast<int64_t>(i));
      // A number here would be right too, but it is for shape inference to find it.
      if (size && !size->as_number()) dims[i] = Dim::named(size->text());
    }
  }
}

}  // namespace oe::optimize
