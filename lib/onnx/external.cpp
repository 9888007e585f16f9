// External data: where it lies, what may not be opened, and models whose data was moved inside.
#include "lib/onnx/external.h"

#include <sys/stat.h>

#include <charconv>
#include <set>
#include <stdexcept>
#include <system_error>

#include "lib/onnx/model_file.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::onnx {
namespace {

namespace fs = std::filesystem;

// Bytes that may be moved into a model: its nested graphs rarely have weights of their own.
constexpr uint64_t kInsideAtMost = uint64_t{1} << 30;

// Names in it may hold anything.
[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(safe_line(what)); }
[[noreturn]] void fail(const pb::TensorProto& t, const std::string& what) {
  fail("tensor '" + t.name() + "': " + what);
}

// No part of the way from `folder` may be a link: the file would be another than the model's author
// sent.
void refuse_links(const fs::path& folder, const std::string& location) {
  fs::path at = folder;
  for (const fs::path& part : fs::path(location)) {
    at /= part;
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(at, error)))
      fail("external data '" + location + "' is a symbolic link, which is not followed");
  }
}

class Mover {
 public:
  Mover(ExternalFiles& files, const Stays& stays) : files_(files), stays_(stays) {}

  void graph(pb::GraphProto& g) {
    for (auto& t : *g.mutable_initializer()) tensor(t);
    for (auto& t : *g.mutable_sparse_initializer()) sparse(t);
    for (auto& n : *g.mutable_node()) node(n);
  }
  void node(pb::NodeProto& n) {
    for (auto& a : *n.mutable_attribute()) {
      if (a.has_t()) tensor(*a.mutable_t());
      for (auto& t : *a.mutable_tensors()) tensor(t);
      if (a.has_sparse_tensor()) sparse(*a.mutable_sparse_tensor());
      for (auto& t : *a.mutable_sparse_tensors()) sparse(t);
      if (a.has_g()) graph(*a.mutable_g());
      for (auto& g : *a.mutable_graphs()) graph(g);
    }
  }
  size_t moved() const { return moved_; }

 private:
  void sparse(pb::SparseTensorProto& t) {
    tensor(*t.mutable_values());
    tensor(*t.mutable_indices());
  }
  void tensor(pb::TensorProto& t) {
    if (t.data_location() != pb::TensorProto::EXTERNAL || stays_(t)) return;
    const std::string_view bytes = files_.bytes(t);
    total_ += bytes.size();
    if (total_ > kInsideAtMost)
      throw Failure(ExitCode::Limit, "OE3004",
                    "tensor '" + t.name() +
                        "': nested graphs and attributes have more than 1 GiB "
                        "of external data",
                    "move the weights to the outermost graph");
    t.set_raw_data(bytes.data(), bytes.size());
    t.clear_external_data();
    t.clear_data_location();
    ++moved_;
  }

  ExternalFiles& files_;
  const Stays& stays_;
  uint64_t total_ = 0;
  size_t moved_ = 0;
};

}  // namespace

ExternalPlace external_place(const pb::TensorProto& t) {
  ExternalPlace place;
  const auto number = [&](const std::string& s) {
    uint64_t v = 0;
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (error != std::errc() || end != s.data() + s.size())
      fail(t, "malformed external data entry");
    return v;
  };
  for (const auto& e : t.external_data()) {
    if (e.key() == "location") place.location = e.value();
    if (e.key() == "offset") place.offset = number(e.value());
    if (e.key() == "length") place.length = number(e.value());
  }
  const fs::path relative(place.location);
  bool inside = !place.location.empty() && relative.is_relative() &&
                place.location.find('\0') == std::string::npos;
  for (const auto& part : relative) inside = inside && part != "..";
  if (!inside) fail(t, "external data outside the model's folder");
  return place;
}

std::optional<uint64_t> data_file_size(const fs::path& folder, const std::string& location) {
  refuse_links(folder, location);
  struct stat s {};
  if (lstat((folder / location).c_str(), &s) != 0) return std::nullopt;
  if (!S_ISREG(s.st_mode)) fail("external data '" + location + "' is not a regular file");
  return static_cast<uint64_t>(s.st_size);
}

