// The tree of a method's arguments: which SPEC, saved value or default fills which place.
#include "lib/torch/input_tree.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/function.h>
#include <ATen/core/function_schema.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lib/support/text.h"
#include "lib/torch/values.h"

namespace oe::torch_io {
namespace {

// Builds the tree, and afterwards the values, out of the specs.
class Tree {
 public:
  Tree(const InputOptions& o, const Loaded& m, ExampleFiles& files, std::vector<InputSpec>& specs)
      : o_(o),
        schema_(m.module.get_method(m.method).function().getSchema()),
        files_(files),
        specs_(specs) {
    specs_ = o.specs;
    share_symbol_sizes();
    const std::vector<std::optional<c10::IValue>> given = given_arguments(m);
    for (size_t i = 1; i < schema_.arguments().size(); ++i) {
      const c10::Argument& a = schema_.arguments()[i];
      Slot s = slot(a.type(), a.name(), given[i - 1]);
      if (!s.known && a.default_value() && !s.spec && !specs_below(s.path)) {
        s = {};
        s.path = a.name();
        s.type = a.type();
        s.known = *a.default_value();
        s.is_default = true;
      }
      slots_.push_back(std::move(s));
    }
    refuse_unknown_names();
    assign_positional();
    refuse_unknown_constants();
  }

  ExampleInputs build() {
    ExampleInputs e;
    e.options = o_;
    for (size_t i = 0; i < slots_.size(); ++i) {
      argument_ = i;
      place_ = 0;
      e.arguments.push_back(value(slots_[i], e.leaves));
    }
    if (!missing_.empty())
      usage_error("OE0203",
                  "no example for input" + std::string(missing_.size() == 1 ? " " : "s ") +
                      join(missing_, ", ") + ": the file does not specify " +
                      (missing_.size() == 1 ? "its shape" : "their shapes"),
                  "add --input " + first_missing_ +
                      ":1x3x224x224 (name, sizes, and optionally a type such as @i64), or "
                      "--inputs FILE.pt for all");
    return e;
  }

  const std::vector<InputSpec>& leaf_specs() const { return leaf_specs_; }
  std::vector<Slot> slots() && { return std::move(slots_); }

 private:
  // x:batch=2x3 y:batchx4: the size is said once.
  void share_symbol_sizes() {
    std::map<std::string, int64_t> sizes;
    for (const InputSpec& s : specs_)
      for (const DimSpec& d : s.shape.value_or(std::vector<DimSpec>{}))
        if (!d.symbol.empty() && d.size) sizes.emplace(d.symbol, *d.size);
    for (InputSpec& s : specs_)
      if (s.shape)
        for (DimSpec& d : *s.shape)
          if (!d.size && sizes.contains(d.symbol)) d.size = sizes[d.symbol];
  }

  std::vector<std::optional<c10::IValue>> given_arguments(const Loaded& m) const {
    const size_t count = schema_.arguments().size() - 1;
    std::vector<std::optional<c10::IValue>> given(count);
    if (!o_.file.empty()) {
      fill_from_file(files_.saved(o_.file), given);
    } else if (m.traced_inputs.size() == count) {
      try {
        for (size_t i = 0; i < count; ++i)
          given[i] = retype(m.traced_inputs[i], schema_.arguments()[i + 1].type(), "");
      } catch (const Failure&) {
        given.assign(count, std::nullopt);  // a trace of something else: the user has to say
      }
    }
    return given;
  }

  void fill_from_file(const c10::IValue& v, std::vector<std::optional<c10::IValue>>& given) const {
    const auto& arguments = schema_.arguments();
    const auto typed = [&](const c10::IValue& x, size_t i) {
      return retype(x, arguments[i + 1].type(), arguments[i + 1].name());
    };
    if (v.isGenericDict() && names_arguments(v.toGenericDict())) {
      for (const auto& entry : v.toGenericDict()) {
        const int index = schema_.argumentIndexWithName(entry.key().toStringRef()).value();
        given[static_cast<size_t>(index) - 1] =
            typed(entry.value(), static_cast<size_t>(index) - 1);
      }
      return;
    }
    std::vector<c10::IValue> positional = {v};
    if (v.isTuple()) positional = v.toTupleRef().elements().vec();
    // A saved list is the arguments too, unless the model takes just that list.
    else if (v.isList() && !(given.size() == 1 && strip_optional(arguments[1].type())->kind() ==
                                                      c10::TypeKind::ListType))
      positional = v.toListRef().vec();
    if (positional.size() > given.size())
      usage_error("OE0201",
                  takes() + "; " + o_.file + " holds " + std::to_string(positional.size()));
    for (size_t i = 0; i < positional.size(); ++i) given[i] = typed(positional[i], i);
  }

