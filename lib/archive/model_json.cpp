// Protocol Buffers' JSON form of ModelDef: 64-bit integers are strings, absent fields are zero.
#include "lib/archive/model_json.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/archive/extent.h"
#include "lib/archive/stored.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::archive {
namespace {

using Json = nlohmann::json;

constexpr const char* kName = "model.json";
constexpr size_t kDeepestModule = 100;
constexpr uint64_t kLargestJson = 16 << 20;  // each value takes some ten times its bytes

DType element_type(const std::string& name) {
  static const std::pair<const char*, DType> types[] = {
      {"FLOAT", DType::Float}, {"DOUBLE", DType::Double}, {"FLOAT16", DType::Float16},
      {"INT8", DType::Int8},   {"INT16", DType::Int16},   {"INT32", DType::Int32},
      {"INT64", DType::Int64}, {"UINT8", DType::UInt8},   {"BYTE", DType::UInt8},
      {"BOOL", DType::Bool},
  };
  for (const auto& [text, type] : types)
    if (name == text) return type;
  return DType::Undefined;
}

class Reader {
 public:
  Reader(const Archive& a, const Record& r) : archive_(a), record_(r) {}

  LegacyModel run() {
    if (record_.size > kLargestJson) fail("is larger than 16 MiB");
    const Json all = Json::parse(archive_.read(record_), nullptr, /*allow_exceptions=*/false);
    if (!all.is_object()) fail("is not a JSON object");
    LegacyModel m;
    m.version = number(all, "protoVersion");
    if (m.version < 1 || m.version > 5)
      fail("is of the unknown version " + std::to_string(m.version));
    m.producer = text(all, "producerVersion");
    for (const Json& t : items(all, "tensors")) m.tensors.push_back(tensor(t));
    tensors_ = m.tensors.size();
    m.main = module(field(all, "mainModule"), 0);
    return m;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Failure(ExitCode::Refused, "OE0116",
                  safe_line(archive_.path().string() + ": record " + kName + " " + what),
                  "copy the file again, or save it again");
  }

  const Json& field(const Json& of, const char* name) const {
    static const Json none;
    if (!of.is_object()) fail(std::string("has no object with the member ") + name);
    const auto it = of.find(name);
    return it == of.end() ? none : *it;
  }
  const Json::array_t& items(const Json& of, const char* name) const {
    static const Json::array_t none;
    const Json& v = field(of, name);
    if (v.is_null()) return none;
    if (!v.is_array()) fail(std::string("has no list as ") + name);
    return v.get_ref<const Json::array_t&>();
  }
  int64_t integer(const Json& v, const char* name) const {
    if (v.is_number_integer()) return v.get<int64_t>();
    int64_t n = 0;
    const auto* text = v.get_ptr<const std::string*>();
    if (!text || std::from_chars(text->data(), text->data() + text->size(), n).ec != std::errc())
      fail(std::string("has no number as ") + name);
    return n;
  }
  int64_t number(const Json& of, const char* name, int64_t absent = 0) const {
    const Json& v = field(of, name);
    return v.is_null() ? absent : integer(v, name);
  }
  std::string text(const Json& of, const char* name) const {
    const Json& v = field(of, name);
    if (v.is_null()) return {};
    if (!v.is_string()) fail(std::string("has no text as ") + name);
    return v.get<std::string>();
  }
  bool flag(const Json& of, const char* name) const {
    const Json& v = field(of, name);
    return v.is_boolean() && v.get<bool>();
  }
  std::optional<size_t> index(const Json& of, const char* name) const {
    const int64_t n = number(of, name, -1);
    return n < 0 ? std::nullopt : std::optional(static_cast<size_t>(n));
  }
  // The record that {"key": NAME} names; empty where there is nothing.
  std::string record(const Json& of, const char* name) const {
    const Json& v = field(of, name);
    if (v.is_null()) return {};
    std::string key = text(v, "key");
    if (!archive_.find(key)) fail("names the record '" + key + "', which does not exist");
    return key;
  }

  std::vector<int64_t> sizes(const Json& of, const char* name) const {
    std::vector<int64_t> all;
    for (const Json& v : items(of, name)) {
      all.push_back(integer(v, name));
      if (all.back() < 0) fail(std::string("has a negative number in ") + name);
    }
    return all;
  }

  LegacyTensor tensor(const Json& of) const {
    LegacyTensor t;
    const std::string type = text(of, "dataType");
    t.dtype = element_type(type);
    if (t.dtype == DType::Undefined || flag(of, "isQuantized"))
      fail("has a tensor of the unknown type " + type);
    t.sizes = sizes(of, "dims");
    t.strides = sizes(of, "strides");
    t.offset = number(of, "offset");
    t.requires_grad = flag(of, "requiresGrad");
    t.record = record(of, "data");
    t.device = text(of, "device");
    const Record* r = archive_.find(t.record);
    if (!r || r->deflated) fail("has a tensor without stored bytes");
    if (t.offset < 0 || t.sizes.size() != t.strides.size())
      fail("has a tensor with different numbers of sizes and strides");
    if (!lies_within(t.offset, t.sizes, t.strides, r->size / byte_size(t.dtype)))
      fail("has a tensor that reaches beyond its record " + t.record);
    return t;
  }

  LegacyModule module(const Json& of, size_t depth) const {
    if (depth > kDeepestModule) fail("nests too deep");
    LegacyModule m;
    m.name = text(of, "name");
    for (const Json& s : items(of, "submodules")) m.submodules.push_back(module(s, depth + 1));
    for (const Json& p : items(of, "parameters")) {
      m.parameters.push_back(
          {text(p, "name"), static_cast<size_t>(number(p, "tensorId")), flag(p, "isBuffer")});
      if (m.parameters.back().tensor >= tensors_)
        fail("has no tensor for " + m.parameters.back().name);
    }
    for (const Json& a : items(of, "attributes")) {
      m.attributes.push_back({text(a, "name"), text(a, "type"), index(a, "id")});
      if (!is_plain_type(m.attributes.back().type))
        fail("has a type that nests too deeply, for " + m.attributes.back().name);
    }
    m.code = record(of, "torchscriptArena");
    m.lines = record(of, "torchscriptDebugArena");
    m.state = index(of, "getStateAttributeId");
    return m;
  }

  const Archive& archive_;
  const Record& record_;
  size_t tensors_ = 0;
};

}  // namespace

std::optional<LegacyModel> read_legacy_model(const Archive& a) {
  const Record* r = a.find(kName);
  if (!r) return std::nullopt;
  return Reader(a, *r).run();
}

}  // namespace oe::archive