std::shared_ptr<MappedFile> ExternalFiles::file(const std::string& location) {
  if (const auto it = files_.find(location); it != files_.end()) return it->second;
  const auto known = elsewhere_.find(location);
  if (known == elsewhere_.end()) refuse_links(folder_, location);
  const fs::path path = known == elsewhere_.end() ? folder_ / location : known->second;
  try {
    const File file(path);
    // A link that was made meanwhile leads to another file than the one that was looked at.
    struct stat opened {
    }, named{};
    if (known == elsewhere_.end() &&
        (fstat(file.descriptor(), &opened) != 0 || lstat(path.c_str(), &named) != 0 ||
         opened.st_ino != named.st_ino || opened.st_dev != named.st_dev))
      fail("external data '" + location + "' was replaced while it was opened");
    return files_[location] = std::make_shared<MappedFile>(file);
  } catch (const std::system_error& e) {
    throw Failure(ExitCode::Unreadable, "OE3001",
                  safe_line("cannot read '" + path.string() + "': " + e.code().message()));
  }
}

std::string_view ExternalFiles::bytes(const pb::TensorProto& t) {
  const ExternalPlace place = external_place(t);
  const std::shared_ptr<MappedFile> mapped = file(place.location);
  const std::optional<uint64_t> known = tensor_bytes(t);
  // Types of less than a byte have no size here.
  const bool packed = byte_size(static_cast<DType>(t.data_type())) == 0;
  const std::optional<uint64_t> wanted = packed ? place.length : known;
  if (!wanted) fail(t, "external data of impossible dims or type");
  if ((place.length && *place.length != *wanted) || place.offset > mapped->size() ||
      *wanted > mapped->size() - place.offset)
    fail(t, "'" + place.location + "' is too short");
  return {mapped->data() + place.offset, *wanted};
}

TensorPtr ExternalFiles::tensor(const pb::TensorProto& t) {
  const std::string_view data = bytes(t);
  std::vector<int64_t> dims(t.dims().begin(), t.dims().end());
  const auto dtype = static_cast<DType>(t.data_type());
  if (reinterpret_cast<uintptr_t>(data.data()) % byte_size(dtype) !=
      0)  // a foreign, unaligned file
    return Tensor::from_bytes(dtype, std::move(dims), data.data(), data.size());
  return std::make_shared<Tensor>(dtype, std::move(dims), data.data(),
                                  file(external_place(t).location));
}

size_t move_inside(pb::GraphProto& g, ExternalFiles& files, const Stays& stays) {
  Mover mover(files, stays);
  mover.graph(g);
  return mover.moved();
}

size_t move_inside(pb::ModelProto& m, ExternalFiles& files, const Stays& stays) {
  Mover mover(files, stays);
  mover.graph(*m.mutable_graph());
  for (auto& f : *m.mutable_functions())
    for (auto& n : *f.mutable_node()) mover.node(n);
  return mover.moved();
}

InMemory map_model(const ModelFile& file) try {
  InMemory out;
  const std::shared_ptr<const MappedFile> mapped = map_file(file.path);
  out.model = {mapped->data(), mapped->size()};
  out.owners.push_back(mapped);
  // The key of every external datum. A model without it need not be parsed, which copies weights.
  if (out.model.find("location") == std::string_view::npos) return out;
  const auto proto = parse_model(out.model, "'" + file.path.string() + "'");
  ExternalFiles files(file);
  // A runtime finds those of the outermost graph in the files that it is given.
  std::set<const pb::TensorProto*> outermost;
  const auto found = [&](const pb::TensorProto& t) {
    if (t.data_location() != pb::TensorProto::EXTERNAL) return;
    files.bytes(t);  // all of it is there
    outermost.insert(&t);
  };
  for (const auto& t : proto->graph().initializer()) found(t);
  for (const auto& n : proto->graph().node())
    for (const auto& a : n.attribute())
      if (n.op_type() == "Constant" && a.name() == "value" && a.has_t()) found(a.t());
  const size_t moved =
      move_inside(*proto, files, [&](const auto& t) { return outermost.contains(&t); });
  if (moved > 0) {
    const auto bytes = std::make_shared<const std::string>(proto->SerializeAsString());
    out.model = *bytes;
    out.owners = {bytes};
  }
  for (const auto& [location, data] : files.files()) {
    out.files.push_back({location, data->data(), data->size()});
    out.owners.push_back(data);
  }
  return out;
} catch (const Failure&) {
  throw;
} catch (const std::exception& e) {
  throw Failure(ExitCode::Unreadable, "OE3003",
                safe_line("'" + file.path.string() + "': " + e.what()));
}

}  // namespace oe::onnx
