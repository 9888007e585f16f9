// The options of loading, from the command line.
#pragma once

#include <string>
#include <vector>

namespace oe {

enum class Training { Eval, Preserve, Train };

struct LoadOptions {
  std::string model;                        // path of the .pt
  std::vector<std::string> custom_op_libs;  // shared libraries that register operators
  std::string method = "forward";
  // All methods to convert, if several; lib/options/methods.h divides the options among them.
  std::vector<std::string> methods;
  Training training = Training::Eval;
  std::string device = "cpu";  // "cpu", "cuda:0", "cuda:1", ...
  int threads = 0;             // 0: LibTorch's choice
  bool show_warnings = false;  // LibTorch's own, on standard error
};

}  // namespace oe
