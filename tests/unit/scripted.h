// A module that is written in the test, as the file that would hold it is loaded.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/options/option_text.h"
#include "lib/torch/inputs.h"
#include "lib/torch/load.h"

namespace oe {

// `body`: the lines of forward, indented.
using Tensors = std::vector<std::pair<std::string, at::Tensor>>;
inline torch_io::Loaded scripted(const std::string& signature, const std::string& body,
                                 const Tensors& buffers = {}, const Tensors& parameters = {}) {
  torch_io::Loaded m;
  m.module = torch::jit::Module("__torch__.M");
  for (const auto& [name, value] : buffers) m.module.register_buffer(name, value);
  for (const auto& [name, value] : parameters) m.module.register_parameter(name, value, false);
  m.module.define("def forward(self, " + signature + "):\n" + body);
  m.method = "forward";
  return m;
}

inline InputOptions input_options(const std::vector<std::string>& specs) {
  InputOptions o;
  for (const std::string& s : specs) o.specs.push_back(parse_input_spec(s));
  return o;
}

}  // namespace oe