  bool names_arguments(const c10::impl::GenericDict& dict) const {
    size_t known = 0;
    std::string unknown;
    for (const auto& entry : dict) {
      if (entry.key().isString() && schema_.argumentIndexWithName(entry.key().toStringRef()))
        ++known;
      else if (entry.key().isString())
        unknown = entry.key().toStringRef();
    }
    const bool takes_dict =
        schema_.arguments().size() > 1 &&
        strip_optional(schema_.arguments()[1].type())->kind() == c10::TypeKind::DictType;
    if (known == dict.size()) return true;
    if (takes_dict && known == 0) return false;
    usage_error("OE0202", o_.file + ": the model has no input '" + unknown + "'",
                nearest_or_list(unknown));
  }

  std::vector<std::string> argument_names() const {
    std::vector<std::string> names;
    for (size_t i = 1; i < schema_.arguments().size(); ++i)
      names.push_back(schema_.arguments()[i].name());
    return names;
  }
  std::string nearest_or_list(const std::string& name) const {
    const std::string hint = did_you_mean(name, argument_names());
    if (!hint.empty()) return hint;
    return argument_names().empty() ? "it takes none" : "it has " + join(argument_names(), ", ");
  }
  std::string takes() const {
    const size_t n = argument_names().size();
    return "the model takes " + (n == 0 ? "no input" : plural(n, "input")) +
           (n == 0 ? "" : " (" + join(argument_names(), ", ") + ")");
  }

  const InputSpec* spec_named(const std::string& path) {
    const InputSpec* found = nullptr;
    for (const InputSpec& s : specs_) {
      if (s.name != path || path.empty()) continue;
      if (found) usage_error("OE0204", "input '" + path + "' is given twice");
      found = &s;
    }
    if (found) used_.insert(found);
    return found;
  }
  bool specs_below(const std::string& path) const {
    return std::any_of(specs_.begin(), specs_.end(),
                       [&](const InputSpec& s) { return s.name.starts_with(path + "."); });
  }
  // First path components below `path` that specs name, in their order: keys or indices.
  std::vector<std::string> names_below(const std::string& path) const {
    std::vector<std::string> names;
    for (const InputSpec& s : specs_) {
      if (!s.name.starts_with(path + ".")) continue;
      const std::string rest = s.name.substr(path.size() + 1);
      std::string name = rest.substr(0, rest.find('.'));
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));
    }
    return names;
  }

  Slot slot(const c10::TypePtr& declared, const std::string& path,
            std::optional<c10::IValue> known) {
    Slot s;
    s.path = path;
    s.type = declared;
    s.known = std::move(known);
    s.spec = spec_named(path);
    const c10::TypePtr type = strip_optional(declared);
    const bool container = type->kind() == c10::TypeKind::TupleType ||
                           type->kind() == c10::TypeKind::ListType ||
                           type->kind() == c10::TypeKind::DictType;
    if (!container) return s;
    if (s.spec) {  // boxes=@boxes.pt, sizes=[2,3]: the whole container at once
      s.known =
          make_value(*s.spec, declared, s.known.value_or(c10::IValue()), path, o_.seed, files_);
      s.spec = nullptr;
    }
    if (s.known && s.known->isNone() && !specs_below(path)) return s;
    if (declared->kind() == c10::TypeKind::OptionalType && !s.known && !specs_below(path)) return s;
    if (type->kind() == c10::TypeKind::TupleType)
      fill_tuple(s, type->expectRef<c10::TupleType>());
    else if (type->kind() == c10::TypeKind::ListType)
      fill_list(s, type->expectRef<c10::ListType>().getElementType());
    else
      fill_dict(s, type->expectRef<c10::DictType>());
    return s;
  }

  void fill_tuple(Slot& s, const c10::TupleType& type) {
    s.kind = Slot::Kind::Tuple;
    const auto names = type.names();
    for (size_t i = 0; i < type.elements().size(); ++i) {
      std::optional<c10::IValue> known;
      if (s.known && s.known->isTuple()) known = s.known->toTupleRef().elements()[i];
      const std::string name = names ? std::string((*names)[i]) : std::to_string(i);
      s.children.push_back(slot(type.elements()[i], s.path + "." + name, std::move(known)));
    }
  }

