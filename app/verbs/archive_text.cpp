// What a TorchScript archive holds, for people and as JSON.
#include "app/verbs/archive_text.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "app/verbs/module_tree.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

using archive::Summary;

// Namespaces of operators and classes that every LibTorch has.
bool is_own(const std::string& space) {
  static const std::set<std::string> own = {
      "aten", "prim",   "prims",   "quantized", "prepacked", "mkldnn",    "onednn",
      "mkl",  "sparse", "xnnpack", "rnn",       "profiler",  "_quantized"};
  return own.contains(space);
}

Strings foreign_operators(const Summary& s) {
  Strings names;
  for (const auto& [name, count] : s.operators)
    if (!is_own(name.substr(0, name.find(':')))) names.push_back(name);
  return names;
}

Strings foreign_classes(const Summary& s) {
  constexpr size_t before = std::string_view("__torch__.torch.classes.").size();
  Strings names;
  for (const std::string& name : s.classes) {
    const std::string own = name.substr(before);
    if (!is_own(own.substr(0, own.find('.')))) names.push_back(own);
  }
  return names;
}

std::string signature(const Summary::Method& m) {
  Strings arguments;
  for (const Summary::Argument& a : m.arguments) arguments.push_back(a.name + ": " + a.type);
  return m.name + "(" + join(arguments, ", ") + ")" + (m.result.empty() ? "" : " -> " + m.result);
}

struct Total {
  size_t tensors = 0;
  uint64_t bytes = 0;
  std::map<std::string, size_t> types;  // tensors of each
};

constexpr std::pair<Summary::Kind, const char*> kKinds[] = {
    {Summary::Kind::Parameter, "parameters"},
    {Summary::Kind::Buffer, "buffers"},
    {Summary::Kind::Attribute, "attributes"}};

Total total_of(const Summary& s, Summary::Kind kind) {
  Total t;
  for (const Summary::Tensor& x : s.tensors) {
    if (x.kind != kind) continue;
    ++t.tensors;
    t.bytes += x.bytes;
    ++t.types[x.type];
  }
  return t;
}

Strings tensor_lines(const Summary& s, Summary::Kind kind, bool every_tensor) {
  const Total t = total_of(s, kind);
  if (t.tensors == 0) return {};
  Strings types;
  for (const auto& [type, count] : t.types)
    types.push_back(type + (t.types.size() > 1 ? " " + std::to_string(count) : ""));
  Strings lines = {plural(t.tensors, "tensor") + ", " + human_bytes(t.bytes) + ", " +
                   join(types, ", ")};
  if (!every_tensor) return lines;
  size_t width = 0;
  for (const Summary::Tensor& x : s.tensors)
    if (x.kind == kind) width = std::max(width, x.path.size());
  for (const Summary::Tensor& x : s.tensors)
    if (x.kind == kind)
      lines.push_back("  " + x.path + std::string(width - x.path.size() + 2, ' ') + x.type +
                      sizes_text(x.sizes) + "  " + human_bytes(x.bytes));
  return lines;
}

// "all in eval mode", "in train mode: 2 (block, block.bn)".
std::string training_text(const Summary& s) {
  Strings train;
  size_t eval = 0, silent = 0;
  for (const Summary::Module& m : s.modules) {
    if (!m.training)
      ++silent;
    else if (*m.training)
      train.push_back(m.path.empty() ? "the whole" : m.path);
    else
      ++eval;
  }
  constexpr size_t shown = 4;
  if (train.empty()) return silent == 0 ? "all in eval mode" : eval ? "none in train mode" : "";
  if (eval == 0 && silent == 0) return "all in train mode";
  const size_t count = train.size();
  if (count > shown) train.resize(shown);
  return std::to_string(count) + " in train mode (" + join(train, ", ") +
         (count > shown ? ", ...)" : ")");
}

std::string head(const archive::Archive& a, const Summary& s) {
  std::string text =
      safe_line(a.path().string()) + ": TorchScript, format version " + std::to_string(s.version);
  if (!s.writer.empty()) text += " of " + safe_line(s.writer);
  return text + ", " + human_bytes(a.file().size()) + "\n";
}

}  // namespace

