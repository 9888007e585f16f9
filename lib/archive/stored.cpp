#include "lib/archive/stored.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "lib/archive/extent.h"

namespace oe::archive {
namespace {

const Global* global_of(const ValuePtr& v) { return v ? v->as<Global>() : nullptr; }

struct Element {
  uint64_t size;
  std::string_view type;
};

// Of a storage's class; null where there is no such class.
const Element* element_of(std::string_view storage_type) {
  static const std::unordered_map<std::string_view, Element> elements = {
      {"Bool", {1, "bool"}},
      {"Byte", {1, "uint8"}},
      {"Char", {1, "int8"}},
      {"QInt8", {1, "qint8"}},
      {"QUInt8", {1, "quint8"}},
      {"QUInt4x2", {1, "quint4x2"}},
      {"QUInt2x4", {1, "quint2x4"}},
      {"Untyped", {1, "untyped"}},
      {"Float8_e5m2", {1, "float8e5m2"}},
      {"Float8_e4m3fn", {1, "float8e4m3fn"}},
      {"Float8_e5m2fnuz", {1, "float8e5m2fnuz"}},
      {"Float8_e4m3fnuz", {1, "float8e4m3fnuz"}},
      {"Short", {2, "int16"}},
      {"UInt16", {2, "uint16"}},
      {"Half", {2, "float16"}},
      {"BFloat16", {2, "bfloat16"}},
      {"Int", {4, "int32"}},
      {"UInt32", {4, "uint32"}},
      {"Float", {4, "float"}},
      {"QInt32", {4, "qint32"}},
      {"ComplexHalf", {4, "complex32"}},
      {"Long", {8, "int64"}},
      {"UInt64", {8, "uint64"}},
      {"Double", {8, "double"}},
      {"ComplexFloat", {8, "complex64"}},
      {"ComplexDouble", {16, "complex128"}}};
  constexpr std::string_view before = "torch.", after = "Storage";
  if (!storage_type.starts_with(before) || !storage_type.ends_with(after)) return nullptr;
  storage_type.remove_prefix(before.size());
  storage_type.remove_suffix(after.size());
  const auto it = elements.find(storage_type);
  return it == elements.end() ? nullptr : &it->second;
}

constexpr std::string_view kPlain = "torch._utils._rebuild_tensor_v2",
                           kQuantized = "torch._utils._rebuild_qtensor",
                           kSparse = "torch._utils._rebuild_sparse_tensor";

bool calls(const Called& call, std::string_view function) {
  const Global* f = global_of(call.callee);
  return f && f->name == function;
}

// Throws Malformed where no memory could hold a tensor of these sizes.
void require_countable(const std::vector<int64_t>& sizes) {
  constexpr int64_t kLargestElement = 16;  // bytes
  int64_t n = kLargestElement;
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(n, size, &n)) throw Malformed("makes a tensor that is too large");
}

std::vector<int64_t> whole_sizes(const ValuePtr& v) {
  std::vector<int64_t> sizes;
  const auto* items = v->as<Tuple>();
  if (!items) throw Malformed("makes a tensor without sizes");
  for (const ValuePtr& item : items->items) {
    const auto* size = item->as<int64_t>();
    if (!size || *size < 0) throw Malformed("makes a tensor of a negative size");
    sizes.push_back(*size);
  }
  return sizes;
}

// A scale or zero point for each channel.
void check_channels(const ValuePtr& v, bool floats, int64_t channels) {
  const auto* call = v->as<Called>();
  if (!call || !calls(*call, kPlain))
    throw Malformed("makes a quantized tensor without a tensor of scales and one of zero points");
  const StoredTensor t = tensor_of(*call);
  const std::string_view type = element_type(t.storage.type);
  if (floats ? type != "float" && type != "double" : type != "int64" && type != "int32")
    throw Malformed("makes a quantized tensor with scales or zero points of another type");
  if (t.sizes != std::vector<int64_t>{channels})
    throw Malformed(
        "makes a quantized tensor whose number of scales is not its number of channels");
}

// (scheme, scale, zero point), or by channel (scheme, scales, zero points, axis).
void check_quantization(const ValuePtr& v, const StoredTensor& t) {
  const auto* given = v->as<Tuple>();
  const Global* scheme = given && !given->items.empty() ? global_of(given->items[0]) : nullptr;
  if (scheme && scheme->name == "torch.per_tensor_affine" && given->items.size() == 3) {
    const auto* scale = given->items[1]->as<double>();
    if (scale && std::isfinite(*scale) && given->items[2]->as<int64_t>()) return;
    throw Malformed("makes a quantized tensor without a finite scale and a zero point");
  }
  const bool floats = scheme && scheme->name == "torch.per_channel_affine_float_qparams";
  if (!scheme || (!floats && scheme->name != "torch.per_channel_affine") ||
      given->items.size() != 4)
    throw Malformed("makes a quantized tensor of an unknown scheme");
  const auto* axis = given->items[3]->as<int64_t>();
  if (!axis || *axis < 0 || static_cast<size_t>(*axis) >= t.sizes.size())
    throw Malformed("makes a quantized tensor with an axis that it does not have");
  const int64_t channels = t.sizes[static_cast<size_t>(*axis)];
  check_channels(given->items[1], /*floats=*/true, channels);
  check_channels(given->items[2], floats, channels);
}

// COO: indices [sparse axes, elements], values [elements, dense sizes...]. CSR: row starts
// [batch..., rows + 1], columns [batch..., elements], values [batch..., elements, dense sizes...].
// https://docs.pytorch.org/docs/stable/sparse.html
bool shapes_fit(const StoredSparse& s) {
  const std::vector<int64_t>&first = s.indices[0].sizes, &values = s.values.sizes;
  std::vector<int64_t> batch, wanted;
  size_t sparse = 2;
  if (!s.compressed) {
    if (first.size() != 2 || first[0] < 0) return false;
    sparse = static_cast<size_t>(first[0]);
    wanted = {first[1]};
  } else {
    const std::vector<int64_t>& columns = s.indices[1].sizes;
    if (first.empty() || first.size() != columns.size() ||
        s.indices[0].storage.type != s.indices[1].storage.type)
      return false;
    batch.assign(first.begin(), first.end() - 1);
    wanted = columns;
    if (!std::equal(batch.begin(), batch.end(), columns.begin()) ||
        batch.size() + 2 > s.sizes.size() ||
        !std::equal(batch.begin(), batch.end(), s.sizes.begin()) ||
        s.sizes[batch.size()] != first.back() - 1)
      return false;
  }
  if (sparse + batch.size() > s.sizes.size()) return false;
  wanted.insert(wanted.end(), s.sizes.begin() + static_cast<long>(sparse + batch.size()),
                s.sizes.end());
  return values == wanted;
}

}  // namespace

