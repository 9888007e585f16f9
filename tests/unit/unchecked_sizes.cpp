// LibTorch's kernels that trust their sizes: refused before they run, and nothing else is.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_embedding_bag.h>
#include <ATen/ops/_native_batch_norm_legit.h>
#include <ATen/ops/_native_batch_norm_legit_no_training.h>
#include <ATen/ops/_transform_bias_rescale_qkv.h>
#include <ATen/ops/_weight_norm.h>
#include <ATen/ops/binary_cross_entropy.h>
#include <ATen/ops/binary_cross_entropy_backward.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/gru_cell.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/lstm_cell.h>
#include <ATen/ops/lu_unpack.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/range.h>
#include <ATen/ops/rnn_relu.h>
#include <ATen/ops/rnn_relu_cell.h>
#include <ATen/ops/rnn_tanh.h>
#include <ATen/ops/rnn_tanh_cell.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/segment_reduce.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <catch2/catch.hpp>
#include <vector>

#include "lib/torch/unchecked.h"

namespace {

using at::randn;

at::Tensor lstm(at::IntArrayRef x, at::IntArrayRef h, at::ScalarType t = at::kFloat) {
  const auto make = [&](at::IntArrayRef sizes) { return randn(sizes).to(t); };
  const at::Tensor weights[] = {make({12, 4}), make({12, 3}), make({12}), make({12})};
  const at::Tensor state[] = {make(h), make(h)};
  return std::get<0>(at::lstm(make(x), state, weights, true, 1, 0.0, false, false, false));
}

// h and c with these numbers of layers; with a projection h is narrower than c.
at::Tensor lstm_of(int64_t h, int64_t c, bool projected, at::ScalarType t) {
  const auto make = [&](at::IntArrayRef sizes) { return randn(sizes).to(t); };
  const int64_t width = projected ? 2 : 3;
  std::vector<at::Tensor> weights = {make({12, 4}), make({12, width}), make({12}), make({12})};
  if (projected) weights.push_back(make({2, 3}));
  const at::Tensor state[] = {make({h, 6, width}), make({c, 6, 3})};
  return std::get<0>(at::lstm(make({5, 6, 4}), state, weights, true, 1, 0.0, false, false, false));
}

at::Tensor ctc(const at::Tensor& targets, at::IntArrayRef lengths) {
  const at::Tensor p = at::log_softmax(randn({5, 2, 4}), 2);
  return std::get<0>(at::_ctc_loss(p, targets, {5, 5}, lengths));
}

}  // namespace

TEST_CASE("kernels that trust their sizes are checked before they run", "[unchecked]") {
  oe::torch_io::check_kernels();
  SECTION("lstm") {
    CHECK(lstm({5, 6, 4}, {1, 6, 3}).size(1) == 6);
    CHECK_THROWS_AS(lstm({5, 6, 4}, {1, 2, 3}), c10::Error);
    CHECK_THROWS_AS(lstm({5, 6, 4}, {1, 1, 3}), c10::Error);
    CHECK_THROWS_AS(lstm({5, 6, 9}, {1, 6, 3}), c10::Error);
    CHECK_THROWS_AS(lstm({3, 1, 5, 4}, {1, 5, 3}), c10::Error);
    CHECK_THROWS_AS(lstm({5, 6, 4}, {2, 6, 3}), c10::Error);
    CHECK(lstm({5, 6, 4}, {1, 6, 3}, at::kDouble).size(1) == 6);
    CHECK(lstm_of(1, 1, true, at::kFloat).size(1) == 6);
    CHECK_THROWS_AS(lstm_of(40, 1, true, at::kFloat), c10::Error);
    CHECK_THROWS_AS(lstm_of(1, 0, true, at::kFloat), c10::Error);
    CHECK_THROWS_AS(lstm_of(40, 1, false, at::kDouble), c10::Error);
  }
  SECTION("attention") {
    const at::Tensor q = randn({1, 2, 3, 4}), k = randn({1, 2, 5, 4});
    CHECK(at::scaled_dot_product_attention(q, k, randn({1, 2, 5, 6})).size(3) == 6);
    CHECK_THROWS_AS(at::scaled_dot_product_attention(q, k, randn({1, 2, 7, 4})), c10::Error);
  }
  SECTION("ctc_loss") {
    CHECK(ctc(at::tensor({1, 2, 3, 0}).view({2, 2}), {2, 1}).numel() == 2);
    CHECK(ctc(at::tensor({1, 2, 3, -1}).view({2, 2}), {2, 1}).numel() == 2);  // padding
    CHECK(ctc(at::tensor({1, 2, 3}), {2, 1}).numel() == 2);
    CHECK_THROWS_AS(ctc(at::tensor({1, 9, 3, 0}).view({2, 2}), {2, 1}), c10::Error);
    CHECK_THROWS_AS(ctc(at::tensor({1, 2, 4}), {2, 1}), c10::Error);
  }
  SECTION("segment_reduce") {
    const auto reduce = [](const at::Tensor& lengths) {
      return at::segment_reduce(randn({5}), "sum", lengths, {}, {}, 0, true);
    };
    CHECK(reduce(at::tensor({2, 3})).numel() == 2);
    CHECK_THROWS_AS(reduce(at::tensor({2, 9})), c10::Error);
  }
  SECTION("batch normalization") {
    const auto norm = [](int64_t n) {
      return std::get<0>(at::native_batch_norm(randn({2, 3, 4}), {}, {}, at::zeros({n}),
                                               at::ones({n}), false, 0.1, 1e-5));
    };
    CHECK(norm(3).size(1) == 3);
    CHECK_THROWS_AS(norm(2), c10::Error);
  }
  SECTION("range") {
    CHECK(at::range(0, 3, 1.5, at::kLong).numel() == 4);
    CHECK_THROWS_AS(at::range(0, 3, 0.5, at::kLong), c10::Error);  // divides by zero
  }
}

