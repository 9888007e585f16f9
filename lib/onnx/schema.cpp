// ONNX operator schemas as plain data, converted one by one when they are first asked for.
#include "lib/onnx/schema.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "lib/onnx/proto.h"
#include "lib/onnx/registry.h"

namespace oe::onnx {
namespace {

Formal convert(const pb::OpSchema::FormalParameter& p) {
  Formal f;
  f.name = p.GetName();
  f.type = p.GetTypeStr();
  f.optional = p.GetOption() == pb::OpSchema::Optional;
  f.variadic = p.GetOption() == pb::OpSchema::Variadic;
  f.heterogeneous = f.variadic && !p.GetIsHomogeneous();
  return f;
}

std::unique_ptr<const Schema> convert(const pb::OpSchema& p) {
  auto s = std::make_unique<Schema>();
  s->domain = p.domain();
  s->name = p.Name();
  s->since_version = p.SinceVersion();
  s->deprecated = p.Deprecated();
  s->has_function_body = p.HasFunction() || p.HasContextDependentFunction();
  for (const auto& f : p.inputs()) s->inputs.push_back(convert(f));
  for (const auto& f : p.outputs()) s->outputs.push_back(convert(f));
  s->min_inputs = p.min_input();
  s->max_inputs = p.max_input();
  s->min_outputs = p.min_output();
  s->max_outputs = p.max_output();
  for (const auto& c : p.typeConstraintParams())
    s->constraints[c.type_param_str] = c.allowed_type_strs;
  for (const auto& [name, a] : p.attributes()) {
    SchemaAttribute attribute;
    attribute.name = name;
    attribute.required = a.required;
    attribute.has_default = !a.required && a.default_value.has_name();
    if (attribute.has_default) attribute.default_value = from_proto(a.default_value, nullptr);
    s->attributes.push_back(std::move(attribute));
  }
  std::sort(s->attributes.begin(), s->attributes.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return s;
}

// One operator's versions, oldest first.
struct Version {
  int64_t since;
  const pb::OpSchema* source;
  std::unique_ptr<const Schema> schema;  // made on first use
};
using Versions = std::vector<Version>;

struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};

class Cache {
 public:
  static Cache& instance() {
    static Cache cache;
    return cache;
  }

  const Schema* find(std::string_view domain, std::string_view op, int64_t opset) {
    std::lock_guard lock(mutex_);
    Versions& list = versions(domain, op);
    auto it = std::upper_bound(list.begin(), list.end(), opset,
                               [](int64_t o, const Version& v) { return o < v.since; });
    if (it == list.begin()) return nullptr;
    --it;
    if (!it->schema) it->schema = convert(*it->source);
    return it->schema.get();
  }

  std::vector<int64_t> since(std::string_view domain, std::string_view op) {
    std::lock_guard lock(mutex_);
    std::vector<int64_t> out;
    for (const Version& v : versions(domain, op)) out.push_back(v.since);
    return out;
  }

 private:
  Versions& versions(std::string_view domain, std::string_view op) {
    std::string composed;
    std::string_view key = op;
    if (!domain.empty() && domain != "ai.onnx") {
      composed.append(domain).append("::").append(op);
      key = composed;
    } else {
      domain = {};
    }
    if (auto it = operators_.find(key); it != operators_.end()) return it->second;
    Versions list;
    const std::string name(op), in_domain(domain);
    int top = static_cast<int>(newest_opset());
    while (const pb::OpSchema* s = registry().GetSchema(name, top, in_domain)) {
      list.push_back({s->SinceVersion(), s, nullptr});
      top = s->SinceVersion() - 1;
    }
    std::reverse(list.begin(), list.end());
    return operators_.emplace(std::string(key), std::move(list)).first->second;
  }

  std::mutex mutex_;
  std::unordered_map<std::string, Versions, Hash, std::equal_to<>> operators_;
};

}  // namespace

int64_t newest_opset() {
  return pb::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
}

int64_t newest_ir_version() { return pb::Version::IR_VERSION; }

int64_t ir_version_for_opset(int64_t opset) {
  // onnx/docs/Versioning.md: the IR version of the release that brought each opset. Index: opset.
  static constexpr std::array<int8_t, 29> table = {3, 3,  3,  3,  3,  3,  3,  3,  3, 4,
                                                   5, 6,  7,  7,  7,  8,  8,  8,  8, 9,
                                                   9, 10, 10, 11, 12, 13, 13, 13, 14};
  if (opset < 0 || opset >= static_cast<int64_t>(table.size())) return newest_ir_version();
  return table[static_cast<size_t>(opset)];
}

const SchemaAttribute* Schema::attribute(std::string_view wanted) const {
  for (const SchemaAttribute& a : attributes)
    if (a.name == wanted) return &a;
  return nullptr;
}

std::map<std::string_view, Binding> bindings(const Schema& s, const ir::Node& n) {
  std::map<std::string_view, Binding> out;
  const auto collect = [&](const std::vector<Formal>& formals,
                           const std::vector<ir::Value*>& values, bool inputs) {
    for (size_t i = 0; i < values.size() && !formals.empty(); ++i) {
      const Formal& f = formals[std::min(i, formals.size() - 1)];
      const ir::Value* v = values[i];
      const bool tensor =
          v && v->type.kind == ir::Type::Kind::Tensor && v->type.dtype != DType::Undefined;
      if (!tensor || (f.variadic && f.heterogeneous) || !s.constraints.contains(f.type)) continue;
      Binding& b = out[f.type];
      if (b.dtype == DType::Undefined) b.dtype = v->type.dtype;
      (inputs ? b.inputs : b.outputs).push_back(i);
    }
  };
  collect(s.inputs, n.inputs, true);
  collect(s.outputs, n.outputs, false);
  return out;
}

bool lists(const Schema& s, std::string_view variable, DType t) {
  const auto it = s.constraints.find(std::string(variable));
  return it == s.constraints.end() ||
         std::ranges::find(it->second, "tensor(" + std::string(oe::name(t)) + ")") !=
             it->second.end();
}

int64_t first_listing(std::string_view op, std::string_view variable, DType t, int64_t opset) {
  for (const int64_t v : versions("", op))
    if (const Schema* newer = v > opset ? find_schema("", op, v) : nullptr;
        newer && lists(*newer, variable, t))
      return v;
  return 0;
}

const Schema* find_schema(std::string_view domain, std::string_view op, int64_t opset) {
  return Cache::instance().find(domain, op, opset);
}

std::vector<std::string> operators(int64_t opset) {
  registry();
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const pb::OpSchema& s : pb::OpSchemaRegistry::get_all_schemas())
      if (s.domain().empty()) names.push_back(s.Name());
    std::sort(names.begin(), names.end());
    return names;
  }();
  std::vector<std::string> out;
  for (const std::string& name : all)
    if (const Schema* s = find_schema("", name, opset); s && !s->deprecated) out.push_back(name);
  return out;
}

std::vector<int64_t> versions(std::string_view domain, std::string_view op) {
  return Cache::instance().since(domain, op);
}

}  // namespace oe::onnx