  void fill_list(Slot& s, const c10::TypePtr& element) {
    s.kind = Slot::Kind::List;
    size_t count = s.known && s.known->isList() ? s.known->toListRef().size() : 0;
    for (const std::string& name : names_below(s.path)) {
      if (name.empty() || name.size() > 4 ||
          name.find_first_not_of("0123456789") != std::string::npos)
        usage_error("OE0202",
                    "input '" + s.path + "' is a list: '" + name + "' is not an index of it",
                    "name its elements " + s.path + ".0, " + s.path + ".1, ...");
      count = std::max<size_t>(count, std::stoul(name) + 1);
    }
    s.open = count == 0 && !s.known;
    for (size_t i = 0; i < count; ++i) {
      std::optional<c10::IValue> known;
      if (s.known && i < s.known->toListRef().size()) known = s.known->toListRef()[i];
      s.children.push_back(slot(element, s.path + "." + std::to_string(i), std::move(known)));
    }
  }

  void fill_dict(Slot& s, const c10::DictType& type) {
    s.kind = Slot::Kind::Dict;
    s.open = !s.known && !specs_below(s.path);
    std::set<std::string> present;
    const auto add = [&](c10::IValue key, std::optional<c10::IValue> known) {
      const std::string name = key.isString() ? key.toStringRef() : std::to_string(key.toInt());
      if (!present.insert(name).second) return;
      s.children.push_back(slot(type.getValueType(), s.path + "." + name, std::move(known)));
      s.keys.push_back(std::move(key));
    };
    if (s.known)
      for (const auto& entry : s.known->toGenericDict()) add(entry.key(), entry.value());
    for (const std::string& name : names_below(s.path)) {
      if (type.getKeyType()->kind() == c10::TypeKind::IntType)
        add(static_cast<int64_t>(std::strtoll(name.c_str(), nullptr, 10)), std::nullopt);
      else
        add(name, std::nullopt);
    }
  }

  static void leaves_of(Slot& s, std::vector<Slot*>& out) {
    if (s.kind == Slot::Kind::Leaf) out.push_back(&s);
    for (Slot& c : s.children) leaves_of(c, out);
  }

  // Specs without a name go to the leaves in order, past those that are named. A folder of
  // --inputs-from with a file for each leaf has its file for those, too, and it does not count.
  void assign_positional() {
    std::vector<InputSpec*> positional;
    for (InputSpec& s : specs_)
      if (s.name.empty()) positional.push_back(&s);
    if (positional.empty()) return;
    open_list(positional.size());
    std::vector<Slot*> leaves;
    for (Slot& s : slots_) leaves_of(s, leaves);
    const bool all_filed = !o_.folder.empty() && positional.size() == leaves.size();
    for (size_t i = leaves.size(); all_filed && i-- > 0;)
      if (leaves[i]->spec) positional.erase(positional.begin() + static_cast<std::ptrdiff_t>(i));
    std::erase_if(leaves, [](const Slot* s) { return s->spec != nullptr; });
    if (positional.size() > leaves.size())
      usage_error("OE0201", takes() + "; " + std::to_string(specs_.size()) + " were given");
    for (size_t i = 0; i < positional.size(); ++i) {
      positional[i]->name = leaves[i]->path;
      leaves[i]->spec = positional[i];
    }
  }

