// Operators that are linear: what they do to complex numbers they do to each part.
#include <algorithm>

#include "lib/lower/complex/complex.h"

namespace oe::lower {
namespace {

constexpr Linear kLinear[] = {
    // Sizes.
    {"aten::size", {}, {0}},
    {"aten::numel", {}, {0}},
    {"aten::dim", {}, {0}},
    {"aten::len", {}, {0}},
    // Element types and layout. A real result is that of the real parts.
    {"aten::to", {0}, {1}},
    {"aten::_to_copy", {0}},
    {"aten::type_as", {0}, {1}},
    {"aten::clone", {0}},
    {"aten::contiguous", {0}},
    {"aten::copy", {0, 1}},
    {"aten::lift_fresh_copy", {0}},
    // Views and what moves elements.
    {"aten::view", {0}},
    {"aten::reshape", {0}},
    {"aten::view_as", {0}, {1}},
    {"aten::reshape_as", {0}, {1}},
    {"aten::flatten", {0}},
    {"aten::unflatten", {0}},
    {"aten::ravel", {0}},
    {"aten::squeeze", {0}},
    {"aten::unsqueeze", {0}},
    {"aten::transpose", {0}},
    {"aten::t", {0}},
    {"aten::numpy_T", {0}},
    {"aten::mT", {0}},
    {"aten::permute", {0}},
    {"aten::movedim", {0}},
    {"aten::expand", {0}},
    {"aten::expand_as", {0}, {1}},
    {"aten::broadcast_to", {0}},
    {"aten::broadcast_tensors", {0}},
    {"aten::meshgrid", {0}},
    {"aten::select", {0}},
    {"aten::slice", {0}},
    {"aten::narrow", {0}},
    {"aten::diagonal", {0}},
    {"aten::linalg_diagonal", {0}},
    {"aten::diag_embed", {0}},
    {"aten::unbind", {0}},
    {"aten::split", {0}},
    {"aten::split_with_sizes", {0}},
    {"aten::unsafe_split", {0}},
    {"aten::unsafe_chunk", {0}},
    {"aten::chunk", {0}},
    {"aten::tensor_split", {0}},
    {"aten::hsplit", {0}},
    {"aten::vsplit", {0}},
    {"aten::dsplit", {0}},
    {"aten::unfold", {0}},
    {"aten::as_strided", {0}},
    {"aten::atleast_1d", {0}},
    {"aten::atleast_2d", {0}},
    {"aten::atleast_3d", {0}},
    {"aten::flip", {0}},
    {"aten::fliplr", {0}},
    {"aten::flipud", {0}},
    {"aten::roll", {0}},
    {"aten::rot90", {0}},
    {"aten::tile", {0}},
    {"aten::repeat", {0}},
    {"aten::repeat_interleave", {0}},
    {"aten::tril", {0}},
    {"aten::triu", {0}},
    {"aten::channel_shuffle", {0}},
    {"aten::combinations", {0}},
    {"aten::pixel_shuffle", {0}},
    {"aten::pixel_unshuffle", {0}},
    {"aten::im2col", {0}},
    {"aten::col2im", {0}},
    // What joins.
    {"aten::cat", {0}},
    {"aten::stack", {0}},
    // Indices and masks.
    {"aten::index", {0}},
    {"aten::_unsafe_index", {0}},
    {"aten::index_select", {0}},
    {"aten::gather", {0}},
    {"aten::take", {0}},
    {"aten::take_along_dim", {0}},
    {"aten::masked_select", {0}},
    {"aten::embedding", {0}},
    {"aten::where", {1, 2}},
    {"aten::masked_fill", {0, 2}},
    {"aten::masked_scatter", {0, 2}},
    {"aten::index_put", {0, 2}},
    {"aten::_index_put_impl", {0, 2}},
    {"aten::_unsafe_index_put", {0, 2}},
    {"aten::index_copy", {0, 3}},
    {"aten::index_add", {0, 3}},
    {"aten::index_fill", {0, 3}},
    {"aten::scatter.src", {0, 3}},
    {"aten::scatter.value", {0, 3}},
    {"aten::scatter_add", {0, 3}},
    {"aten::put", {0, 2}},
    {"aten::select_scatter", {0, 1}},
    {"aten::slice_scatter", {0, 1}},
    {"aten::diagonal_scatter", {0, 1}},
    {"aten::as_strided_scatter", {0, 1}},
    // New values.
    {"aten::constant_pad_nd", {0, 2}},
    {"aten::pad", {0, 3}},
    {"aten::reflection_pad1d", {0}},
    {"aten::reflection_pad2d", {0}},
    {"aten::reflection_pad3d", {0}},
    {"aten::replication_pad1d", {0}},
    {"aten::replication_pad2d", {0}},
    {"aten::replication_pad3d", {0}},
    {"aten::zeros", {}},
    {"aten::zeros_like", {}, {0}},
    {"aten::new_zeros", {}, {0}},
    {"aten::empty", {}},
    {"aten::empty_like", {}, {0}},
    {"aten::new_empty", {}, {0}},
    {"aten::zero", {}, {0}},
    {"aten::rand", {}},
    {"aten::rand_like", {}, {0}},
    {"aten::scalar_tensor", {0}},
    {"aten::full", {1}},
    {"aten::full_like", {1}, {0}},
    {"aten::new_full", {2}, {0}},
    {"aten::fill", {1}, {0}},
    // Sums.
    {"aten::sum", {0}},
    {"aten::mean", {0}},
    {"aten::cumsum", {0}},
    {"aten::diff", {0, 3, 4}},
    {"aten::neg", {0}},
    {"aten::detach", {0}},
    {"aten::alias", {0}},
    {"aten::linspace", {0, 1}},
    {"aten::nan_to_num", {0}},
};

constexpr Multilinear kMultilinear[] = {
    {"aten::mm", {0, 1}},
    {"aten::bmm", {0, 1}},
    {"aten::matmul", {0, 1}},
    {"aten::mv", {0, 1}},
    {"aten::dot", {0, 1}},
    {"aten::inner", {0, 1}},
    {"aten::outer", {0, 1}},
    {"aten::einsum", {1}},
    {"aten::tensordot", {0, 1}},
    {"aten::linear", {0, 1}, 2},
    {"aten::conv1d", {0, 1}, 2},
    {"aten::conv2d", {0, 1}, 2},
    {"aten::conv3d", {0, 1}, 2},
    {"aten::_convolution", {0, 1}, 2},
    {"aten::convolution", {0, 1}, 2},
    {"aten::conv_transpose1d", {0, 1}, 2},
    {"aten::conv_transpose2d", {0, 1}, 2},
    {"aten::conv_transpose3d", {0, 1}, 2},
};

// Their results are real numbers whatever the element type is.
constexpr std::string_view kReal[] = {"aten::ones", "aten::ones_like", "aten::new_ones",
                                      "aten::eye"};
constexpr std::string_view kTruth[] = {
    "aten::all",      "aten::any",           "aten::nonzero",        "aten::nonzero_numpy",
    "aten::argwhere", "aten::count_nonzero", "aten::nonzero_static", "aten::is_nonzero",
    "aten::Bool"};
constexpr std::string_view kLength[] = {"aten::linalg_vector_norm"};

std::string_view base_of(std::string_view op) { return op.substr(0, op.find('.')); }

template <size_t N>
bool has(const std::string_view (&names)[N], std::string_view op) {
  return std::ranges::count(names, base_of(op)) > 0;
}

template <class Row, size_t N>
const Row* find_in(const Row (&rows)[N], std::string_view op) {
  const std::string_view base = base_of(op);
  const auto found =
      std::ranges::find_if(rows, [&](const Row& r) { return r.name == op || r.name == base; });
  return found == std::end(rows) ? nullptr : found;
}

}  // namespace

bool makes_real(std::string_view op) { return has(kReal, op); }
bool asks_truth(std::string_view op) { return has(kTruth, op); }
bool asks_length(std::string_view op) { return has(kLength, op); }
Squares sums_squares(std::string_view op) {
  if (base_of(op) == "aten::var") return Squares::Sum;
  return base_of(op) == "aten::std" ? Squares::Root : Squares::None;
}
const Linear* find_linear(std::string_view op) {
  if (const Linear* l = find_in(kLinear, op)) return l;
  // aten::view_copy is to aten::view as a copy is to a view.
  const std::string_view base = base_of(op), copy = "_copy";
  return base.ends_with(copy) ? find_in(kLinear, base.substr(0, base.size() - copy.size()))
                              : nullptr;
}
const Multilinear* find_multilinear(std::string_view op) { return find_in(kMultilinear, op); }

std::vector<std::string_view> linear_operators() {
  std::vector<std::string_view> all(std::begin(kTruth), std::end(kTruth));
  all.insert(all.end(), std::begin(kReal), std::end(kReal));
  all.insert(all.end(), std::begin(kLength), std::end(kLength));
  for (const Linear& l : kLinear) all.push_back(l.name);
  for (const Multilinear& m : kMultilinear) all.push_back(m.name);
  return all;
}

}  // namespace oe::lower