uint64_t element_size(std::string_view storage_type) {
  const Element* e = element_of(storage_type);
  return e ? e->size : 0;
}

std::string_view element_type(std::string_view storage_type) {
  const Element* e = element_of(storage_type);
  return e ? e->type : "";
}

// ("storage", class, key, device, elements)
StoredStorage storage_of(const Persistent& p) {
  const auto* id = p.id->as<Tuple>();
  if (!id || id->items.size() < 5) throw Malformed("refers to a value that is not a storage");
  const auto* kind = id->items[0]->as<std::string>();
  const Global* type = global_of(id->items[1]);
  const auto *key = id->items[2]->as<std::string>(), *device = id->items[3]->as<std::string>();
  const auto* elements = id->items[4]->as<int64_t>();
  if (!kind || *kind != "storage" || !type || !key || !device || !elements || *elements < 0)
    throw Malformed("refers to a value that is not a storage");
  return {*key, type->name, *device, *elements};
}

bool makes_tensor(const Called& call) { return calls(call, kPlain) || calls(call, kQuantized); }

// (storage, offset, sizes, strides, ...); of a quantized one (..., (scheme, ...), ...)
StoredTensor tensor_of(const Called& call) {
  const auto* given = call.arguments->as<Tuple>();
  const bool quantized = calls(call, kQuantized);
  if (!given || given->items.size() < (quantized ? 5 : 4))
    throw Malformed("makes a tensor from too few values");
  const auto* storage = given->items[0]->as<Persistent>();
  const auto* offset = given->items[1]->as<int64_t>();
  const auto *sizes = given->items[2]->as<Tuple>(), *strides = given->items[3]->as<Tuple>();
  if (!storage || !offset || *offset < 0 || !sizes || !strides ||
      sizes->items.size() != strides->items.size())
    throw Malformed(
        "makes a tensor from values other than a storage, an offset, sizes and strides");
  StoredTensor t{storage_of(*storage), *offset, {}, {}};
  for (size_t i = 0; i < sizes->items.size(); ++i) {
    const auto *size = sizes->items[i]->as<int64_t>(), *stride = strides->items[i]->as<int64_t>();
    if (!size || !stride || *size < 0 || *stride < 0)
      throw Malformed("makes a tensor of a negative size");
    t.sizes.push_back(*size);
    t.strides.push_back(*stride);
  }
  if (quantized != t.storage.type.starts_with("torch.Q"))
    throw Malformed(quantized ? "makes a quantized tensor of the storage " + t.storage.key +
                                    ", which has other elements"
                              : "makes a tensor of the storage " + t.storage.key +
                                    ", which has quantized elements, without their scale");
  if (quantized) check_quantization(given->items[4], t);
  require_countable(t.sizes);
  return t;
}

