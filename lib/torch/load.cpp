// Stage: file -> module. Also names what is in a file that is no TorchScript archive.
#include "lib/torch/load.h"

#include <dlfcn.h>
#include <torch/csrc/jit/frontend/error_report.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "lib/support/text.h"
#include "lib/torch/allowed_operators.h"
#include "lib/torch/copies.h"
#include "lib/torch/devices.h"
#include "lib/torch/extensions.h"
#include "lib/torch/inference.h"
#include "lib/torch/runtime.h"
#include "lib/torch/script_archive.h"
#include "lib/torch/stand_ins.h"
#include "lib/torch/unchecked.h"
#include "lib/torch/user_operators.h"

namespace oe::torch_io {
namespace {

// LibTorch's message without its stack trace and its own source positions.
std::string first_paragraph(const std::exception& e) {
  std::string text(strip(message_of(e)));
  if (const size_t end = text.find("\n\n"); end != std::string::npos) text.resize(end);
  return text;
}

// `missing`: what stand-ins are there for. Code that asks more of them than they are (a number, a
// method) does not compile, and the rest of the message would be about the stand-in.
[[noreturn]] void explain_load_error(const std::string& path, const std::exception& e,
                                     const std::vector<std::string>& missing) {
  const std::string why = first_paragraph(e);
  const size_t line = std::min(why.find('\n'), why.find(":\n"));
  if (!missing.empty() && dynamic_cast<const torch::jit::ErrorReport*>(&e))
    throw Failure(ExitCode::Unsupported, "OE0123",
                  path + ": uses " + join(missing, ", ") +
                      ", which LibTorch does not have, and without them it cannot compile the "
                      "code: " +
                      why.substr(0, line),
                  "load the library that registers them with --custom-op-lib LIB.so, or save the "
                  "model without them");
  throw Failure(ExitCode::Unreadable, "OE0111", path + ": LibTorch cannot load it: " + why,
                "copy or save the file again; if it was made by a newer PyTorch, this LibTorch may "
                "be too old for it");
}

// What torch.jit.trace stored beside the code (PyTorch 1.13 and later). Tensors have element type
// and sizes, but no numbers.
std::vector<c10::IValue> read_traced_inputs(ScriptArchive& archive, const std::string& method) {
  try {
    const c10::IValue all = archive.unpickle("traced_inputs");
    if (!all.isGenericDict()) return {};
    for (const auto& entry : all.toGenericDict())
      if (entry.key().toStringRef() == method) return entry.value().toListRef().vec();
  } catch (const Failure&) {
    throw;
  } catch (const std::exception&) {
    // Only a convenience: without it the user gives --input.
  }
  return {};
}

std::string rewritten_note(const std::map<std::string, int>& counts) {
  std::vector<std::string> parts;
  for (const auto& [op, n] : counts)
    parts.push_back(op + (n > 1 ? " (" + std::to_string(n) + " calls)" : ""));
  return "the file was traced in train mode; rewritten for inference: " + join(parts, ", ") +
         "; branches on self.training in Python stay as traced (--training preserve converts the "
         "file unchanged)";
}

// A layer that PyTorch makes when it quantizes a model, or puts where another was fused: it comes
// in train mode, whatever the model was in, and computes the same in both.
bool is_quantized_layer(const torch::jit::Module& m) {
  const std::string name = m.type()->name() ? m.type()->name()->qualifiedName() : "";
  return name.find(".quantized.") != std::string::npos ||
         (name.starts_with("__torch__.torch.nn.modules.linear.") && name.ends_with(".Identity"));
}

void set_training(Loaded& m, Training wanted) {
  bool was_training = false;
  for (const torch::jit::Module& module : m.module.modules())
    was_training = was_training || (in_train_mode(module) && !is_quantized_layer(module));
  m.training = wanted == Training::Preserve ? was_training : wanted == Training::Train;
  if (wanted == Training::Preserve) return;
  if (wanted == Training::Eval && was_training) {
    std::map<std::string, int> rewritten;
    if (!m.traced_inputs.empty()) rewritten = rewrite_for_inference(m.module);
    // A file that is the same in both modes needs no warning.
    if (!rewritten.empty())
      m.notes.push_back({"OE0125", rewritten_note(rewritten)});
    else if (asks_for_mode(m.module))
      m.notes.push_back({"OE0125",
                         "the file was saved in train mode; it is converted in eval mode "
                         "(--training preserve keeps it)"});
  }
  m.module.train(wanted == Training::Train);
}

bool takes_tensors(const torch::jit::Method& m) {
  const auto& arguments = m.function().getSchema().arguments();
  return std::any_of(arguments.begin() + 1, arguments.end(), [](const c10::Argument& a) {
    return a.type()->repr_str().find("Tensor") != std::string::npos;
  });
}

// The method that is wanted. Without a forward: the only one that takes tensors, where nobody named
// several.
std::string method_of(const torch::jit::Module& m, const LoadOptions& o,
                      std::vector<Loaded::Note>& notes) {
  if (m.find_method(o.method)) return o.method;
  std::vector<std::string> names, useful;
  for (const torch::jit::Method& method : m.get_methods()) {
    names.push_back(method.name());
    if (takes_tensors(method) && !method.name().starts_with("__")) useful.push_back(method.name());
  }
  if (names.empty()) {
    size_t tensors = 0;
    for (const c10::IValue& v : m.attributes()) tensors += v.isTensor() ? 1 : 0;
    throw Failure(ExitCode::Unreadable, "OE0112",
                  o.model + ": holds " + std::to_string(tensors) +
                      (tensors == 1 ? " tensor" : " tensors") + " and no program",
                  "weights alone do not define a computation; save a module that has a forward");
  }
  if (o.method == "forward" && o.methods.empty() && useful.size() == 1) {
    notes.push_back({"OE0126", "the file has no forward: '" + useful[0] +
                                   "' is converted, the only method that takes tensors"});
    return useful[0];
  }
  std::string hint = did_you_mean(o.method, names);
  if (hint.empty())
    hint = useful.empty() ? "it has " + join(names, ", ") + ", none of which takes a tensor"
                          : "select one with --method: " + join(useful, ", ");
  throw Failure(ExitCode::Usage, "OE0124", o.model + ": has no method '" + o.method + "'", hint);
}

}  // namespace

void open_operator_library(const std::string& path) {
  note_own_operators();
  // dlopen() waits until another process writes to a pipe, perhaps for ever.
  std::error_code error;
  if (std::filesystem::is_fifo(path, error))
    throw Failure(ExitCode::MissingPart, "OE0121",
                  "cannot load the operator library " + path + ": is not a regular file");
  // RTLD_GLOBAL: such libraries find each other's symbols, as torch.ops.load_library does it. A
  // second call for the same path finds it open.
  if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
    throw Failure(ExitCode::MissingPart, "OE0121",
                  "cannot load the operator library " + path + ": " + dlerror(),
                  "correct the path; a library in the working directory needs ./ before its name");
}

void move_to_device(c10::Device device, Loaded& m) {
  m.device = device;
  allocate_on(device, m.module);
  if (!device.is_cpu()) m.module = copy_to(device, m.module);
}

Loaded load(const LoadOptions& o, const rules::Rules& rules) {
  for (const std::string& library : o.custom_op_libs) open_operator_library(library);
  disarm_operators();
  register_stub_operators();
  const std::vector<std::string> misspelt_rules = misspelt(rules);
  register_user_operators(rules);
  register_extensions();
  check_kernels();

  Loaded m;
  for (const std::string& line : misspelt_rules) m.notes.push_back({"OE0234", line});
  const archive::Archive archive(o.model);
  const std::vector<std::string> missing = register_stand_ins(archive);
  ScriptArchive script(archive);
  try {
    m.module = script.module();
    m.file = script.file();
  } catch (const Failure&) {
    throw;
  } catch (const std::exception& e) {
    throw_if_disarmed_ran(o.model);
    explain_load_error(o.model, e, missing);
  }
  move_to_device(c10::Device(o.device), m);
  m.method = method_of(m.module, o, m.notes);
  m.traced_inputs = read_traced_inputs(script, m.method);
  set_training(m, o.training);
  return m;
}

}  // namespace oe::torch_io
