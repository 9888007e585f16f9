// The inverse of every view operator: the parent with one view of it replaced.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_unique.h>

#include <unordered_set>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

// "aten::split" for aten::split.Tensor, and for aten::unsafe_split, which shares memory as it does.
std::string base_of(const std::string& name) {
  std::string base = name.substr(0, name.find('.'));
  const std::string unsafe = "aten::unsafe_";
  return base.starts_with(unsafe) ? "aten::" + base.substr(unsafe.size()) : base;
}

// Views that only regroup the elements, in the same order: undone by reshaping.
bool regroups(const std::string& base) {
  static const std::unordered_set<std::string> names = {
      "aten::view",       "aten::reshape",   "aten::_reshape_alias", "aten::flatten",
      "aten::unflatten",  "aten::squeeze",   "aten::unsqueeze",      "aten::view_as",
      "aten::reshape_as", "aten::ravel",     "aten::_unsafe_view",   "aten::atleast_1d",
      "aten::atleast_2d", "aten::atleast_3d"};
  return names.contains(base);
}

// Views with repeated elements, of which LibTorch refuses every write.
bool repeats(const std::string& base) {
  return base == "aten::expand" || base == "aten::expand_as" || base == "aten::broadcast_to";
}

bool splits(const std::string& base) {
  static const std::unordered_set<std::string> names = {"aten::tensor_split", "aten::hsplit",
                                                        "aten::vsplit", "aten::dsplit"};
  return names.contains(base);
}

}  // namespace

// What a call of these gives depends on their arguments even where it happens to be the whole
// tensor; of other operators whose result shares memory (to, contiguous, dropout) it is the tensor.
bool is_view_operator(const std::string& op) {
  const std::string base = base_of(op);
  static const std::unordered_set<std::string> names = {"aten::transpose",
                                                        "aten::swapaxes",
                                                        "aten::swapdims",
                                                        "aten::t",
                                                        "aten::numpy_T",
                                                        "aten::mT",
                                                        "aten::permute",
                                                        "aten::movedim",
                                                        "aten::moveaxis",
                                                        "aten::select",
                                                        "aten::slice",
                                                        "aten::narrow",
                                                        "aten::diagonal",
                                                        "aten::unbind",
                                                        "aten::split",
                                                        "aten::chunk",
                                                        "aten::split_with_sizes",
                                                        "aten::unfold",
                                                        "aten::as_strided",
                                                        "aten::linalg_diagonal",
                                                        "aten::conj",
                                                        "aten::_conj",
                                                        "aten::_neg_view",
                                                        "aten::view_as_real",
                                                        "aten::view_as_complex"};
  return names.contains(base) || regroups(base) || repeats(base) || splits(base);
}

