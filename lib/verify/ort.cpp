// ONNX Runtime sessions over its C function table.
#include "lib/verify/ort.h"

#include <dlfcn.h>

#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

#include "lib/onnx/onnx.h"
#include "lib/onnx/schema.h"
#include "lib/verify/ort_api.h"
#include "lib/verify/ort_library.h"

namespace oe::verify {
namespace {

using namespace ort;

// The function table with its environment; outlives every session and every output.
class Runtime {
 public:
  Runtime(void* const* table, std::string version) : api{table}, version(std::move(version)) {
    check(api.CreateEnv(kLogFatal, "onnx-export", &env_));
    check(api.DisableTelemetryEvents(env_));
    check(api.CreateCpuMemoryInfo(kDeviceAllocator, kMemoryDefault, &memory_));
    check(api.GetAllocatorWithDefaultOptions(&allocator));
  }
  ~Runtime() {
    if (memory_) api.ReleaseMemoryInfo(memory_);
    if (env_) api.ReleaseEnv(env_);
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  void check(Status* s) const {
    if (!s) return;
    const std::string message = api.GetErrorMessage(s);
    api.ReleaseStatus(s);
    throw std::runtime_error(message);
  }
  const Env* env() const { return env_; }
  const MemoryInfo* memory() const { return memory_; }

  const Api api;
  const std::string version;
  Allocator* allocator = nullptr;  // the library's own; never released

 private:
  Env* env_ = nullptr;
  MemoryInfo* memory_ = nullptr;
};
using RuntimePtr = std::shared_ptr<const Runtime>;
using ValuePtr = std::shared_ptr<Value>;

ValuePtr own(const RuntimePtr& r, Value* v) {
  return {v, [r](Value* p) {
            if (p) r->api.ReleaseValue(p);
          }};
}

// The result views the tensor's memory; `t` has to live as long.
ValuePtr to_ort(const RuntimePtr& r, const Tensor& t) {
  Value* v = nullptr;
  const auto& dims = t.dims();
  const auto type = static_cast<ElementType>(t.dtype());
  if (t.dtype() == DType::String) {
    r->check(r->api.CreateTensorAsOrtValue(r->allocator, dims.data(), dims.size(), type, &v));
    ValuePtr owned = own(r, v);
    std::vector<const char*> strings;
    for (const std::string& s : t.strings()) strings.push_back(s.c_str());
    r->check(r->api.FillStringTensor(v, strings.data(), strings.size()));
    return owned;
  }
  static char nothing;  // an empty tensor still needs an address
  void* data = t.nbytes() > 0 ? const_cast<void*>(t.data()) : &nothing;
  r->check(r->api.CreateTensorWithDataAsOrtValue(r->memory(), data, t.nbytes(), dims.data(),
                                                 dims.size(), type, &v));
  return own(r, v);
}

ValuePtr to_ort(const RuntimePtr& r, const HostValue& value) {
  if (value.kind == HostValue::Kind::Tensor) return to_ort(r, *value.tensor);
  if (value.kind == HostValue::Kind::None)
    throw std::runtime_error("ONNX Runtime's C interface takes no absent optional input");
  if (value.sequence.empty())
    throw std::runtime_error("ONNX Runtime's C interface takes no empty sequence");
  std::vector<ValuePtr> owned;
  std::vector<const Value*> elements;
  for (const TensorPtr& t : value.sequence) {
    owned.push_back(to_ort(r, *t));
    elements.push_back(owned.back().get());
  }
  Value* v = nullptr;
  r->check(r->api.CreateValue(elements.data(), elements.size(), kSequence, &v));
  return own(r, v);  // the elements are shared by reference count inside the library
}

TensorPtr to_tensor(const RuntimePtr& r, const ValuePtr& v) {
  TensorInfo* raw = nullptr;
  r->check(r->api.GetTensorTypeAndShape(v.get(), &raw));
  const std::shared_ptr<TensorInfo> info(
      raw, [&](TensorInfo* p) { r->api.ReleaseTensorTypeAndShapeInfo(p); });
  ElementType type = 0;
  size_t rank = 0;
  r->check(r->api.GetTensorElementType(raw, &type));
  r->check(r->api.GetDimensionsCount(raw, &rank));
  std::vector<int64_t> dims(rank);
  r->check(r->api.GetDimensions(raw, dims.data(), rank));
  const auto dtype = static_cast<DType>(type);
  if (dtype != DType::String) {
    if (byte_size(dtype) == 0)
      throw std::runtime_error("ONNX Runtime gave element type " + std::to_string(type));
    void* data = nullptr;
    r->check(r->api.GetTensorMutableData(v.get(), &data));
    return std::make_shared<Tensor>(dtype, std::move(dims), data, v);
  }
  size_t count = 1;
  for (int64_t d : dims) count *= static_cast<size_t>(d);
  std::vector<std::string> strings(count);
  for (size_t i = 0; i < count; ++i) {
    size_t length = 0;
    r->check(r->api.GetStringTensorElementLength(v.get(), i, &length));
    strings[i].resize(length);
    r->check(r->api.GetStringTensorElement(v.get(), length, i, strings[i].data()));
  }
  return std::make_shared<Tensor>(std::move(dims), std::move(strings));
}

HostValue from_ort(const RuntimePtr& r, const ValuePtr& v) {
  HostValue out;
  int present = v ? 1 : 0;
  if (v) r->check(r->api.HasValue(v.get(), &present));
  if (!present) {
    out.kind = HostValue::Kind::None;
    return out;
  }
  ValueType type = kUnknown;
  r->check(r->api.GetValueType(v.get(), &type));
  if (type == kTensor) {
    out.tensor = to_tensor(r, v);
    return out;
  }
  if (type != kSequence) throw std::runtime_error("ONNX Runtime gave a map or sparse tensor");
  out.kind = HostValue::Kind::Sequence;
  size_t count = 0;
  r->check(r->api.GetValueCount(v.get(), &count));
  for (size_t i = 0; i < count; ++i) {
    Value* element = nullptr;
    r->check(r->api.GetValue(v.get(), static_cast<int>(i), r->allocator, &element));
    out.sequence.push_back(to_tensor(r, own(r, element)));
  }
  return out;
}

// What a session takes part of its work from.
void append_cuda(const Runtime& r, SessionOptions* options, int device) {
  CudaOptions* raw = nullptr;
  r.check(r.api.CreateCUDAProviderOptions(&raw));
  const std::shared_ptr<CudaOptions> cuda(
      raw, [&](CudaOptions* p) { r.api.ReleaseCUDAProviderOptions(p); });
  const std::string number = std::to_string(device);
  // The numbers are compared: products keep all bits of float32.
  const char* const keys[] = {"device_id", "use_tf32"};
  const char* const values[] = {number.c_str(), "0"};
  r.check(r.api.UpdateCUDAProviderOptions(raw, keys, values, std::size(keys)));
  r.check(r.api.SessionOptionsAppendExecutionProvider_CUDA_V2(options, raw));
}

class SessionImpl : public Ort::Session {
 public:
  // `make` creates the session with the options it is given.
  template <class Make>
  SessionImpl(RuntimePtr runtime, std::optional<int> cuda, int threads, bool optimize,
              const Make& make)
      : r_(std::move(runtime)) {
    SessionOptions* raw = nullptr;
    r_->check(r_->api.CreateSessionOptions(&raw));
    const std::shared_ptr<SessionOptions> options(
        raw, [&](SessionOptions* p) { r_->api.ReleaseSessionOptions(p); });
    r_->check(r_->api.SetSessionLogSeverityLevel(raw, kLogFatal));
    r_->check(r_->api.SetIntraOpNumThreads(raw, threads > 0 ? threads : 0));
    r_->check(
        r_->api.SetSessionGraphOptimizationLevel(raw, optimize ? kOptimizeAll : kOptimizeNothing));
    // An arena keeps what the largest run took, rounded up, for each session.
    r_->check(r_->api.DisableCpuMemArena(raw));
    // Waiting threads sleep: LibTorch runs on the same cores.
    r_->check(r_->api.AddSessionConfigEntry(raw, "session.intra_op.allow_spinning", "0"));
    if (cuda) append_cuda(*r_, raw, *cuda);
    ort::Session* made = nullptr;
    r_->check(make(raw, &made));
    session_ = {made, [r = r_](ort::Session* p) { r->api.ReleaseSession(p); }};

    size_t count = 0;
    r_->check(r_->api.SessionGetInputCount(made, &count));
    for (size_t i = 0; i < count; ++i) inputs_.push_back(name(r_->api.SessionGetInputName, i));
    r_->check(r_->api.SessionGetOutputCount(made, &count));
    for (size_t i = 0; i < count; ++i) outputs_.push_back(name(r_->api.SessionGetOutputName, i));
  }

