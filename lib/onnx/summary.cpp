// What a serialized ONNX model holds, read off its protobuf.
#include "lib/onnx/summary.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "lib/onnx/external.h"
#include "lib/onnx/model_file.h"
#include "lib/onnx/proto.h"
#include "lib/support/text.h"

namespace oe::onnx {
namespace {

std::string element_name(int type) {
  return lowered(pb::TensorProto_DataType_Name(static_cast<pb::TensorProto_DataType>(type)));
}

template <class Tensor>
std::string dense_text(const Tensor& t) {
  std::string text = element_name(t.elem_type());
  if (!t.has_shape()) return text + "*";
  std::vector<std::string> dims;
  for (const auto& d : t.shape().dim())
    dims.push_back(d.has_dim_value()                             ? std::to_string(d.dim_value())
                   : d.has_dim_param() && !d.dim_param().empty() ? d.dim_param()
                                                                 : "?");
  return text + "[" + join(dims, ",") + "]";
}

std::string type_text(const pb::TypeProto& t) {
  switch (t.value_case()) {
    case pb::TypeProto::kTensorType:
      return dense_text(t.tensor_type());
    case pb::TypeProto::kSparseTensorType:
      return "sparse " + dense_text(t.sparse_tensor_type());
    case pb::TypeProto::kSequenceType:
      return "sequence of " + type_text(t.sequence_type().elem_type());
    case pb::TypeProto::kOptionalType:
      return "optional " + type_text(t.optional_type().elem_type());
    case pb::TypeProto::kMapType:
      return "map from " + element_name(t.map_type().key_type()) + " to " +
             type_text(t.map_type().value_type());
    default:
      return "unknown";
  }
}

uint64_t bytes_in_model(const pb::TensorProto& t) {
  if (t.has_raw_data()) return t.raw_data().size();
  if (const auto bytes = tensor_bytes(t)) return *bytes;
  uint64_t bytes = 0;
  for (const std::string& s : t.string_data()) bytes += s.size();
  return bytes;
}

class Summariser {
 public:
  Summariser(const std::filesystem::path& folder, const pb::ModelProto& m, uint64_t bytes)
      : folder_(folder), m_(m) {
    s_.bytes = bytes;
  }

  ModelSummary run() {
    const pb::ModelProto& m = m_;
    s_.ir_version = m.ir_version();
    s_.model_version = m.model_version();
    s_.producer_name = m.producer_name();
    s_.producer_version = m.producer_version();
    s_.domain = m.domain();
    s_.graph_name = m.graph().name();
    s_.doc = m.doc_string();
    for (const auto& o : m.opset_import())
      s_.opsets[o.domain() == "ai.onnx" ? "" : o.domain()] = o.version();
    for (const auto& p : m.metadata_props()) s_.metadata.emplace_back(p.key(), p.value());
    ports(m.graph());
    graph(m.graph());
    for (const auto& f : m.functions()) {
      s_.functions.push_back({f.domain() + "::" + f.name(), static_cast<size_t>(f.node_size())});
      for (const auto& n : f.node()) node(n);
    }
    for (auto& [location, file] : files_) s_.data_files.push_back(std::move(file));
    return std::move(s_);
  }

 private:
  void ports(const pb::GraphProto& g) {
    std::set<std::string> weights;
    for (const auto& t : g.initializer()) weights.insert(t.name());
    for (const auto& i : g.input())
      if (!weights.contains(i.name())) s_.inputs.push_back({i.name(), type_text(i.type())});
    for (const auto& o : g.output()) s_.outputs.push_back({o.name(), type_text(o.type())});
  }

  void graph(const pb::GraphProto& g) {
    for (const auto& t : g.initializer()) weight(t, "");
    for (const auto& t : g.sparse_initializer()) weight(t.values(), "sparse ");
    for (const auto& n : g.node()) node(n);
  }

  void node(const pb::NodeProto& n) {
    const bool own = n.domain().empty() || n.domain() == "ai.onnx";
    ++s_.operators[(own ? "" : n.domain() + "::") + n.op_type()];
    for (const auto& a : n.attribute()) {
      if (a.has_t()) external(a.t());
      if (a.has_g()) graph(a.g());
      for (const auto& g : a.graphs()) graph(g);
    }
  }

  void weight(const pb::TensorProto& t, const char* how) {
    ModelSummary::Tensor w;
    w.name = t.name();
    w.type = how + element_name(t.data_type());
    w.sizes.assign(t.dims().begin(), t.dims().end());
    w.file = external(t);
    w.bytes = w.file.empty() ? bytes_in_model(t) : tensor_bytes(t).value_or(0);
    s_.weights.push_back(std::move(w));
  }

  // The file of its data; empty where it has none.
  std::string external(const pb::TensorProto& t) {
    if (t.data_location() != pb::TensorProto::EXTERNAL) return {};
    try {
      const ExternalPlace place = external_place(t);
      if (!files_.contains(place.location))
        files_[place.location] = {place.location, 0, 0, data_file_size(folder_, place.location)};
      ModelSummary::DataFile& file = files_[place.location];
      ++file.tensors;
      uint64_t end = 0;
      const uint64_t bytes = place.length.value_or(tensor_bytes(t).value_or(0));
      if (__builtin_add_overflow(place.offset, bytes, &end)) end = UINT64_MAX;
      file.needed = std::max(file.needed, end);
      return place.location;
    } catch (const std::runtime_error& e) {
      if (told_.insert(e.what()).second) s_.problems.emplace_back(e.what());
      return {};
    }
  }

  const std::filesystem::path folder_;
  const pb::ModelProto& m_;
  ModelSummary s_;
  std::map<std::string, ModelSummary::DataFile> files_;
  std::set<std::string> told_;  // problems
};

}  // namespace

ModelSummary summarise(const std::filesystem::path& folder, const pb::ModelProto& m,
                       uint64_t bytes) {
  return Summariser(folder, m, bytes).run();
}

ModelSummary summarise(const std::filesystem::path& path) {
  const auto file = map_file(path);
  const std::string_view bytes(file->data(), file->size());
  return summarise(path.parent_path(), *parse_model(bytes, "'" + path.string() + "'"),
                   bytes.size());
}

}  // namespace oe::onnx
