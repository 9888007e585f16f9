// The same elements in another shape: view, flatten, squeeze, permute, expand and their kin.
// https://onnx.ai/onnx/operators/onnx__Reshape.html
#include <algorithm>
#include <numeric>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// --- reshaping

T unflatten(Call& g, T x, Axis axis, const Dims& given) {
  x = at_least_1d(x);
  const int64_t rank = x.rank();
  Dims rest = given;
  // The -1 is worked out from this axis alone, so that other axes may be empty.
  for (Int& i : rest) {
    if (i.known != -1) continue;
    Int others = known(1);
    for (const Int& other : given)
      if (other.known != -1) others = others * other;
    const Int size = size_of(x, axis);
    if (size.known && others.known)
      i = known(*others.known ? *size.known / *others.known : 0);
    else
      i = computed(with_rank(g.value(size) / g.value(others), 0));
  }
  for (int64_t i = axis + 1; i < rank; ++i) rest.push_back(size_of(x, i));
  return reshape_to(x, rest, axis);
}

T flatten(T x, Axis start, Axis end) {
  const int64_t rank = x.rank();
  if (rank == 0) return at_least_1d(x);
  if (start == end) return x;
  if (start == 0 && end == rank - 1) return flat(x);
  Int size = known(1);
  bool fixed = true;
  for (int64_t i = start; i <= end; ++i) {
    const auto n = x.dim(i);
    fixed = fixed && n;
    if (n) size = known(*size.known * *n);
  }
  // Flatten is exact for empty axes and as old as ONNX.
  if (start == 1 && end == rank - 1)
    return with_dims(node("Flatten", {x}, {{"axis", int64_t{1}}}),
                     {(*x->type.shape)[0], fixed ? Dim::of(*size.known) : Dim::unknown()});
  if (!fixed) {
    size = known(1);
    for (int64_t i = start; i <= end; ++i) size = size * size_of(x, i);
  }
  Dims rest{size};
  for (int64_t i = end + 1; i < rank; ++i) rest.push_back(size_of(x, i));
  return reshape_to(x, rest, start);
}

T like_other(T x, T other) {
  if (!other->type.shape)
    return node("Reshape", {x, shape(other)}, {{"allowzero", int64_t{1}}},
                ir::Type::tensor(x.dtype()));
  if (same_static(x, other)) return x;
  return reshape_to(x, sizes_of(other, other.rank()));
}

// --- squeezing: an axis goes away where its size is 1, which a dynamic axis decides at run time.

T squeeze_all(T x) {
  Ints ones;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const auto n = x.dim(i);
    if (!n) return unary("Squeeze", x);
    if (*n == 1) ones.push_back(i);
  }
  return squeeze(x, ones);
}

T squeeze_axes(Call& g, T x, const Axes& axes) {
  if (x.rank() == 0) return x;
  Ints ones, open;
  for (int64_t axis : axes) {
    const auto n = x.dim(axis);
    if (!n) open.push_back(axis);
    if (n == 1) ones.push_back(axis);
  }
  const int64_t rank = x.rank();
  const Shape& recorded = g.result_shape();
  // Capture saw the same rank at every size, size 1 among them where the model allows it.
  if (recorded) {
    const auto gone = static_cast<size_t>(rank) - recorded->size();
    if (gone == ones.size()) open.clear();
    if (gone == ones.size() + open.size()) {
      ones.insert(ones.end(), open.begin(), open.end());
      open.clear();
    }
  }
  std::sort(ones.begin(), ones.end());
  if (open.empty()) return squeeze(x, ones);
  // The sizes without the ones among these axes.
  Values kept;
  T all = shape(x);
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(ones.begin(), ones.end(), i) != ones.end()) continue;
    Int end = known(i + 1);
    if (std::find(open.begin(), open.end(), i) != open.end()) {
      T single = equal(size(x, i), 1);
      end = computed(i + 1 - cast(single, DType::Int64));
    }
    kept.push_back(slice(all, 0, known(i), end));
  }
  return node("Reshape", {x, concat(kept, 0)}, {{"allowzero", int64_t{1}}});
}