  std::vector<std::string> input_names() const override { return inputs_; }
  std::vector<std::string> output_names() const override { return outputs_; }

  std::vector<HostValue> run(const std::vector<HostValue>& inputs) override {
    if (inputs.size() != inputs_.size())
      throw std::runtime_error("the model has " + std::to_string(inputs_.size()) +
                               " inputs, but got " + std::to_string(inputs.size()));
    std::vector<ValuePtr> owned;
    std::vector<const Value*> values;
    std::vector<const char*> input_names, output_names;
    for (size_t i = 0; i < inputs.size(); ++i) {
      owned.push_back(to_ort(r_, inputs[i]));
      values.push_back(owned.back().get());
      input_names.push_back(inputs_[i].c_str());
    }
    for (const std::string& s : outputs_) output_names.push_back(s.c_str());
    std::vector<Value*> raw(outputs_.size(), nullptr);
    r_->check(r_->api.Run(session_.get(), nullptr, input_names.data(), values.data(), values.size(),
                          output_names.data(), output_names.size(), raw.data()));
    std::vector<ValuePtr> results;
    for (Value* v : raw) results.push_back(own(r_, v));
    std::vector<HostValue> out;
    for (const ValuePtr& v : results) out.push_back(from_ort(r_, v));
    return out;
  }

