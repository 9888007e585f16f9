// Stage: file -> module. Also recognizes files that are not TorchScript archives.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/rules/rules.h"
#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/torch/load_options.h"

namespace oe::torch_io {

struct Loaded {
  torch::jit::Module module;
  c10::Device device = c10::kCPU;          // on which all its tensors are
  std::shared_ptr<const MappedFile> file;  // that contains its weights, until they are written
  std::string method;     // "forward", --method, or the only one that takes tensors
  bool training = false;  // whether it, or a module in it, is in train mode now
  struct Note {
    std::string code, text;  // "saved in train mode; converted in eval mode"
  };
  std::vector<Note> notes;
  // The arguments the method was traced with, without self; empty when the file does not say
  // (a scripted method, or a file made before PyTorch 1.13). Their tensors have element types and
  // sizes, but may have no data.
  std::vector<c10::IValue> traced_inputs;
};

// Throws Failure: Unreadable (no such file, empty, a directory, text, a zip that is not
// TorchScript, a plain state_dict, an eager pickle, a .pt2, truncated), Unsupported (an operator
// that is not registered, with its name and a remedy), Usage (a rule of the user that LibTorch
// rejects).
Loaded load(const LoadOptions& o, const rules::Rules& rules = {});

// Moves a module's tensors, and what its code allocates, to a device that use_device() selected.
void move_to_device(c10::Device device, Loaded& m);

// Opens a library that registers operators (--custom-op-lib). Throws Failure(MissingPart, OE0121).
void open_operator_library(const std::string& path);

// Registers schemas and CPU kernels that files commonly need (torchvision::*), and those of
// quantized_operators.cpp. Idempotent.
void register_stub_operators();
void register_quantized_operators();

}  // namespace oe::torch_io
