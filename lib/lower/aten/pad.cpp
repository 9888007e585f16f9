// Padding: constant, reflected, replicated, circular; negative amounts cut.
// https://onnx.ai/onnx/operators/onnx__Pad.html
#include <algorithm>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// PyTorch lists (begin, end) from the last axis on; ONNX all begins, then all ends.
struct Amounts {
  Dims begin, end;  // one entry an axis of x

  Amounts(T x, const Dims& pad) {
    const int64_t rank = x.rank();
    begin = end = Dims(static_cast<size_t>(rank), known(0));
    for (size_t i = 0; 2 * i + 1 < pad.size(); ++i) {
      begin[static_cast<size_t>(rank) - 1 - i] = pad[2 * i];
      end[static_cast<size_t>(rank) - 1 - i] = pad[2 * i + 1];
    }
  }
  bool nothing() const {
    auto zero = [](const Int& i) { return i.known == 0; };
    return std::all_of(begin.begin(), begin.end(), zero) &&
           std::all_of(end.begin(), end.end(), zero);
  }
};

std::vector<Dim> padded_dims(T x, const Amounts& a) {
  std::vector<Dim> dims = *x->type.shape;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Int &b = a.begin[i], &e = a.end[i];
    if (b.known == 0 && e.known == 0) continue;
    dims[i] = dims[i].is_number() && b.known && e.known
                  ? Dim::of(dims[i].number + *b.known + *e.known)
                  : Dim::unknown();
  }
  return dims;
}

T pad_node(Call& g, T x, const Amounts& a, std::string_view mode, T value) {
  Dims pads = a.begin;
  pads.insert(pads.end(), a.end.begin(), a.end.end());
  ir::Attributes attributes;
  if (mode != "constant") attributes.set("mode", std::string(mode));
  T y = node("Pad", {x, g.vector(pads), value}, std::move(attributes));
  return with_dims(y, padded_dims(x, a));
}

T constant_pad(Call& g, T x, const Dims& pad, const Scalar& value) {
  const Amounts a(x, pad);
  if (a.nothing()) return x;
  const bool zero = value.known && value.d == 0;
  return pad_node(g, x, a, "constant", zero ? nullptr : g.scalar(value, x.dtype()));
}

// What is mirrored or repeated is the whole axis; only then are negative amounts cut off.
template <FixedString Mode>
T edge_pad(Call& g, T x, const Dims& pad) {
  Amounts a(x, pad);
  Amounts cuts = a;
  for (auto [grow, less] : {std::pair{&a.begin, &cuts.begin}, std::pair{&a.end, &cuts.end}})
    for (size_t i = 0; i < grow->size(); ++i) {
      Int& amount = (*grow)[i];
      (*less)[i] = max(known(0) - amount, known(0));
      amount = max(amount, known(0));
    }
  T y = a.nothing() ? x : pad_node(g, x, a, Mode.view(), nullptr);
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (cuts.begin[i].known == 0 && cuts.end[i].known == 0) continue;
    const Int end = cuts.end[i].known == 0 ? known(kEnd) : size_of(y, axis) - cuts.end[i];
    y = slice(y, axis, cuts.begin[i], end);
  }
  return y;
}

// The end of the axis before its beginning and the other way round: old operators only.
T circular_pad(T x, const Dims& pad) {
  const Amounts a(x, pad);
  T y = x;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const Int before = a.begin[static_cast<size_t>(axis)], after = a.end[static_cast<size_t>(axis)];
    if (before.known == 0 && after.known == 0) continue;
    const Int zero = known(0), size = size_of(y, axis);
    const Int head = max(before, zero), tail = max(after, zero);
    // Negative amounts are cut first; what is left goes round.
    const Int end = after.known && *after.known >= 0 ? known(kEnd) : min(size, size + after);
    T middle = slice(y, axis, max(zero - before, zero), end);
    const Int last = head.known ? known(-*head.known) : size_of(middle, axis) - head;
    Values parts;
    if (head.known != 0) parts.push_back(slice(middle, axis, last, known(kEnd)));
    parts.push_back(middle);
    if (tail.known != 0) parts.push_back(slice(middle, axis, zero, tail));
    y = concat(parts, axis);
  }
  return y;
}

T pad(Call& g, T x, const Dims& amounts, const std::string& mode,
      const std::optional<Scalar>& value) {
  if (mode == "reflect") return edge_pad<"reflect">(g, x, amounts);
  if (mode == "replicate") return edge_pad<"edge">(g, x, amounts);
  if (mode == "circular") return circular_pad(x, amounts);
  if (mode != "constant") throw Unsupported("padding mode '" + mode + "'");
  return constant_pad(g, x, amounts, value.value_or(Scalar{}));
}
T pad_enum(Call& g, T x, const Dims& amounts, int64_t mode, const std::optional<Scalar>& value) {
  constexpr const char* modes[] = {"reflect", "replicate", "circular", "constant"};
  return pad(g, x, amounts, modes[mode], value);
}

constexpr Lowering table[] = {
    op<pad>(
        "aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor"),
    op<pad_enum>(
        "aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor"),
    op<constant_pad>("aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor"),
    op<edge_pad<"reflect">>("aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor"),
    op<edge_pad<"reflect">>("aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor"),
    op<edge_pad<"reflect">>("aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor"),
    op<edge_pad<"edge">>("aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor"),
    op<edge_pad<"edge">>("aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor"),
    op<edge_pad<"edge">>("aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor"),
    op<circular_pad>("aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor"),
};

}  // namespace

Table pad_rows() { return table; }

}  // namespace oe::lower