// The slice that is piece `output` of split, chunk, narrow and their kin: axis, start, end.
std::optional<Views::Piece> Views::piece_of(const ViewStep& step, const AbstractValue& p) {
  const std::string base = base_of(step.op);
  const auto& args = step.args;
  const int k = step.output;
  const AbstractValue none = AbstractValue::none(), zero = AbstractValue::of(int64_t{0});
  auto add = [&](const AbstractValue& a, const AbstractValue& b) {
    return ex_.apply("aten::add.int", {a, b});
  };
  auto mul = [&](const AbstractValue& a, int64_t b) {
    return ex_.apply("aten::mul.int", {a, AbstractValue::of(b)});
  };

  if (base == "aten::narrow") {
    AbstractValue start = args[1];
    if (start.is(K::Tensor)) start = ex_.apply("aten::Int.Tensor", {start});
    if (!start.is_constant_number() || start.c.at(0).toInt() < 0) {
      // Counted from the end, at least perhaps. At the very end only a piece of 0 can start, for
      // which 0 does as well.
      AbstractValue size = ex_.apply.size_of(p, ex_.apply.known_int(args[0], "dim"));
      AbstractValue divisor = ex_.apply("prim::max.int", {size, AbstractValue::of(int64_t{1})});
      start = ex_.apply("aten::remainder.int", {start, divisor});
    }
    return Piece{args[0], start, add(start, args[2])};
  }
  if (base == "aten::split_with_sizes" || (base == "aten::split" && args[0].is(K::List))) {
    AbstractValue start = zero;
    const auto& sizes = args[0].list()->items;
    for (int i = 0; i < k; ++i) start = add(start, sizes[static_cast<size_t>(i)]);
    return Piece{args[1], start, add(start, sizes[static_cast<size_t>(k)])};
  }
  if (base == "aten::split" || base == "aten::chunk") {
    AbstractValue piece = args[0];
    if (base == "aten::chunk") {  // ceil(size / chunks)
      AbstractValue size = ex_.apply.size_of(p, ex_.apply.known_int(args[1], "dim"));
      AbstractValue up = add(size, AbstractValue::of(ex_.apply.known_int(piece, "chunks") - 1));
      piece = ex_.apply("aten::floordiv.int", {up, piece});
    }
    AbstractValue start = mul(piece, k);
    return Piece{args[1], start, add(start, piece)};
  }
  if (!splits(base)) return std::nullopt;

  const auto rank = read(p.tensor())->axes.size();
  const AbstractValue dim = base == "aten::tensor_split" ? args[1]
                            : base == "aten::vsplit"     ? zero
                            : base == "aten::dsplit"
                                ? AbstractValue::of(int64_t{2})
                                : AbstractValue::of(int64_t{rank == 1 ? 0 : 1});
  if (args[0].is(K::List)) {  // cut at these places
    const auto& at = args[0].list()->items;
    return Piece{dim, k == 0 ? none : at[static_cast<size_t>(k) - 1],
                 static_cast<size_t>(k) == at.size() ? none : at[static_cast<size_t>(k)]};
  }
  if (!args[0].is(K::Int)) return std::nullopt;
  // The first size % n pieces are one longer than the others.
  AbstractValue size = ex_.apply.size_of(p, ex_.apply.known_int(dim, "dim"));
  AbstractValue each = ex_.apply("aten::floordiv.int", {size, args[0]});
  AbstractValue longer = ex_.apply("aten::remainder.int", {size, args[0]});
  auto begin = [&](int64_t i) {
    return add(mul(each, i), ex_.apply("prim::min.int", {longer, AbstractValue::of(i)}));
  };
  return Piece{dim, begin(k), begin(k + 1)};
}

// Where a view has no inverse of its own: the view of the places tells where each element belongs.
TensorValuePtr Views::write_back_by_places(const ViewStep& step, const AbstractValue& p,
                                           const AbstractValue& n) {
  const AbstractValue int64 = AbstractValue::of(static_cast<int64_t>(c10::ScalarType::Long));
  const AbstractValue none = AbstractValue::none();
  AbstractValue count = ex_.apply.numel_of(p);
  AbstractValue places = ex_.apply("aten::arange", {count, int64, none, none, none});
  std::vector<AbstractValue> args = {ex_.apply("aten::reshape_as", {places, p})};
  args.insert(args.end(), step.args.begin(), step.args.end());
  AbstractValue seen = ex_.apply(ex_.operators.named(step.op), args).at(0);
  if (step.output >= 0) seen = seen.list()->items.at(static_cast<size_t>(step.output));
  const TensorValuePtr at = read(seen.tensor());
  ex_.worlds.each([&](size_t w) {
    if (!at->c.has(w)) return;
    const at::Tensor flat = at->c.at(w).toTensor().reshape({-1});
    if (std::get<0>(at::_unique(flat)).numel() != flat.numel())
      ex_.site.refuse(
          "OE4021",
          "an in-place write through " + base_of(step.op) + ", whose elements overlap in memory",
          "write to the tensor itself, or clone() the view first");
  });
  const AbstractValue minus_one =
      ex_.values.list({AbstractValue::of(int64_t{-1})}, c10::IntType::get());
  auto flat = [&](const AbstractValue& s) { return ex_.apply("aten::reshape", {s, minus_one}); };
  AbstractValue written =
      ex_.apply("aten::scatter.src", {flat(p), AbstractValue::of(int64_t{0}), flat(seen), flat(n)});
  return ex_.apply("aten::reshape_as", {written, p}).tensor()->cached;
}