T unsqueeze_at(T x, int64_t dim) { return unsqueeze(x, {dim < 0 ? dim + x.rank() + 1 : dim}); }

// --- order of the axes

T swap_axes(T x, Axis a, Axis b) {
  if (x.rank() < 2) return x;
  Ints perm = range(0, x.rank());
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return transpose(x, perm);
}

T permute(T x, const Axes& order) { return transpose(x, order); }

T move_axes(T x, const Axes& from, const Axes& to) {
  const int64_t rank = x.rank();
  if (rank == 0) return x;
  Ints perm(static_cast<size_t>(rank), -1);
  std::vector<bool> used(static_cast<size_t>(rank));
  for (size_t i = 0; i < from.size(); ++i) {
    perm[static_cast<size_t>(to[i])] = from[i];
    used[static_cast<size_t>(from[i])] = true;
  }
  int64_t next = 0;
  for (int64_t& p : perm) {
    if (p >= 0) continue;
    while (used[static_cast<size_t>(next)]) ++next;
    p = next++;
  }
  return transpose(x, perm);
}

T reverse_axes(T x) {
  Ints perm = range(0, x.rank());
  std::reverse(perm.begin(), perm.end());
  return transpose(x, perm);
}

// --- expanding

// Whether a computed size may be -1; what is made of sizes alone is not.
bool may_be_negative(const ir::Value* v, int steps = 8) {
  if (v->data) {
    if (v->data->dtype() != DType::Int64) return true;
    const auto* numbers = static_cast<const int64_t*>(v->data->data());
    return std::any_of(numbers, numbers + v->data->numel(), [](int64_t n) { return n < 0; });
  }
  if (!v->producer || !steps) return true;
  const ir::Node& n = *v->producer;
  const auto any = [&](size_t count) {
    for (size_t i = 0; i < count; ++i)
      if (!n.inputs[i] || may_be_negative(n.inputs[i], steps - 1)) return true;
    return false;
  };
  if (n.op == "Shape" || n.op == "Size" || n.op == "Abs") return false;
  for (const char* of_one : {"Gather", "Slice", "Squeeze", "Unsqueeze", "Reshape", "Identity"})
    if (n.op == of_one) return any(1);
  for (const char* of_all : {"Add", "Mul", "Div", "Concat", "Min", "Max"})
    if (n.op == of_all) return any(n.inputs.size());
  return true;
}

T expand_to(Call& g, T x, Dims size, Rest) {
  const int64_t rank = x.rank(), extra = static_cast<int64_t>(size.size()) - rank;
  bool changes = extra > 0;
  std::vector<Dim> out;
  for (int64_t i = 0; i < static_cast<int64_t>(size.size()); ++i) {
    Int& n = size[static_cast<size_t>(i)];
    const bool old = i >= extra;
    const Dim before = old ? (*x->type.shape)[static_cast<size_t>(i - extra)] : Dim::of(1);
    // Expand keeps an axis where 1 is asked for, which is what -1 says.
    if (n.known == -1) n = known(1);
    // A computed one may be -1 too; no other negative number is one.
    if (!n.known && old && may_be_negative(n.computed.get())) n = computed(abs(n.computed));
    const bool keeps =
        n.known && (n.known == 1 || (before.is_number() && before.number == n.known));
    changes = changes || !keeps;
    out.push_back(keeps ? before : dim_of(n));
  }
  if (!changes) return x;
  return with_dims(expand(x, g.vector(size)), out);
}

T expand_like(T x, T other) {
  if (same_static(x, other)) return x;
  return expand(x, shape(other), other.rank());
}

template <int64_t N>
T at_least(T x) {
  const int64_t rank = x.rank();
  if (rank >= N) return x;
  if (rank == 0) return reshape_to(x, to_dims(Ints(N, 1)));
  if (N == 2) return unsqueeze(x, {0});
  return rank == 1 ? unsqueeze(x, {0, 2}) : unsqueeze(x, {2});
}

template <int64_t N>
Values all_at_least(const Values& v) {
  Values out;
  for (T x : v) out.push_back(at_least<N>(x));
  return out;
}

// --- rows