TEST_CASE("kernels that take other sizes on trust are checked too", "[unchecked]") {
  oe::torch_io::check_kernels();
  SECTION("batch normalization by other names") {
    const auto norm = [](int64_t n) {
      return std::get<0>(at::_native_batch_norm_legit_no_training(
          randn({2, 3, 4}), at::ones({n}), {}, at::zeros({3}), at::ones({3}), 0.1, 1e-5));
    };
    CHECK(norm(3).size(1) == 3);
    CHECK_THROWS_AS(norm(1), c10::Error);
    const auto own = [](int64_t n) {
      return std::get<0>(
          at::_native_batch_norm_legit(randn({2, 3, 4}), at::ones({n}), {}, true, 0.1, 1e-5));
    };
    CHECK(own(3).size(1) == 3);
    CHECK_THROWS_AS(own(2), c10::Error);
  }
  SECTION("weight normalization") {
    CHECK(at::_weight_norm(randn({4, 3}), randn({4, 1}), 0).size(0) == 4);
    CHECK_THROWS_AS(at::_weight_norm(randn({12, 3}), randn({4, 1}), 0), c10::Error);
    CHECK_THROWS_AS(at::_weight_norm(randn({4, 3}), randn({1, 1}), 1), c10::Error);
  }
  SECTION("the bias of queries, keys and values") {
    const auto split = [](int64_t n) {
      return std::get<0>(at::_transform_bias_rescale_qkv(randn({2, 5, 24}), randn({n}), 2));
    };
    CHECK(split(24).size(1) == 2);
    CHECK_THROWS_AS(split(8), c10::Error);
  }
  SECTION("the target of a cross entropy") {
    const auto loss = [](at::IntArrayRef target) {
      return at::binary_cross_entropy(at::full({2, 3}, 0.5), at::full(target, 0.5), {}, 0);
    };
    CHECK(loss({2, 3}).numel() == 6);
    CHECK(loss({3}).numel() == 6);
    CHECK_THROWS_AS(loss({4, 2, 3}), c10::Error);
    const auto gradient = [](at::IntArrayRef target) {
      const at::Tensor x = at::full({2, 3}, 0.5);
      return at::binary_cross_entropy_backward(x, x, at::full(target, 0.5), {}, 0);
    };
    CHECK(gradient({2, 3}).numel() == 6);
    CHECK_THROWS_AS(gradient({4, 2, 3}), c10::Error);
  }
  SECTION("pivots") {
    const auto unpack = [](at::IntArrayRef lu) {
      return std::get<0>(at::lu_unpack(randn(lu), at::tensor({1, 1, 1}, at::kInt)));
    };
    CHECK(unpack({3, 3}).size(0) == 3);
    CHECK_THROWS_AS(unpack({1, 3}), c10::Error);
  }
  SECTION("bags") {
    const auto sum = [](const at::Tensor& offsets) {
      return std::get<0>(at::_embedding_bag(randn({9, 2}), at::tensor({1, 2, 3}), offsets));
    };
    CHECK(sum(at::tensor({0, 0, 2})).size(0) == 3);
    CHECK_THROWS_AS(sum(at::tensor({0, 2, 1})), c10::Error);
  }
}

TEST_CASE("recurrent layers of other widths are refused", "[unchecked]") {
  oe::torch_io::check_kernels();
  SECTION("recurrent layers of packed sequences") {
    const auto run = [](int64_t layers, int64_t width) {
      const at::Tensor weights[] = {randn({12, 4}), randn({12, 3})};
      const at::Tensor state[] = {randn({layers, 2, 3}), randn({1, 2, 3})};
      return std::get<0>(at::lstm(randn({3, width}), at::tensor({2, 1}, at::kLong),
                                  at::TensorList(state), at::TensorList(weights), false, 1, 0.0,
                                  false, false));
    };
    CHECK(run(1, 4).size(0) == 3);
    CHECK_THROWS_AS(run(30, 4), c10::Error);
    CHECK_THROWS_AS(run(1, 5), c10::Error);
    CHECK_THROWS_AS(run(1, 3), c10::Error);
  }
  // Those that check by themselves stay so: wider and narrower inputs and states.
  SECTION("gru, rnn and cells") {
    for (const int64_t width : {3, 5, 64}) {
      const at::Tensor x = randn({5, 2, width}), row = randn({2, width});
      const std::vector<at::Tensor> gru = {randn({9, 4}), randn({9, 3})};
      const std::vector<at::Tensor> rnn = {randn({3, 4}), randn({3, 3})};
      const at::Tensor h = randn({1, 2, 3}), hidden = randn({2, 3});
      const std::vector<at::Tensor> both = {hidden, hidden};
      CHECK_THROWS_AS(at::gru(x, h, gru, false, 1, 0.0, false, false, false), c10::Error);
      CHECK_THROWS_AS(at::rnn_tanh(x, h, rnn, false, 1, 0.0, false, false, false), c10::Error);
      CHECK_THROWS_AS(at::rnn_relu(x, h, rnn, false, 1, 0.0, false, false, false), c10::Error);
      CHECK_THROWS_AS(at::lstm_cell(row, both, randn({12, 4}), randn({12, 3})), c10::Error);
      CHECK_THROWS_AS(at::gru_cell(row, hidden, gru[0], gru[1]), c10::Error);
      CHECK_THROWS_AS(at::rnn_tanh_cell(row, hidden, rnn[0], rnn[1]), c10::Error);
      CHECK_THROWS_AS(at::rnn_relu_cell(row, hidden, rnn[0], rnn[1]), c10::Error);
    }
  }
}
