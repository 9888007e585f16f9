// Every file named is loaded by lib/torch and by LibTorch's own loader, which have to agree in
// everything that a module is: code with the author's lines, slots, values and their bytes; and
// with them what lib/archive tells of the file.
//
//   load_tests FILE...
//   load_tests --time ours|theirs FILE     (seconds and peak memory of loading it, MiB)
//
// What LibTorch's loader refuses is not compared: `N passed, N failed, N skipped`.
#include <sys/resource.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <chrono>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "lib/archive/archive.h"
#include "lib/archive/summary.h"
#include "lib/torch/load.h"
#include "lib/torch/script_archive.h"

using namespace oe;

namespace {

// Everything there is to say of a module, as text.
class Printer {
 public:
  std::string print(const torch::jit::Module& m) {
    value(m._ivalue());
    for (torch::jit::Function* f : m._ivalue()->compilation_unit()->get_functions()) function(*f);
    for (const auto& [name, text] : functions_) out_ << name << "\n" << text;
    static const std::regex address("0x[0-9a-f]+|warn_id=[0-9]+");  // differ from run to run
    return std::regex_replace(out_.str(), address, "");
  }

 private:
  void function(torch::jit::Function& f) {
    auto* g = torch::jit::tryToGraphFunction(f);
    std::ostringstream text;
    text << f.getSchema() << "\n";
    if (g) text << g->graph()->toString(/*print_source_locations=*/true);
    functions_[f.qualname().qualifiedName()] = text.str();
  }

  void tensor(const at::Tensor& t) {
    out_ << t.toString() << t.sizes() << t.strides() << t.storage_offset() << t.requires_grad()
         << t.layout() << t.device();
    if (t.layout() != at::kStrided) return tensor_list({t._indices(), t._values()});
    if (!t.has_storage() || !t.storage().data()) return void(out_ << " no data");
    const auto [it, fresh] =
        storages_.emplace(t.storage().unsafeGetStorageImpl(), storages_.size());
    out_ << " storage " << it->second;
    if (!fresh) return;
    size_t hash = 0;
    const auto* bytes = static_cast<const char*>(t.storage().data());
    hash = std::hash<std::string_view>()({bytes, t.storage().nbytes()});
    out_ << " of " << t.storage().nbytes() << " bytes " << hash;
  }
  void tensor_list(const std::vector<at::Tensor>& tensors) {
    for (const at::Tensor& t : tensors) tensor(t);
  }

  void value(const c10::IValue& v) {
    out_ << v.tagKind() << " ";
    if (v.isTensor()) {
      if (v.toTensor().defined()) tensor(v.toTensor());
    } else if (v.isObject()) {
      object(*v.toObject());
    } else if (v.isList() || v.isTuple()) {
      out_ << v.type()->repr_str() << "[";
      const auto items = v.isTuple() ? v.toTupleRef().elements().vec() : v.toListRef().vec();
      for (const c10::IValue& item : items) value(item);
      out_ << "]";
    } else if (v.isGenericDict()) {
      out_ << v.type()->repr_str() << "{";
      for (const auto& entry : v.toGenericDict()) {
        value(entry.key());
        value(entry.value());
      }
      out_ << "}";
    } else if (!v.isCapsule()) {
      out_ << v;
    }
    out_ << "\n";
  }

  void object(const c10::ivalue::Object& o) {
    const auto [it, fresh] = objects_.emplace(&o, objects_.size());
    out_ << o.type()->repr_str() << " #" << it->second << "\n";
    if (!fresh) return;
    for (size_t i = 0; i < o.type()->numAttributes(); ++i) {
      out_ << o.type()->getAttributeName(i) << ": " << o.type()->getAttribute(i)->repr_str()
           << (o.type()->is_parameter(i) ? " parameter " : " ")
           << (o.type()->is_buffer(i) ? "buffer = " : "= ");
      value(o.getSlot(i));
    }
  }

  std::ostringstream out_;
  std::map<std::string, std::string> functions_;
  std::map<const void*, size_t> storages_, objects_;
};

std::string first_difference(const std::string& ours, const std::string& theirs) {
  std::istringstream a(ours), b(theirs);
  std::string x, y;
  while (std::getline(a, x) && std::getline(b, y))
    if (x != y) return "  ours:   " + x + "\n  theirs: " + y + "\n";
  return "  one of the two ends early\n";
}

// Where what the archive says of itself without LibTorch is not what the module is; empty: nowhere.
std::string summary_difference(const archive::Archive& archive, const torch::jit::Module& m) {
  const archive::Summary s = archive::summarise(archive);
  std::set<std::string> methods;
  for (const auto& method : s.methods) methods.insert(method.name);
  for (const auto& method : m.get_methods())
    if (!methods.contains(method.name())) return "  no method " + method.name() + "\n";
  std::map<std::string, const archive::Summary::Tensor*> told;
  for (const auto& t : s.tensors) told[t.path] = &t;
  const auto check = [&](const std::string& path, const at::Tensor& t,
                         archive::Summary::Kind kind) {
    const auto it = told.find(path);
    // A module that is there twice is told where it comes first.
    return it == told.end() || (it->second->sizes == t.sizes().vec() && it->second->kind == kind);
  };
  size_t known = 0;
  for (const auto& p : m.named_parameters()) {
    if (!check(p.name, p.value, archive::Summary::Kind::Parameter))
      return "  another parameter " + p.name + "\n";
    known += told.contains(p.name) ? 1 : 0;
  }
  for (const auto& b : m.named_buffers())
    if (!check(b.name, b.value, archive::Summary::Kind::Buffer))
      return "  another buffer " + b.name + "\n";
  if (known * 2 < m.named_parameters().size()) return "  most parameters are missing\n";
  return "";
}

int time_one(const std::string& loader, const char* file) {
  const auto resident = [] {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return static_cast<double>(u.ru_maxrss) / 1024;
  };
  const double before = resident();
  const auto start = std::chrono::steady_clock::now();
  torch::jit::Module m;
  if (loader == "ours") {
    const archive::Archive archive(file);
    m = torch_io::ScriptArchive(archive).module();
  } else {
    m = torch::jit::load(file, c10::Device(c10::kCPU));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << seconds.count() << " s, " << resident() - before << " MiB\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  torch_io::register_stub_operators();
  if (argc == 4 && std::string(argv[1]) == "--time") return time_one(argv[2], argv[3]);
  int passed = 0, failed = 0, skipped = 0;
  for (int i = 1; i < argc; ++i) {
    std::string theirs;
    try {
      theirs = Printer().print(torch::jit::load(argv[i], c10::Device(c10::kCPU)));
    } catch (const std::exception&) {
      ++skipped;
      continue;
    }
    try {
      const archive::Archive archive(argv[i]);
      const torch::jit::Module module = torch_io::ScriptArchive(archive).module();
      const std::string ours = Printer().print(module);
      const std::string told = summary_difference(archive, module);
      if (ours == theirs && told.empty()) {
        ++passed;
        continue;
      }
      std::cout << argv[i] << " differs\n"
                << (ours == theirs ? told : first_difference(ours, theirs));
    } catch (const std::exception& e) {
      std::cout << argv[i] << ": " << e.what() << "\n";
    }
    ++failed;
  }
  std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped\n";
  return failed ? 1 : 0;
}