T itself(T x, Rest) { return x; }
T to_size(T x, const Dims& size, Rest) { return reshape_to(x, size); }
T matrix_t(T x) { return swap_axes(x, {0}, {1}); }
T last_two(T x) { return x.rank() < 2 ? x : swap_axes(x, {x.axis(-2)}, {x.axis(-1)}); }
T same_type_only(T x, DType t) {
  if (t != x.dtype())
    throw Unsupported("reads the bytes of " + std::string(name(x.dtype())) + " as " +
                      std::string(name(t)));
  return x;
}

constexpr Lowering table[] = {
    op<to_size>(names("aten::view", "aten::_unsafe_view", "aten::view_copy", "aten::_reshape_copy"),
                "(Tensor self, SymInt[] size) -> Tensor"),
    op<to_size>("aten::reshape(Tensor self, SymInt[] shape) -> Tensor"),
    op<to_size>("aten::_reshape_alias(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor"),
    op<same_type_only>("aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor"),
    op<like_other>(names("aten::view_as", "aten::reshape_as"),
                   "(Tensor self, Tensor other) -> Tensor"),
    op<flatten>("aten::flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor"),
    op<flat>("aten::ravel(Tensor self) -> Tensor"),
    op<unflatten>("aten::unflatten.int(Tensor self, int dim, SymInt[] sizes) -> Tensor"),
    op<squeeze_all>(names("aten::squeeze", "aten::squeeze_copy"), "(Tensor self) -> Tensor"),
    op<squeeze_axes>(names("aten::squeeze.dim", "aten::squeeze_copy.dim"),
                     "(Tensor self, int dim) -> Tensor"),
    op<squeeze_axes>(names("aten::squeeze.dims", "aten::squeeze_copy.dims"),
                     "(Tensor self, int[] dim) -> Tensor"),
    op<unsqueeze_at>(names("aten::unsqueeze", "aten::unsqueeze_copy"),
                     "(Tensor self, int dim) -> Tensor"),
    op<swap_axes>(names("aten::transpose.int", "aten::transpose_copy.int"),
                  "(Tensor self, int dim0, int dim1) -> Tensor"),
    op<matrix_t>(names("aten::t", "aten::t_copy"), "(Tensor self) -> Tensor"),
    op<reverse_axes>("aten::numpy_T(Tensor self) -> Tensor"),
    op<last_two>("aten::mT(Tensor self) -> Tensor"),
    op<permute>(names("aten::permute", "aten::permute_copy"),
                "(Tensor self, int[] dims) -> Tensor"),
    op<move_axes>("aten::movedim.intlist(Tensor self, int[] source, int[] destination) -> Tensor"),
    op<move_axes>("aten::movedim.int(Tensor self, int source, int destination) -> Tensor"),
    op<expand_to>(names("aten::expand", "aten::expand_copy"),
                  "(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor"),
    op<expand_to>("aten::broadcast_to(Tensor self, SymInt[] size) -> Tensor"),
    op<expand_like>("aten::expand_as(Tensor self, Tensor other) -> Tensor"),
    op<broadcast>("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]"),
    op<at_least<1>>("aten::atleast_1d(Tensor self) -> Tensor"),
    op<at_least<2>>("aten::atleast_2d(Tensor self) -> Tensor"),
    op<at_least<3>>("aten::atleast_3d(Tensor self) -> Tensor"),
    op<all_at_least<1>>("aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]"),
    op<all_at_least<2>>("aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]"),
    op<all_at_least<3>>("aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]"),
    op<itself>("aten::contiguous(Tensor self, *, MemoryFormat memory_format=0) -> Tensor"),
    op<itself>("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"),
    op<itself>(names("aten::detach", "aten::detach_copy", "aten::alias", "aten::alias_copy",
                     "aten::lift", "aten::lift_fresh", "aten::lift_fresh_copy", "aten::conj"),
               "(Tensor self) -> Tensor"),
    op<itself>(names("aten::resolve_conj", "aten::resolve_neg", "aten::conj_physical"),
               "(Tensor self) -> Tensor"),
};

}  // namespace

Table view_rows() { return table; }

}  // namespace oe::lower
