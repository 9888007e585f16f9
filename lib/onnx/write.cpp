// The streaming writer: sizes first, then bytes; weights go from memory to the file.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "lib/onnx/encode.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/shared_data.h"
#include "lib/support/byte_hash.h"
#include "lib/support/diagnostics.h"
#include "lib/support/file_writer.h"
#include "lib/support/hashed_name.h"

namespace oe::onnx {
namespace {

constexpr uint64_t kProtobufLimit = (uint64_t{1} << 31) - 1;  // bytes of one message

// Where the tensor stands in the file that is converted; nothing where it does not, as it is.
std::optional<uint64_t> place_in(const MappedFile* source, const Tensor& t) {
  const Tensor::Memory m = t.memory();
  return source && m.as_it_is() ? source->place_of(m.data, t.nbytes()) : std::nullopt;
}

// A file that is written once, front to back. `append`: behind what it has.
class Output {
 public:
  Output(const std::filesystem::path& path, const MappedFile* source, bool append = false)
      : path_(path), source_(source) {
    or_fail([&] { file_.emplace(path, append); });
    buffer_.reserve(kBuffer);
  }

  // Claims the space of `size` more bytes, so that a full disk is found before the work.
  void reserve(uint64_t size) {
    or_fail([&] { file_->reserve(size); });
  }
  void put(const void* data, size_t size) {
    const std::string_view bytes(static_cast<const char*>(data), size);
    if (size >= kBuffer) {
      flush();
      or_fail([&] { file_->write(bytes); });
      return;
    }
    if (buffer_.size() + size > kBuffer) flush();
    buffer_ += bytes;
  }
  void put(const Tensor& t) {
    if (t.nbytes() >= kBuffer && put_from_source(t)) return;
    t.stream([&](const void* data, size_t size) { put(data, size); });
  }
  void zeros(size_t n) {
    static constexpr char zero[4096] = {};
    for (; n > 0; n -= std::min(n, sizeof zero)) put(zero, std::min(n, sizeof zero));
  }
  void finish() {
    flush();
    or_fail([&] { file_->finish(); });
  }

 private:
  static constexpr size_t kBuffer = 1 << 16;
  static constexpr size_t kMost = 1 << 30;  // copy_file_range(2) takes at most 2 GiB

  // By the kernel, from file to file: a file system that can shares the blocks. False where it
  // cannot, and nothing was written.
  bool put_from_source(const Tensor& t) {
    const auto place = place_in(source_, t);
    if (!place) return false;
    flush();
    auto from = static_cast<off_t>(*place);
    for (size_t left = t.nbytes(); left > 0;) {
      const ssize_t n = copy_file_range(source_->descriptor(), &from, file_->descriptor(), nullptr,
                                        std::min(left, kMost), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0 && left == t.nbytes()) return false;
      if (n < 0) fail(std::strerror(errno));
      if (n == 0) throw std::runtime_error("the model file became shorter while it was read");
      left -= static_cast<size_t>(n);
    }
    return true;
  }
  void flush() {
    or_fail([&] { file_->write(buffer_); });
    buffer_.clear();
  }
  template <class F>
  void or_fail(const F& write) const {
    try {
      write();
    } catch (const std::system_error& e) {
      fail(e.code().message());
    }
  }
  [[noreturn]] void fail(const std::string& why) const {
    // The folder is a private one, from which the file is moved to its place.
    throw Failure(ExitCode::Unwritable, "OE7001",
                  "cannot write '" + path_.filename().string() + "': " + why);
  }

  std::filesystem::path path_;
  const MappedFile* source_;
  std::string buffer_;
  std::optional<FileWriter> file_;
};

template <class F>
void for_each_tensor(const ir::Graph& g, const F& f) {
  for (const auto& n : g.nodes)
    for (const auto& [name, a] : n->attributes) {
      if (const auto* t = std::get_if<TensorPtr>(&a)) f(**t);
      if (const auto* sub = std::get_if<std::shared_ptr<ir::Graph>>(&a)) for_each_tensor(**sub, f);
    }
  for (const ir::Value* v : g.initializers) f(*v->data);
}

// The external file: which bytes at which offset. Tensors that share memory share their place.
struct DataFile {
  struct Place {
    const Tensor* data;
    uint64_t offset;
  };
  ExternalLayout layout;
  std::vector<Place> places;     // of what is to be written, by ascending offset
  uint64_t begin = 0, size = 0;  // of the file: before and after
  uint64_t bytes = 0;            // of this model's tensors

  // The tensors that stay where they are, and no file.
  static DataFile in_place(const ir::Model& m, const WriteOptions& o, const MappedFile* source) {
    DataFile f;
    f.layout.location = o.external_file;
    for_each_tensor(m.graph, [&](const Tensor& t) {
      if (t.dtype() == DType::String || t.nbytes() < threshold_of(o)) return;
      if (const auto place = place_in(source, t)) f.layout.offsets[&t] = *place;
    });
    return f;
  }