TensorValuePtr Views::write_back(const TensorHandle& h, const TensorValuePtr& parent,
                                 const TensorValuePtr& v) {
  const ViewStep& step = *h.step;
  if (step.op.empty()) return v;
  const std::string base = base_of(step.op);
  const AbstractValue p = ex_.values.tensor(parent), n = ex_.values.tensor(v);
  auto done = [](const AbstractValue& s) { return s.tensor()->cached; };
  auto rank = static_cast<int64_t>(parent->axes.size());

  if (step.op == "aten::view.dtype" || step.op.starts_with('?'))
    ex_.site.refuse("OE4021",
                    "an in-place write through " + base.substr(step.op.starts_with('?')) +
                        " cannot be converted",
                    "write to the tensor itself, or clone() the view first");
  if (regroups(base)) return done(ex_.apply("aten::reshape_as", {n, p}));
  if (base == "aten::transpose" || base == "aten::swapaxes" || base == "aten::swapdims")
    return done(ex_.apply("aten::transpose.int", {n, step.args[0], step.args[1]}));
  if (base == "aten::t") return done(ex_.apply("aten::t", {n}));
  if (base == "aten::numpy_T") return done(ex_.apply("aten::numpy_T", {n}));
  if (base == "aten::mT") return done(ex_.apply("aten::mT", {n}));
  if (base == "aten::conj" || base == "aten::_conj") return done(ex_.apply("aten::conj", {n}));
  if (base == "aten::_neg_view") return done(ex_.apply("aten::neg", {n}));
  if (base == "aten::view_as_real") return done(ex_.apply("aten::view_as_complex", {n}));
  if (base == "aten::view_as_complex") return done(ex_.apply("aten::view_as_real", {n}));
  if (base == "aten::permute") {
    std::vector<AbstractValue> inverse(static_cast<size_t>(rank));
    const auto& dims = step.args[0].list()->items;
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t d = ex_.apply.known_int(dims[i], "dim");
      inverse[static_cast<size_t>(d < 0 ? d + rank : d)] =
          AbstractValue::of(static_cast<int64_t>(i));
    }
    return done(ex_.apply("aten::permute", {n, ex_.values.list(inverse, c10::IntType::get())}));
  }
  if (base == "aten::movedim" || base == "aten::moveaxis") {
    const bool list = step.args[0].is(K::List);
    return done(ex_.apply(list ? "aten::movedim.intlist" : "aten::movedim.int",
                          {n, step.args[1], step.args[0]}));
  }
  if (base == "aten::select")
    return done(ex_.apply("aten::select_scatter", {p, n, step.args[0], step.args[1]}));
  if (base == "aten::unbind")
    return done(
        ex_.apply("aten::select_scatter",
                  {p, n, step.args[0], AbstractValue::of(static_cast<int64_t>(step.output))}));
  if (base == "aten::slice")
    return done(ex_.apply("aten::slice_scatter",
                          {p, n, step.args[0], step.args[1], step.args[2], step.args[3]}));
  if (auto piece = piece_of(step, p))
    return done(ex_.apply("aten::slice_scatter", {p, n, piece->axis, piece->start, piece->end,
                                                  AbstractValue::of(int64_t{1})}));
  if (base == "aten::diagonal" || base == "aten::linalg_diagonal")
    return done(
        ex_.apply("aten::diagonal_scatter", {p, n, step.args[0], step.args[1], step.args[2]}));
  if (base == "aten::as_strided")
    return done(
        ex_.apply("aten::as_strided_scatter", {p, n, step.args[0], step.args[1], step.args[2]}));
  if (repeats(base)) {
    ex_.worlds.each([&](size_t w) {
      if (v->c.has(w) && v->c.at(w).toTensor().numel() != parent->c.at(w).toTensor().numel())
        ex_.apply.fail(w,
                       "unsupported operation: more than one element of the written-to tensor "
                       "refers to a single memory location");
    });
    return done(ex_.apply("aten::reshape_as", {n, p}));
  }
  if (is_view_operator(base)) return write_back_by_places(step, p, n);
  ex_.site.refuse("OE4021", "an in-place write through " + base + " cannot be converted",
                  "write to the tensor itself, or clone() the view first");
}

}  // namespace oe::capture
