// The content of an archive, from its records alone. Nothing runs and no tensor is read, so that it
// takes milliseconds for a file of any size.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/archive/archive.h"

namespace oe::archive {

struct Summary {
  struct Argument {
    std::string name,
        type;  // as in the code: "Optional[Tensor]"; "Tensor" if not annotated
  };
  struct Method {
    std::string name;
    std::vector<Argument> arguments;  // without self
    std::string result;
  };
  enum class Kind { Parameter, Buffer, Attribute };
  struct Tensor {
    std::string path;  // as in the state_dict: "layer1.0.weight"
    Kind kind = Kind::Attribute;
    std::string type;  // of its elements: "float", "int64", "qint8"
    std::vector<int64_t> sizes;
    uint64_t bytes = 0;   // of its elements
    std::string storage;  // record; tensors may share one
    std::string device;   // that it was saved on
  };
  struct Module {
    std::string path;  // empty: the outermost module
    std::string type;  // "__torch__.torch.nn.modules.conv.Conv2d"; of PyTorch 1.0 to 1.2 empty
    std::string code;  // the record with the source of its methods; may be empty
    std::optional<bool> training;  // nothing: it has no such attribute
  };

  uint64_t version = 0;                     // of the format
  std::string writer;                       // "PyTorch 1.0"; empty if the format has none
  std::vector<Method> methods;              // of the whole module, in the code's order
  std::vector<Module> modules;              // outermost first, in the order they were saved
  std::vector<Tensor> tensors;              // of all modules, in their order
  uint64_t tensor_bytes = 0;                // size of their records, each once
  std::map<std::string, size_t> operators;  // calls in the code: {"aten::conv2d", 20}
  std::set<std::string> classes;            // of libraries: "__torch__.torch.classes.lib.Name"
  std::set<std::string> devices;            // of tensors and in the code
  std::vector<std::string> extra;           // files that were saved beside the model
};

// Throws like Archive, check_pickles() and read_legacy_model().
Summary summarise(const Archive& archive);

}  // namespace oe::archive