bool lies_within_storage(const StoredTensor& t) {
  const auto elements = static_cast<uint64_t>(t.storage.elements);
  const uint64_t in_a_byte = t.storage.type == "torch.QUInt4x2Storage"   ? 2
                             : t.storage.type == "torch.QUInt2x4Storage" ? 4
                                                                         : 1;
  return lies_within(t.offset, t.sizes, t.strides, elements * in_a_byte);
}

bool makes_sparse_tensor(const Called& call) { return calls(call, kSparse); }

// (layout, sizes, requires_grad, indices, values, hooks), or of CSR (..., row starts, columns,
// values, hooks)
StoredSparse sparse_of(const Called& call) {
  constexpr int64_t kCoo = 1, kCsr = 2;  // of c10::Layout
  constexpr size_t kParts = 3;           // where the tensors begin
  const auto* given = call.arguments->as<Tuple>();
  const auto* layout =
      given && given->items.size() > kParts ? given->items[0]->as<int64_t>() : nullptr;
  const size_t end = kParts + (layout && *layout == kCsr ? 3 : 2);
  if (!layout || (*layout != kCoo && *layout != kCsr) || given->items.size() < end ||
      !given->items[2]->as<bool>())
    throw Malformed("makes a sparse tensor of an unknown layout");
  StoredSparse s{*layout == kCsr, whole_sizes(given->items[1]), {}, {}};
  require_countable(s.sizes);
  for (size_t i = kParts; i < end; ++i) {
    const auto* part = given->items[i]->as<Called>();
    if (!part || !calls(*part, kPlain)) throw Malformed("makes a sparse tensor of no tensors");
    (i + 1 == end ? s.values : s.indices.emplace_back()) = tensor_of(*part);
  }
  for (const StoredTensor& t : s.indices)
    if (t.storage.type != "torch.LongStorage" &&
        !(s.compressed && t.storage.type == "torch.IntStorage"))
      throw Malformed("makes a sparse tensor with indices that are not integers");
  if (!shapes_fit(s)) throw Malformed("makes a sparse tensor of parts that do not match");
  return s;
}

bool is_plain_type(std::string_view text) {
  constexpr size_t kLongest = 16 << 10, kDeepestType = 100;
  size_t depth = 0, deepest = 0;
  for (const char c : text) {
    if (c == '[' || c == '(' || c == '{') deepest = std::max(deepest, ++depth);
    if ((c == ']' || c == ')' || c == '}') && depth-- == 0) return false;
  }
  return depth == 0 && deepest <= kDeepestType && text.size() <= kLongest;
}

}  // namespace oe::archive