std::string sizes_text(const std::vector<int64_t>& sizes) {
  Strings texts;
  for (const int64_t n : sizes) texts.push_back(std::to_string(n));
  return "[" + join(texts, ",") + "]";
}

std::string labelled(const std::string& label, const Strings& lines) {
  constexpr size_t width = 12;
  std::string text;
  for (const std::string& line : lines) {
    const std::string before = text.empty() ? label : "";
    text += before + std::string(width - std::min(width - 1, before.size()), ' ') +
            safe_line(line) + "\n";
  }
  return text;
}

Strings counted(const std::map<std::string, size_t>& counts) {
  std::vector<std::pair<std::string, size_t>> all(counts.begin(), counts.end());
  std::ranges::stable_sort(all, std::greater(), &std::pair<std::string, size_t>::second);
  const size_t width = all.empty() ? 0 : std::to_string(all[0].second).size();
  Strings lines;
  for (const auto& [name, count] : all) {
    const std::string number = std::to_string(count);
    lines.push_back(std::string(width - number.size(), ' ') + number + "  " + name);
  }
  return lines;
}

std::string archive_text(const archive::Archive& a, const Summary& s, bool every_tensor) {
  Strings methods;
  for (const Summary::Method& m : s.methods) methods.push_back(signature(m));
  const std::string training = training_text(s);
  Strings modules = {std::to_string(s.modules.size()) + (training.empty() ? "" : ", " + training)};
  for (const std::string& line : module_tree(s.modules)) modules.push_back(line);
  std::string text = head(a, s) + labelled("methods", methods) + labelled("modules", modules);
  for (const auto& [kind, name] : kKinds)
    text += labelled(name, tensor_lines(s, kind, every_tensor));
  return text +
         labelled("devices", s.devices.empty()
                                 ? Strings{}
                                 : Strings{join({s.devices.begin(), s.devices.end()}, ", ")}) +
         labelled("operators", counted(s.operators)) +
         labelled("custom ops", foreign_operators(s)) + labelled("classes", foreign_classes(s)) +
         labelled("extra files", s.extra);
}

ordered_json archive_json(const archive::Archive& a, const Summary& s) {
  ordered_json methods = ordered_json::array(), modules = methods, tensors = methods;
  for (const Summary::Method& m : s.methods) {
    ordered_json arguments = ordered_json::array();
    for (const Summary::Argument& x : m.arguments)
      arguments.push_back({{"name", x.name}, {"type", x.type}});
    methods.push_back({{"name", m.name}, {"arguments", arguments}, {"result", m.result}});
  }
  for (const Summary::Module& m : s.modules)
    modules.push_back({{"path", m.path},
                       {"type", m.type},
                       {"training", m.training ? ordered_json(*m.training) : ordered_json()}});
  constexpr const char* kinds[] = {"parameter", "buffer", "attribute"};
  for (const Summary::Tensor& t : s.tensors)
    tensors.push_back({{"path", t.path},
                       {"kind", kinds[static_cast<size_t>(t.kind)]},
                       {"type", t.type},
                       {"sizes", t.sizes},
                       {"bytes", t.bytes},
                       {"record", t.storage},
                       {"device", t.device}});
  ordered_json totals = ordered_json::object(), operators = totals;
  for (const auto& [kind, name] : kKinds) {
    const Total t = total_of(s, kind);
    totals[name] = {{"tensors", t.tensors}, {"bytes", t.bytes}, {"types", t.types}};
  }
  for (const auto& [name, count] : s.operators) operators[name] = count;
  return {{"file", a.path().string()},
          {"kind", "torchscript"},
          {"bytes", a.file().size()},
          {"format_version", s.version},
          {"writer", s.writer},
          {"methods", methods},
          {"inputs", nullptr},
          {"modules", modules},
          {"totals", totals},
          {"tensors", tensors},
          {"tensor_bytes", s.tensor_bytes},
          {"devices", s.devices},
          {"operators", operators},
          {"custom_operators", foreign_operators(s)},
          {"custom_classes", foreign_classes(s)},
          {"extra_files", s.extra}};
}

}  // namespace oe::app
