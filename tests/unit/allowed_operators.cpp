// Every operator that LibTorch registers is on the reviewed list: a new version adds none silently.
#include "lib/torch/allowed_operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "lib/support/text.h"
#include "lib/torch/about.h"

namespace {

using oe::torch_io::refusal_of;

std::set<std::string> registered() {
  std::set<std::string> names;
  for (const auto& op : torch::jit::getAllOperators()) names.insert(op->schema().name());
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames())
    names.insert(name.name);
  return names;
}

// Of the tests and of the tool itself.
bool of_others(const std::string& name) {
  for (const char* space : {"prepacked::", "torch_scatter::", "torch_sparse::", "torchvision::",
                            "quantized_decomposed::", "onnx_export::", "lib::", "my::"})
    if (name.starts_with(space)) return true;
  return false;
}

}  // namespace

TEST_CASE("the LibTorch of the tests is the one that messages call tested") {
  CHECK(oe::torch_io::is_tested_libtorch());
}

TEST_CASE("every operator of LibTorch is on the reviewed list", "[allowed_operators]") {
  std::set<std::string> reviewed;
  for (const auto& [name, why] : oe::torch_io::reviewed_operators()) reviewed.emplace(name);
  std::vector<std::string> missing;
  for (const std::string& name : registered())
    if (!reviewed.contains(name) && !of_others(name)) missing.push_back(name);
  INFO("add to lib/torch/reviewed_operators.txt, once their kernels are reviewed: " << oe::join(
           missing, " "));
  CHECK(missing.empty());
  CHECK(registered().size() > 2000);
}

TEST_CASE("operators that reach beyond their tensors are refused", "[allowed_operators]") {
  for (const char* op : {"aten::save", "aten::from_file", "inductor::_reinterpret_tensor",
                         "inductor::_alloc_from_pool", "c10d::send", "prim::rpc_sync",
                         "symm_mem::one_shot_all_reduce", "debugprims::load_tensor",
                         "mkldnn::data_ptr", "aten::_sparse_coo_tensor_unsafe",
                         "profiler::_record_function_enter", "lib::nobody_knows_it"})
    CHECK(!refusal_of(std::string(op)).empty());
  for (const char* op : {"aten::add", "aten::add_", "prim::If", "prim::CallMethod", "aten::append",
                         "quantized::linear", "torchvision::nms", "aten::format"})
    CHECK(refusal_of(std::string(op)).empty());
}
