// Files of ONNX's test data: one TensorProto, SequenceProto or
// OptionalProto each.
#include "lib/onnx/value_files.h"

#include <onnx/onnx-data.pb.h>

#include <stdexcept>
#include <system_error>

#include "lib/onnx/proto.h"
#include "lib/support/diagnostics.h"
#include "lib/support/file_writer.h"
#include "lib/support/files.h"

namespace oe::onnx {
namespace {

TensorPtr number_tensor(const pb::TensorProto& t) {
  if (t.data_location() == pb::TensorProto::EXTERNAL || t.external_data_size() > 0)
    throw std::runtime_error("its data is in another file, which is not read");
  TensorPtr read = tensor_from_proto(t, nullptr, {});
  if (read->dtype() == DType::String) throw std::runtime_error("it contains strings, not numbers");
  return read;
}

template <class Proto>
Proto parse_value(const std::filesystem::path& path, const char* what) {
  std::string bytes;
  try {
    bytes = read_whole_file(path);
  } catch (const std::system_error& e) {
    throw std::runtime_error(e.code().message());
  }
  Proto proto;
  if (bytes.size() > INT32_MAX ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw std::runtime_error(std::string("is truncated or not an ONNX ") + what);
  return proto;
}

void encode_value(const Tensor& t, const std::string& name, pb::TensorProto& proto) {
  proto.set_name(name);
  for (const int64_t d : t.dims()) proto.add_dims(d);
  proto.set_data_type(static_cast<int>(t.dtype()));
  proto.set_raw_data(t.data(), t.nbytes());
}

}  // namespace

HostValue read_value(const std::filesystem::path& path, FileType type) {
  const auto tensor = [](const pb::TensorProto& t) {
    if (t.data_type() == 0) throw std::runtime_error("is not an ONNX TensorProto");
    return HostValue::of(number_tensor(t));
  };
  const auto sequence = [](const pb::SequenceProto& s) {
    if (s.elem_type() != pb::SequenceProto::TENSOR)
      throw std::runtime_error("is not a sequence of tensors (ONNX SequenceProto)");
    std::vector<TensorPtr> tensors;
    for (const pb::TensorProto& t : s.tensor_values()) tensors.push_back(number_tensor(t));
    return HostValue::of(std::move(tensors));
  };
  try {
    if (type.optional) {
      const auto proto = parse_value<pb::OptionalProto>(path, "OptionalProto");
      return proto.has_tensor_value()     ? tensor(proto.tensor_value())
             : proto.has_sequence_value() ? sequence(proto.sequence_value())
                                          : HostValue::none();
    }
    return type.sequence ? sequence(parse_value<pb::SequenceProto>(path, "SequenceProto"))
                         : tensor(parse_value<pb::TensorProto>(path, "TensorProto"));
  } catch (const std::logic_error& e) {
    throw std::runtime_error(e.what());
  }
}

void write_value(const HostValue& v, FileType type, const std::string& name,
                 const std::filesystem::path& path) {
  const auto encode_sequence = [&](pb::SequenceProto& proto) {
    proto.set_elem_type(pb::SequenceProto::TENSOR);
    for (const TensorPtr& t : v.sequence) encode_value(*t, "", *proto.add_tensor_values());
  };
  std::string bytes;
  if (type.optional) {
    pb::OptionalProto proto;
    proto.set_name(name);
    proto.set_elem_type(type.sequence ? pb::OptionalProto::SEQUENCE : pb::OptionalProto::TENSOR);
    if (v.kind == HostValue::Kind::Sequence) encode_sequence(*proto.mutable_sequence_value());
    if (v.kind == HostValue::Kind::Tensor)
      encode_value(*v.tensor, "", *proto.mutable_tensor_value());
    bytes = proto.SerializeAsString();
  } else if (type.sequence) {
    pb::SequenceProto proto;
    proto.set_name(name);
    encode_sequence(proto);
    bytes = proto.SerializeAsString();
  } else {
    pb::TensorProto proto;
    encode_value(*v.tensor, name, proto);
    bytes = proto.SerializeAsString();
  }
  try {
    FileWriter out(path);
    out.write(bytes);
    out.finish();
  } catch (const std::system_error& e) {
    throw Failure(ExitCode::Unwritable, "OE0705", path.string() + ": " + e.code().message());
  }
}

}  // namespace oe::onnx