 private:
  template <class Get>
  std::string name(const Get& get, size_t i) {
    char* text = nullptr;
    r_->check(get(session_.get(), i, r_->allocator, &text));
    const std::string copy = text;
    r_->check(r_->api.AllocatorFree(r_->allocator, text));
    return copy;
  }

  RuntimePtr r_;
  std::shared_ptr<ort::Session> session_;
  std::vector<std::string> inputs_, outputs_;
};

class OrtImpl : public Ort {
 public:
  explicit OrtImpl(RuntimePtr r) : r_(std::move(r)) {}

  std::string version() const override { return r_->version; }

  // No entry of the table says it, so the smallest model is tried, newest opset first.
  int64_t newest_opset() const override {
    static const int64_t newest = [&] {
      for (int64_t opset = onnx::newest_opset(); opset > kOldestOpset; --opset)
        if (accepts(opset)) return opset;
      return kOldestOpset;
    }();
    return newest;
  }

  std::vector<std::string> providers() const override {
    char** names = nullptr;
    int count = 0;
    r_->check(r_->api.GetAvailableProviders(&names, &count));
    const std::vector<std::string> all(names, names + count);
    r_->check(r_->api.ReleaseAvailableProviders(names, count));
    return all;
  }

  void use_cuda(int device) override {
    SessionOptions* raw = nullptr;
    r_->check(r_->api.CreateSessionOptions(&raw));
    const std::shared_ptr<SessionOptions> options(
        raw, [&](SessionOptions* p) { r_->api.ReleaseSessionOptions(p); });
    append_cuda(*r_, raw, device);  // says at once whether it can be used
    cuda_ = device;
  }

  std::unique_ptr<Session> open_file(const onnx::ModelFile& file, int threads,
                                     bool optimize) override {
    const onnx::InMemory model = onnx::map_model(file);
    return std::make_unique<SessionImpl>(
        r_, cuda_, threads, optimize, [&](SessionOptions* o, ort::Session** out) {
          add_files(model, o);
          return r_->api.CreateSessionFromArray(r_->env(), model.model.data(), model.model.size(),
                                                o, out);
        });
  }
  std::unique_ptr<Session> open_bytes(std::string_view model, int threads, bool optimize) override {
    return std::make_unique<SessionImpl>(
        r_, cuda_, threads, optimize, [&](const SessionOptions* o, ort::Session** out) {
          return r_->api.CreateSessionFromArray(r_->env(), model.data(), model.size(), o, out);
        });
  }

 private:
  void add_files(const onnx::InMemory& model, SessionOptions* o) const {
    if (model.files.empty()) return;
    std::vector<const char*> locations;
    std::vector<char*> contents;
    std::vector<size_t> bytes;
    for (const onnx::InMemory::File& f : model.files) {
      locations.push_back(f.location.c_str());
      contents.push_back(f.data);
      bytes.push_back(f.size);
    }
    r_->check(r_->api.AddExternalInitializersFromFilesInMemory(o, locations.data(), contents.data(),
                                                               bytes.data(), bytes.size()));
  }
  bool accepts(int64_t opset) const {
    ir::Model m;
    m.opsets[""] = opset;
    const ir::Type type = ir::Type::tensor(DType::Float, std::vector<Dim>{});
    m.graph.inputs = {m.new_value("x", type)};
    m.graph.outputs = {m.new_value("y", type)};
    m.graph.nodes.push_back(ir::make_node(m, "n", "Identity", m.graph.inputs, m.graph.outputs));
    try {
      const std::string bytes = onnx::write_bytes(m);
      const_cast<OrtImpl*>(this)->open_bytes(bytes, 1, false);
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  RuntimePtr r_;
  std::optional<int> cuda_;  // the device of its sessions
};

}  // namespace

std::shared_ptr<Ort> Ort::load(const std::string& path, std::string& why) {
  void* library = load_ort_library(path, why);
  if (!library) return nullptr;
  auto get = reinterpret_cast<const ApiBase* (*)()>(::dlsym(library, "OrtGetApiBase"));
  const ApiBase* base = get ? get() : nullptr;
  void* const* table = base ? base->GetApi(kApiVersion) : nullptr;
  if (!table) {
    why = base ? "ONNX Runtime " + std::string(base->GetVersionString()) + " is too old"
               : "the library is not ONNX Runtime";
    return nullptr;
  }
  try {
    return std::make_shared<OrtImpl>(std::make_shared<Runtime>(table, base->GetVersionString()));
  } catch (const std::runtime_error& e) {
    why = e.what();
    return nullptr;
  }
}

}  // namespace oe::verify
