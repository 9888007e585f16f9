// Settings of LibTorch that hold for the whole process.
#include "lib/torch/runtime.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/passes/autocast.h>
#include <torch/csrc/jit/runtime/print_handler.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>

#include "lib/support/safe_text.h"
#include "lib/torch/cuda.h"

namespace oe::torch_io {
namespace {

class Silent : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

// The text that the model prints, up to 1 MiB of it.
struct Printed {
  bool shown = false;
  bool begins = true;  // a line
  size_t left = size_t{1} << 20;

  void add(std::string_view text) {
    if (!shown || left == 0) return;
    const size_t n = std::min(left, text.size());
    left -= n;
    std::string lines;
    for (const char c : text.substr(0, n)) {
      if (begins) lines += "model: ";  // none is taken for a line of ours
      begins = c == '\n';
      lines += c;
    }
    SafeStream(std::cerr) << lines;
    if (left == 0) std::cerr << "\n(the model prints more, which is left out)\n";
  }
};

}  // namespace

void show_warnings(bool shown) {
  static Silent silent;
  static c10::WarningHandler plain;
  c10::WarningUtils::set_warning_handler(shown ? &plain : &silent);
}

void configure(const LoadOptions& o) {
  use_device(o.device);
  show_warnings(o.show_warnings);
  // Standard output is the file's or the report's; and the model runs more often than once.
  static Printed printed;
  printed.shown = o.show_warnings;
  torch::jit::setPrintHandler([](const std::string& text) { printed.add(text); });
  torch::jit::setAutocastMode(true);  // as in Python
  if (o.threads > 0) at::set_num_threads(o.threads);
}

std::string message_of(const std::exception& e) {
  const auto* c10_error = dynamic_cast<const c10::Error*>(&e);
  std::string_view text = c10_error ? c10_error->what_without_backtrace() : e.what();
  // The interpreter puts a traceback of the serialized code before what was wrong.
  constexpr std::string_view heading = "\nRuntimeError: ";
  if (const size_t at = text.rfind(heading);
      at != std::string_view::npos && text.starts_with("The following operation failed"))
    text.remove_prefix(at + heading.size());
  return cut_text(text, kKeptMessage);
}

bool is_out_of_memory(const char* what) {
  const std::string_view text(what);
  return text.find("can't allocate memory") != std::string_view::npos ||
         text.find("not enough memory") != std::string_view::npos ||
         text.find("std::bad_alloc") != std::string_view::npos;
}

}  // namespace oe::torch_io
