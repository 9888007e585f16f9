// The model of an archive of PyTorch 1.0 to 1.2: a tree of modules in JSON, beside a file of code
// for each and one record for each storage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/archive/archive.h"
#include "lib/support/dtype.h"

namespace oe::archive {

struct LegacyTensor {
  DType dtype = DType::Undefined;
  std::vector<int64_t> sizes, strides;  // in elements
  int64_t offset = 0;                   // in elements
  std::string record;                   // "tensors/0"; several tensors may lie in one
  std::string device;                   // that it was saved on
  bool requires_grad = false;
};

struct LegacyModule {
  struct Parameter {
    std::string name;
    size_t tensor = 0;  // index in LegacyModel::tensors
    bool is_buffer = false;
  };
  struct Attribute {
    std::string name, type;       // type as code writes it: "List[int]"
    std::optional<size_t> value;  // index in what attributes.pkl holds; none: set by __setstate__
  };
  std::string name;
  std::vector<LegacyModule> submodules;
  std::vector<Parameter> parameters;
  std::vector<Attribute> attributes;
  std::string code, lines;      // records; empty: none
  std::optional<size_t> state;  // what __setstate__ is given, in attributes.pkl
};

struct LegacyModel {
  int64_t version = 0;   // protoVersion: 1 to 5
  std::string producer;  // PyTorch's version
  std::vector<LegacyTensor> tensors;
  LegacyModule main;
};

// Null where the archive is of a later format. Throws Failure(Refused, OE0116) where "model.json"
// is no such tree, names a record or a tensor that is not there, or a tensor reaches beyond its
// record.
std::optional<LegacyModel> read_legacy_model(const Archive& a);

}  // namespace oe::archive