  // `shared`: what other models have put into the file at `path`; null: it is this one's alone.
  DataFile(const ir::Model& m, const WriteOptions& o, const SharedData* shared = nullptr,
           const std::filesystem::path& path = {}) {
    layout.location = o.external_file;
    if (shared) begin = size = shared->size();
    const uint64_t align = static_cast<uint64_t>(std::max<int64_t>(o.align, 1));
    const uint64_t threshold = threshold_of(o);
    std::map<std::pair<Tensor::Memory, size_t>, uint64_t> known;
    for_each_tensor(m.graph, [&](const Tensor& t) {
      if (t.dtype() == DType::String || t.nbytes() < threshold) return;
      const uint64_t next = (size + align - 1) / align * align;
      const auto [it, fresh] = known.try_emplace({t.memory(), t.nbytes()}, next);
      if (fresh) bytes += t.nbytes();
      const auto there = fresh && shared ? shared->find(t, path) : std::nullopt;
      if (there) it->second = *there;
      layout.offsets[&t] = it->second;
      if (!fresh || there) return;
      places.push_back({&t, next});
      size = next + t.nbytes();
    });
  }

 private:
  DataFile() = default;
  static uint64_t threshold_of(const WriteOptions& o) {
    return static_cast<uint64_t>(std::max<int64_t>(o.threshold, 1));
  }
};

// The name under which the model finds its data: that of the models that share it, else the plain
// one, else one made of the bytes.
std::string data_name(const DataFile& data, const WriteOptions& o, const SharedData* shared,
                      const DataName& name) {
  if (shared && !shared->name().empty()) return shared->name();
  if (std::ranges::find(name.taken, o.external_file) == name.taken.end()) return o.external_file;
  ByteHash hash;
  for (const DataFile::Place& p : data.places)
    p.data->stream([&](const void* bytes, size_t size) {
      hash.add({static_cast<const char*>(bytes), size});
    });
  return free_name(o.external_file, hash.value(), name.taken);
}

EncodeOptions encode_options(const WriteOptions& o) {
  EncodeOptions e;
  e.doc_strings = o.doc_strings;
  e.initializers_as_inputs = o.initializers_as_inputs;
  return e;
}

Rope encode_inline(const ir::Model& m, const WriteOptions& o) {
  return encode(m, encode_options(o));
}

[[noreturn]] void too_large(const std::string& why) {
  throw Failure(ExitCode::Limit, "OE7002", "the model would be larger than protobuf's 2 GiB" + why,
                "write weights to a separate file: --external-data=auto");
}

}  // namespace

bool needs_external(const ir::Model& m, const WriteOptions& o) {
  if (o.external == WriteOptions::External::Never) return false;
  if (o.external == WriteOptions::External::InPlace) return true;
  if (o.external == WriteOptions::External::Always) return !DataFile(m, o).places.empty();
  return encode_inline(m, o).size() > kProtobufLimit;
}

namespace {

// The tensors of `data`, each at its offset, behind what the file has.
void put_places(const DataFile& data, Output& out) {
  uint64_t at = data.begin;
  for (const DataFile::Place& p : data.places) {
    out.zeros(p.offset - at);
    out.put(*p.data);
    at = p.offset + p.data->nbytes();
  }
  out.finish();
}

void put_model(const Rope& model, Output& out) {
  size_t done = 0;
  for (const Rope::Splice& s : model.splices()) {
    out.put(model.small().data() + done, s.at - done);
    out.put(*s.data);
    done = s.at;
  }
  out.put(model.small().data() + done, model.small().size() - done);
  out.finish();
}

}  // namespace

WriteResult write(const ir::Model& m, const WriteOptions& o, const MappedFile* source,
                  const std::filesystem::path& model_path, const std::filesystem::path& data_path,
                  SharedData* shared, DataName* name) {
  DataName own;
  if (!name) name = &own;
  WriteResult result;
  Rope model;
  std::optional<DataFile> data;
  std::optional<Output> data_out;
  const bool in_place = o.external == WriteOptions::External::InPlace;
  const bool always = in_place || o.external == WriteOptions::External::Always;
  if (!always) model = encode_inline(m, o);
  if (always || model.size() > kProtobufLimit) {
    if (o.external == WriteOptions::External::Never) too_large("");
    const auto in_folder = [&](const std::string& name) {
      return name == o.external_file ? data_path : data_path.parent_path() / name;
    };
    data.emplace(in_place ? DataFile::in_place(m, o, source)
                          : DataFile(m, o, shared, shared ? in_folder(shared->name()) : data_path));
    result.external = data->bytes > 0;
    result.data_bytes = shared ? data->bytes : data->size;
    if (result.external) data->layout.location = data_name(*data, o, shared, *name);
    if (result.external || in_place) name->chosen = data->layout.location;
    EncodeOptions e = encode_options(o);
    e.external = &data->layout;
    model = encode(m, e);
    if (model.size() > kProtobufLimit)
      too_large(in_place ? " even without the weights that stay in the .pt"
                         : " even without its external data");
    if (shared && result.external) shared->set_name(name->chosen);
    if (!data->places.empty()) {
      data_out.emplace(in_folder(name->chosen), source, data->begin > 0);
      data_out->reserve(data->size - data->begin);
    }
  }
  Output out(model_path, source);
  out.reserve(model.size());
  if (data_out) {
    put_places(*data, *data_out);
    if (shared)
      for (const DataFile::Place& p : data->places) shared->written(*p.data, p.offset);
  }
  put_model(model, out);
  result.model_bytes = model.size();
  return result;
}

std::string write_bytes(const ir::Model& m, const WriteOptions& o) {
  const Rope model = encode_inline(m, o);
  if (model.size() > kProtobufLimit) too_large("");
  return model.flatten();
}

}  // namespace oe::onnx
