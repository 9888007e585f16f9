// How a model is loaded, as the command line says it.
#pragma once

#include <string>
#include <vector>

namespace oe {

enum class Training { Eval, Preserve, Train };

struct LoadOptions {
  std::string model;                        // path of the .pt
  std::vector<std::string> custom_op_libs;  // shared libraries that register operators
  std::string method = "forward";
  // All that are converted, where they are several: lib/options/methods.h has what each is told.
  std::vector<std::string> methods;
  Training training = Training::Eval;
  std::string device = "cpu";  // "cpu", "cuda:0", "cuda:1", ...
  int threads = 0;             // 0: LibTorch's choice
  bool show_warnings = false;  // LibTorch's own, on standard error
};

}  // namespace oe
