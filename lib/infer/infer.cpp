// Inputs that nobody described, found in the file itself.
#include "lib/infer/infer.h"

#include <algorithm>
#include <map>

#include "lib/infer/search.h"

namespace oe::infer {
namespace {

c10::ScalarType type_of_weights(const torch::jit::Module& m) {
  std::map<c10::ScalarType, int64_t> elements;
  for (const at::Tensor& t : m.parameters())
    if (c10::isFloatingType(t.scalar_type())) elements[t.scalar_type()] += t.numel();
  const auto most = std::max_element(elements.begin(), elements.end(), [](const auto& a, const auto& b) {
    return a.second < b.second;
  });
  return most == elements.end() ? c10::ScalarType::Float : most->first;
}

}  // namespace

Found find_inputs(const Options& o, const torch_io::Loaded& m) {
  Found f;
  std::vector<InputSpec> given;
  const c10::ScalarType weights = type_of_weights(m.module);
  const Guess start = first_guess(torch_io::argument_slots(o, m, given), weights, o.seed);
  f.specs = o.inputs;
  if (is_complete(start)) return f;
  const Searched s = search(m, start, weights, false);
  if (s.stop) {
    f.problem = s.stop->message;
    return f;
  }
  f.guessed = true;
  f.specs = specs_of(s.guess);
  return f;
}

}  // namespace oe::infer