  // A list of unknown length takes the positional specs that the other inputs leave over.
  void open_list(size_t positional) {
    const auto list = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) {
      return s.open && s.kind == Slot::Kind::List;
    });
    if (list == slots_.end()) return;
    std::vector<Slot*> others;
    for (Slot& s : slots_) leaves_of(s, others);
    const auto required = std::count_if(others.begin(), others.end(),
                                        [](const Slot* s) { return !s->spec && !s->known; });
    const auto element = strip_optional(list->type)->expectRef<c10::ListType>().getElementType();
    for (auto i = required; i < static_cast<std::ptrdiff_t>(positional); ++i)
      list->children.push_back(
          slot(element, list->path + "." + std::to_string(list->children.size()), std::nullopt));
    list->open = list->children.empty();
  }

  void refuse_unknown_names() const {
    for (const InputSpec& s : specs_) {
      if (s.name.empty() || used_.contains(&s)) continue;
      usage_error("OE0202", "the model has no input '" + s.name + "'", nearest_or_list(s.name));
    }
  }

  // Named itself, or a part of what is.
  bool is_constant(const std::string& path) const {
    return std::ranges::any_of(
        o_.constants, [&](const std::string& c) { return path == c || path.starts_with(c + "."); });
  }
  static void paths_of(const Slot& s, std::vector<std::string>& out) {
    out.push_back(s.path);
    for (const Slot& c : s.children) paths_of(c, out);
  }
  void refuse_unknown_constants() const {
    std::vector<std::string> paths;
    for (const Slot& s : slots_) paths_of(s, paths);
    for (const std::string& c : o_.constants)
      if (std::ranges::find(paths, c) == paths.end()) {
        const std::string hint = did_you_mean(c, paths);
        usage_error("OE0202", "--constant: the model has no argument '" + c + "'",
                    hint.empty() ? nearest_or_list(c) : hint);
      }
    for (const InputSpec& s : specs_)
      if (is_constant(s.name) && s.shape &&
          std::ranges::any_of(*s.shape, [](const DimSpec& d) { return d.dynamic; }))
        usage_error("OE0205", "input '" + s.name + "' is a constant: its axes have one size");
  }

  c10::IValue value(Slot& s, std::vector<InputLeaf>& leaves) {
    const c10::TypePtr type = strip_optional(s.type);
    std::vector<c10::IValue> children;
    for (Slot& c : s.children) children.push_back(value(c, leaves));
    if (s.open) return missing(s);
    switch (s.kind) {
      case Slot::Kind::Tuple:
        return c10::ivalue::Tuple::createNamed(std::move(children), type->expect<c10::TupleType>());
      case Slot::Kind::List: {
        c10::impl::GenericList list(type->expectRef<c10::ListType>().getElementType());
        for (c10::IValue& c : children) list.push_back(std::move(c));
        return list;
      }
      case Slot::Kind::Dict: {
        const auto& t = type->expectRef<c10::DictType>();
        c10::impl::GenericDict dict(t.getKeyType(), t.getValueType());
        for (size_t i = 0; i < children.size(); ++i) dict.insert(s.keys[i], std::move(children[i]));
        return dict;
      }
      case Slot::Kind::Leaf:
        return leaf_value(s, leaves);
    }
    return {};
  }

  c10::IValue leaf_value(const Slot& s, std::vector<InputLeaf>& leaves) {
    c10::IValue v;
    const bool shape_only = s.known && s.known->isTensor() && !has_data(s.known->toTensor());
    static const InputSpec random;
    const InputSpec* spec = !s.spec && shape_only ? &random : s.spec;
    if (spec)
      v = make_value(*spec, s.type, s.known.value_or(c10::IValue()), s.path,
                     leaf_seed(o_.seed, leaves.size()), files_);
    else if (s.known)
      v = *s.known;
    else if (s.path.find('.') == std::string::npos || s.type->kind() != c10::TypeKind::OptionalType)
      return missing(s);
    if (!(v.isTensor() || v.isInt() || v.isDouble() || v.isBool())) return v;
    const size_t place = place_++;
    if (s.is_default || is_constant(s.path)) return v;
    InputLeaf leaf;
    leaf.number_type = number_type(v, spec);
    v = represented_number(v, leaf.number_type, s.path);
    leaf.place = place;
    leaf.name = leaf.path = s.path;
    leaf.value = v;
    leaf.argument = argument_;
    leaf.normal = v.isTensor() && v.toTensor().is_floating_point() && spec &&
                  (spec->value.empty() || spec->value == "randn");
    if (v.isTensor() && spec) leaf.range = range_of(*spec, s.path);
    leaves.push_back(std::move(leaf));
    leaf_specs_.push_back(s.spec ? *s.spec : InputSpec());
    return v;
  }

  static DType number_type(const c10::IValue& v, const InputSpec* spec) {
    const DType asked = spec ? spec->dtype : DType::Undefined;
    const bool other = (v.isDouble() && is_float(asked) && asked != DType::Double) ||
                       (v.isInt() && is_integer(asked) && asked != DType::Int64);
    return other ? asked : DType::Undefined;
  }

  c10::IValue missing(const Slot& s) {
    if (missing_.empty()) first_missing_ = s.path + (s.kind == Slot::Kind::List ? ".0" : "");
    missing_.push_back("'" + s.path + "' (" + s.type->repr_str() + ")");
    return {};
  }

  const InputOptions& o_;
  const c10::FunctionSchema& schema_;
  ExampleFiles& files_;
  std::vector<InputSpec>& specs_;
  std::set<const InputSpec*> used_;
  std::vector<Slot> slots_;
  std::vector<InputSpec> leaf_specs_;
  std::vector<std::string> missing_;
  std::string first_missing_;
  size_t argument_ = 0, place_ = 0;
};

}  // namespace

std::vector<Slot> argument_slots(const InputOptions& o, const Loaded& m, ExampleFiles& files,
                                 std::vector<InputSpec>& specs) {
  return Tree(o, m, files, specs).slots();
}

BuiltArguments build_arguments(const InputOptions& o, const Loaded& m, ExampleFiles& files) {
  BuiltArguments built;
  Tree tree(o, m, files, built.specs);
  built.inputs = tree.build();
  built.leaf_specs = tree.leaf_specs();
  std::erase_if(built.specs, [](const InputSpec& s) { return s.name.empty(); });  // not used
  return built;
}

}  // namespace oe::torch_io
