// The ONNX checker and ONNX shape inference on a model whose large weights stay behind.
#include <google/protobuf/arena.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <exception>

#include "lib/onnx/encode.h"
#include "lib/onnx/inference_registry.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/proto.h"
#include "lib/onnx/registry.h"
#include "lib/support/diagnostics.h"

namespace oe::onnx {
namespace {

// Initializers up to this size are given with their elements: shapes, axes, scales, which shape
// inference reads. Larger ones are typed inputs.
constexpr size_t kDataUpTo = 4096;

// Parses what would be written. The arena frees 10^5 nodes at once.
struct Parsed {
  google::protobuf::Arena arena;
  pb::ModelProto* model = google::protobuf::Arena::CreateMessage<pb::ModelProto>(&arena);

  explicit Parsed(const ir::Model& m) {
    EncodeOptions o;
    o.stub_above = kDataUpTo;
    const std::string bytes = encode(m, o).flatten();
    if (bytes.size() > INT32_MAX ||
        !model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      throw Failure(
          ExitCode::Limit, "OE7004",
          "the graph is larger, or its branches and loops nest deeper, than protobuf allows",
          "make conditions that never change constants, as --mode trace does");
  }
};

// Types by value name: outputs (which inference completes in place) and value infos.
using Inferred = std::unordered_map<std::string_view, const pb::TypeProto*>;
void collect(const pb::GraphProto& g, Inferred& types) {
  for (const auto& v : g.output()) types[v.name()] = &v.type();
  for (const auto& v : g.value_info()) types[v.name()] = &v.type();
  for (const auto& n : g.node())
    for (const auto& a : n.attribute())
      if (a.has_g()) collect(a.g(), types);
}

}  // namespace

std::string check(const ir::Model& m, bool full) {
  try {
    registry();
    Parsed p(m);
    pb::checker::check_model(*p.model, /*full_check=*/false);
    // What check_model(full_check) does, without its copy of the model.
    if (full)
      pb::shape_inference::InferShapes(*p.model, &inference_registry(),
                                       pb::ShapeInferenceOptions{/*check_type=*/true,
                                                                 /*error_mode=*/1,
                                                                 /*data_propagation=*/false});
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

void infer(ir::Model& m) {
  Parsed p(m);
  pb::shape_inference::DataValueMap data;
  try {
    pb::shape_inference::InferShapes(*p.model, &inference_registry(),
                                     pb::ShapeInferenceOptions{/*check_type=*/false,
                                                               /*error_mode=*/0,
                                                               /*data_propagation=*/true},
                                     &data);
  } catch (const std::exception&) {
    // A malformed node stops inference; what was inferred before it is in the model already, and
    // check() reports the node.
  }
  Inferred types;
  collect(p.model->graph(), types);
  TypeMerger merger;
  for (const ir::Value& v : m.values) merger.know(v.type);
  for (ir::Value& v : m.values)
    if (auto it = types.find(v.name); it != types.end()) merger.merge(v.type, *it->second);
}

}  // namespace oe::onnx
