// Operators whose result rounding may decide: they choose among elements, or round to whole steps.
#include "lib/compare/deciding.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "lib/support/origin_text.h"
#include "lib/verify/compare.h"

namespace oe {
namespace {

using program::Node;

// Elements among which indices choose: `length` of them in each row, `inner` apart.
struct Rows {
  int64_t length = 1, inner = 1;
};

int64_t product(const std::vector<int64_t>& dims, size_t from) {
  int64_t n = 1;
  for (size_t i = from; i < dims.size(); ++i) n *= dims[i];
  return n;
}

// The spatial axes of a pool; 0: another operator.
size_t pooled_axes(const Node& n) {
  if (is_one_of(n, {"aten::max_pool1d_with_indices", "aten::adaptive_max_pool1d"})) return 1;
  if (is_one_of(n, {"aten::max_pool2d_with_indices", "aten::adaptive_max_pool2d"})) return 2;
  return is_one_of(n, {"aten::max_pool3d_with_indices", "aten::adaptive_max_pool3d"}) ? 3 : 0;
}

// Where the axis stands in the arguments; nothing: the operator gives no indices along one.
std::optional<size_t> axis_argument(const Node& n) {
  if (n.op == "aten::sort.stable" || n.op == "aten::argsort.stable" ||
      is_one_of(n, {"aten::topk", "aten::kthvalue"}))
    return 2;
  if (is_one_of(n, {"aten::sort", "aten::argsort", "aten::argmax", "aten::argmin", "aten::max",
                    "aten::min", "aten::median", "aten::nanmedian", "aten::mode", "aten::cummax",
                    "aten::cummin"}))
    return 1;
  return std::nullopt;
}

std::optional<Rows> rows_of(const Node& n, const std::vector<int64_t>& dims) {
  if (const size_t axes = pooled_axes(n))
    return dims.size() < axes ? std::nullopt
                              : std::optional(Rows{product(dims, dims.size() - axes), 1});
  const std::optional<size_t> at = axis_argument(n);
  if (!at) return std::nullopt;
  if (dims.empty()) return Rows{};
  const int64_t* given = n.args.size() > *at ? std::get_if<int64_t>(&n.args[*at].v) : nullptr;
  if (!given && is_one_of(n, {"aten::argmax", "aten::argmin"})) return Rows{product(dims, 0), 1};
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = given ? *given : -1;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  const auto place = static_cast<size_t>(axis);
  return Rows{dims[place], product(dims, place + 1)};
}

// Whether both are indices of elements of `key` that are equal up to rounding, each named once
// where the operator orders elements.
bool name_equal_elements(const Node& n, const Tensor& key, const Tensor& actual,
                         const Tensor& expected) {
  const std::optional<Rows> rows = rows_of(n, key.dims());
  if (!rows || key.numel() == 0 || !is_integer(actual.dtype()) || !is_integer(expected.dtype()))
    return false;
  const auto [length, inner] = *rows;
  const int64_t outer = key.numel() / (length * inner);
  if (actual.numel() % (outer * inner) != 0) return false;
  const int64_t chosen = actual.numel() / (outer * inner);
  const bool once = is_one_of(n, {"aten::topk", "aten::sort", "aten::argsort"});
  const std::vector<double> keys = key.as_double(), a = actual.as_double(),
                            e = expected.as_double();
  const verify::Tolerance t = verify::default_tolerance(key.dtype());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      std::set<int64_t> named;
      for (int64_t j = 0; j < chosen; ++j) {
        const auto at = static_cast<size_t>((o * chosen + j) * inner + i);
        const auto mine = static_cast<int64_t>(a[at]), theirs = static_cast<int64_t>(e[at]);
        if (mine < 0 || mine >= length || theirs < 0 || theirs >= length) return false;
        if (once && !named.insert(mine).second) return false;
        const auto element = [&](int64_t index) {
          return keys[static_cast<size_t>((o * length + index) * inner + i)];
        };
        const double x = element(mine), y = element(theirs);
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        if (!(std::abs(x - y) <= t.atol + t.rtol * std::abs(y))) return false;
      }
    }
  return true;
}

// Whether elements that differ do so by one, and their argument lies next to where the result
// changes.
bool lie_at_limit(const Node& n, const Tensor& argument, const Tensor& actual,
                  const Tensor& expected) {
  if (n.op != "aten::round" && !is_one_of(n, {"aten::floor", "aten::ceil", "aten::trunc"}))
    return false;
  if (!is_float(argument.dtype()) || argument.dims() != expected.dims()) return false;
  const double limit = n.op == "aten::round" ? 0.5 : 0;
  const double near = std::min(0.1, 1e-6 + 1e-5 * verify::largest_difference(argument, nullptr));
  const std::vector<double> x = argument.as_double(), a = actual.as_double(),
                            e = expected.as_double();
  for (size_t i = 0; i < e.size(); ++i) {
    if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) continue;
    const double beside = x[i] - limit;
    if (std::abs(a[i] - e[i]) != 1 || !(std::abs(beside - std::round(beside)) <= near))
      return false;
  }
  return true;
}

}  // namespace

std::string place(const Node& n) {
  const std::string where = place_of(n.origin);
  return where.empty() ? n.op : n.op + " at " + where;
}

std::string_view base_of(const Node& n) { return std::string_view(n.op).substr(0, n.op.find('.')); }

bool is_one_of(const Node& n, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, base_of(n)) != names.end();
}

bool chooses(const Node& n) {
  if (n.op == "aten::sort.stable") {
    const bool* stable = n.args.size() > 1 ? std::get_if<bool>(&n.args[1].v) : nullptr;
    return !stable || !*stable;
  }
  return is_one_of(n, {"aten::topk",
                       "aten::sort",
                       "aten::argsort",
                       "aten::msort",
                       "aten::argmax",
                       "aten::argmin",
                       "aten::max",
                       "aten::min",
                       "aten::kthvalue",
                       "aten::median",
                       "aten::nanmedian",
                       "aten::mode",
                       "aten::cummax",
                       "aten::cummin",
                       "aten::max_pool1d_with_indices",
                       "aten::max_pool2d_with_indices",
                       "aten::max_pool3d_with_indices",
                       "aten::adaptive_max_pool1d",
                       "aten::adaptive_max_pool2d",
                       "aten::adaptive_max_pool3d",
                       "torchvision::nms"});
}

bool rounds(const Node& n) {
  return is_one_of(n, {"aten::round", "aten::floor", "aten::ceil", "aten::trunc", "aten::frac",
                       "aten::sign", "aten::floor_divide", "aten::remainder", "aten::fmod",
                       "quantized_decomposed::quantize_per_tensor",
                       "quantized_decomposed::quantize_per_channel",
                       "aten::fake_quantize_per_tensor_affine",
                       "aten::fake_quantize_per_channel_affine"}) ||
         n.op == "aten::div.Tensor_mode" || n.op == "aten::div.Scalar_mode";
}

bool has_equal_elements(const Tensor& t) {
  if (!is_float(t.dtype()) && !is_integer(t.dtype()) && t.dtype() != DType::Bool) return false;
  std::vector<double> values = t.as_double();
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) != values.end();
}

std::string_view both_right(const Node& n, const Tensor& argument, const Tensor& actual,
                            const Tensor& expected) {
  if (actual.dims() != expected.dims()) return {};
  if (chooses(n) && name_equal_elements(n, argument, actual, expected)) return kAmongEquals;
  if (rounds(n) && lie_at_limit(n, argument, actual, expected)) return kAtLimit;
  return {};
}

}  // namespace oe
