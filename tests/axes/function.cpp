// Variants of a sample, each as a function that capture gets.
#include "tests/axes/function.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "lib/capture/attempts/sizes.h"
#include "lib/capture/capture.h"
#include "lib/lower/lower.h"
#include "lib/support/trial.h"

namespace oe::axes {
namespace {

using torch::jit::Graph;
using Kind = Value::Kind;

bool is_size(const Value& v) { return v.kind == Kind::Int; }

// The letters that each leaf of the variant takes from a dynamic axis.
template <class F>
void each_letter(const Value& v, Role role, F&& f) {
  if (role == Role::Constant) return;
  if (v.kind == Kind::Bool) f(kNumbers);
  if (is_size(v)) f(computed_from(v.size).letter);
  if (v.kind == Kind::Tensor && role == Role::Computed) f(kElements);
  if (v.kind == Kind::Tensor && role == Role::Input)
    for (const Size& s : v.tensor.shape)
      if (s.letter >= 0) f(s.letter);
}

// A name for what the axis is: equal expressions are one axis.
std::string axis_name(const Size& s) {
  if (s.letter < 0) return "";
  std::string name(1, static_cast<char>('a' + s.letter));
  if (s.times != 1) name += "_times_" + std::to_string(s.times);
  if (s.plus) name += "_plus_" + std::to_string(s.plus);
  return name;
}

struct OtherOverload {};

// The function and its inputs: the tensors in order, then one for each letter whose size a number
// is computed from.
class Builder {
 public:
  Builder(const Sample& sample, const Variant& v) : sample_(sample), variant_(v) {}

  torch_io::ExampleInputs inputs;
  torch_io::Loaded loaded;

  void build(const torch::jit::Operator& op) {
    torch::jit::Module m("__torch__.Axes");
    graph_ = std::make_shared<Graph>();
    graph_->addInput("self")->setType(m._ivalue()->type());
    add_inputs();
    std::vector<torch::jit::Value*> arguments;
    arguments.reserve(sample_.size());
    for (const Value& v : sample_) arguments.push_back(emit(v));
    const c10::FunctionSchema& schema = op.schema();
    torch::jit::Node* node = graph_->create(c10::Symbol::fromQualString(schema.name()), arguments,
                                            schema.returns().size());
    for (size_t i = 0; i < schema.returns().size(); ++i)
      node->output(i)->setType(schema.returns()[i].type());
    graph_->insertNode(node);
    if (node->maybeOperator() != &op) throw OtherOverload{};
    if (node->outputs().size() == 1)
      graph_->registerOutput(node->output());
    else
      graph_->registerOutput(graph_->insertNode(graph_->createTuple(node->outputs()))->output());
    m.type()->addMethod(m._ivalue()->compilation_unit()->create_function(
        c10::QualifiedName("__torch__.Axes.forward"), graph_));
    loaded.module = m;
    loaded.method = "forward";
  }

 private:
  torch::jit::Value* add_input(const std::string& name, const TensorSpec& spec) {
    torch_io::InputLeaf leaf;
    leaf.name = leaf.path = name;
    const at::Tensor t = spec.at(kBase);
    leaf.value = t;
    for (const Size& s : spec.shape) {
      leaf.axis_names.push_back(axis_name(s));
      // Not above what other_bases() has: capture would try much larger sizes where branches of a
      // composite are not reached.
      leaf.bounds.emplace_back(s.letter < 0 ? 0 : 1, s.letter < 0 ? -1 : s.times * 16 + s.plus);
    }
    leaf.differs.resize(spec.shape.size());
    leaf.argument = inputs.arguments.size();
    inputs.arguments.push_back(t);
    inputs.leaves.push_back(std::move(leaf));
    torch::jit::Value* v = graph_->addInput(name);
    v->setType(c10::TensorType::get());
    return v;
  }

  void add_inputs() {
    std::set<int> sizes;
    size_t i = 0;
    for (const Value* v : leaves(sample_)) {
      const Role role = variant_.roles[i++];
      if (v->kind == Kind::Tensor && role == Role::Input)
        tensors_[v] = add_input("x" + std::to_string(tensors_.size()), v->tensor);
      else
        each_letter(*v, role, [&](int letter) { sizes.insert(letter); });
    }
    for (const int letter : sizes)
      sources_[letter] = add_input(std::string("size_") + static_cast<char>('a' + letter),
                                   {.shape = {{letter}}, .values = {}});
  }

  torch::jit::Value* size_of(const Size& s) {
    torch::jit::Value* n =
        graph_->insert(c10::aten::size, {sources_.at(s.letter), c10::IValue(int64_t{0})});
    if (s.times != 1) n = graph_->insert(c10::aten::mul, {n, c10::IValue(s.times)});
    if (s.plus != 0) n = graph_->insert(c10::aten::add, {n, c10::IValue(s.plus)});
    return n;
  }

  torch::jit::Value* emit(const Value& v) {
    if (v.kind == Kind::Fixed) return graph_->insertConstant(v.fixed);
    if (v.kind == Kind::List) {
      std::vector<torch::jit::Value*> items;
      items.reserve(v.items.size());
      for (const Value& item : v.items) items.push_back(emit(item));
      return graph_->insertNode(graph_->createList(v.element, items))->output();
    }
    const Role role = variant_.roles.at(next_++);
    if (is_size(v)) {
      if (role == Role::Computed) return size_of(computed_from(v.size));
      return graph_->insertConstant(v.size.at(kBase));
    }
    if (v.kind == Kind::Bool) {
      if (role == Role::Constant) return graph_->insertConstant(v.fixed);
      return graph_->insert(is_greater(v) ? c10::aten::gt : c10::aten::le,
                            {size_of({kNumbers}), c10::IValue(kBase[kNumbers])});
    }
    if (role == Role::Input) return tensors_.at(&v);
    const at::Tensor t = v.tensor.at(kBase);
    if (role == Role::Constant) return graph_->insertConstant(t);
    const bool mask = t.scalar_type() == c10::kBool;
    torch::jit::Value* constant = graph_->insertConstant(mask ? t.logical_not().to(c10::kLong) : t);
    return graph_->insert(mask ? c10::aten::lt : c10::aten::mul, {constant, size_of({kElements})});
  }

  const Sample& sample_;
  const Variant& variant_;
  std::shared_ptr<Graph> graph_;
  std::map<const Value*, torch::jit::Value*> tensors_;
  std::map<int, torch::jit::Value*> sources_;
  size_t next_ = 0;
};

// Every size that capture would try besides the example's is said to have crashed.
void leave_out_other_sizes(const torch_io::ExampleInputs& inputs, CaptureOptions& o) {
  const std::vector<capture::DynamicAxis> axes = capture::dynamic_axes(inputs);
  std::vector<std::string> names;
  for (const torch_io::InputLeaf& l : inputs.leaves) names.push_back(l.name);
  const auto leave_out = [&](const std::vector<int64_t>& sizes) {
    o.left_out.push_back({sizes_text(names, capture::shapes_at(inputs, axes, sizes)), "axes"});
  };
  std::vector<std::vector<int64_t>> candidates;
  size_t most = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    candidates.push_back(capture::other_sizes(axes[i], i));
    most = std::max(most, candidates.back().size());
  }
  for (size_t round = 0; round < most; ++round) {
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < axes.size(); ++i)
      sizes.push_back(round < candidates[i].size() ? candidates[i][round] : axes[i].example);
    leave_out(sizes);
  }
  leave_out(std::vector<int64_t>(axes.size(), 1));
}

// The results one after the other; those of a list together.
struct Group {
  bool list = false;
  std::vector<c10::IValue> values;
};
std::vector<Group> groups(const std::vector<c10::IValue>& results) {
  std::vector<Group> out;
  for (const c10::IValue& r : results) {
    Group g;
    g.list = r.isList();
    if (g.list) {
      for (const c10::IValue& e : r.toListRef()) g.values.push_back(e);
    } else if (!r.isNone() && !(r.isTensor() && !r.toTensor().defined())) {
      g.values.push_back(r);
    }
    out.push_back(std::move(g));
  }
  return out;
}

class Comparison {
 public:
  Comparison(const Sample& sample, const Variant& v, const Base& base, bool numbers_only)
      : numbers_only_(numbers_only) {
    size_t i = 0;
    for (const Value* leaf : leaves(sample)) {
      const Role role = v.roles[i++];
      if (leaf->kind == Kind::Tensor && role == Role::Input) {
        for (const Size& s : leaf->tensor.shape)
          if (s.letter >= 0) symbols_[axis_name(s)] = s.at(base);
      } else {
        each_letter(*leaf, role, [&](int letter) {
          symbols_[axis_name({letter})] = base[static_cast<size_t>(letter)];
        });
      }
    }
  }

  std::string run(const program::Program& p, const std::vector<c10::IValue>& results) {
    const std::vector<Group> all = groups(results);
    size_t group = 0, at = 0;
    for (size_t i = 0; i < p.outputs.size(); ++i) {
      const program::Value* v = p.outputs[i].value.value();
      const bool list = v && v->type.kind == program::Type::Kind::List;
      const bool optional = v && v->type.kind == program::Type::Kind::Optional;
      if (optional && (group == all.size() || (at == 0 && all[group].values.empty()))) {
        group = std::min(group + 1, all.size());  // None
        continue;
      }
      while (group < all.size() && (list ? !all[group].list : at == all[group].values.size()))
        ++group, at = 0;
      if (group == all.size()) return "there are fewer results than outputs";
      if (!list) {
        compare(i, v, all[group].values[at++]);
        if (at == all[group].values.size()) ++group, at = 0;
      } else {
        for (const c10::IValue& e : all[group].values) compare_type(i, *v->type.element, e);
        ++group, at = 0;
      }
    }
    while (group < all.size() && at == all[group].values.size()) ++group, at = 0;
    if (group < all.size()) return "there are more results than outputs";
    return problem_;
  }

 private:
  void compare(size_t i, const program::Value* v, const c10::IValue& real) {
    if (v) compare_type(i, v->type, real);
  }

  void compare_type(size_t i, const program::Type& type, const c10::IValue& real) {
    if (type.kind == program::Type::Kind::Optional) return compare_type(i, *type.element, real);
    if (!real.isTensor() || !type.shape) return;
    const auto sizes = real.toTensor().sizes();
    bool same = sizes.size() == type.shape->size();
    for (size_t k = 0; same && k < sizes.size(); ++k) {
      const Dim& d = (*type.shape)[k];
      if (d.is_number()) same = d.number == sizes[k];
      if (d.is_symbol() && !numbers_only_)
        same = symbols_.try_emplace(d.symbol, sizes[k]).first->second == sizes[k];
    }
    if (same || !problem_.empty()) return;
    problem_ =
        "output " + std::to_string(i) + " is declared " + to_string(type.shape) + " and has [";
    for (size_t k = 0; k < sizes.size(); ++k) problem_ += (k ? "," : "") + std::to_string(sizes[k]);
    problem_ += "]";
  }

  bool numbers_only_;
  std::map<std::string, int64_t> symbols_;
  std::string problem_;
};

}  // namespace

std::vector<Variant> variants(const Sample& sample) {
  const std::vector<const Value*> all = leaves(sample);
  std::vector<Variant> out;
  const auto is_tensor = [&](size_t i) { return all[i]->kind == Kind::Tensor; };
  const auto with = [&](Role tensors) {
    std::vector<Role> roles(all.size(), Role::Constant);
    for (size_t i = 0; i < all.size(); ++i)
      if (is_tensor(i) && all[i]->tensor.values.empty()) roles[i] = tensors;
    return roles;
  };
  const auto add = [&](const std::string& name, const std::vector<Role>& roles) {
    if (std::ranges::any_of(roles, [](Role r) { return r != Role::Constant; }) &&
        std::ranges::none_of(out, [&](const Variant& v) { return v.roles == roles; }))
      out.push_back({name, roles});
  };
  const std::vector<Role> inputs = with(Role::Input), constants = with(Role::Constant);
  add("all tensors are inputs", inputs);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!is_tensor(i)) continue;
    std::vector<Role> roles = inputs;
    roles[i] = Role::Constant;
    add("tensor " + std::to_string(i) + " constant", roles);
    roles = constants;
    roles[i] = inputs[i];
    add("tensor " + std::to_string(i) + " alone an input", roles);
    if (all[i]->tensor.dtype == c10::kFloat || all[i]->tensor.dtype == c10::kComplexFloat) continue;
    for (const bool dynamic : {false, true}) {
      roles = dynamic ? inputs : constants;
      roles[i] = Role::Computed;
      add("tensor " + std::to_string(i) + " carries a size, the others " +
              (dynamic ? "inputs" : "constant"),
          roles);
    }
  }
  for (const bool dynamic : {false, true}) {
    const std::vector<Role>& others = dynamic ? inputs : constants;
    const char* what = dynamic ? ", tensors inputs" : ", tensors constant";
    std::vector<Role> lettered = others;
    for (size_t i = 0; i < all.size(); ++i) {
      if (is_tensor(i)) continue;
      std::vector<Role> roles = others;
      roles[i] = Role::Computed;
      add("number " + std::to_string(i) + " computed" + what, roles);
      if (is_size(*all[i]) && all[i]->size.letter >= 0) lettered[i] = Role::Computed;
    }
    add(std::string("all sizes computed") + what, lettered);
  }
  return out;
}

Capture captured(const torch::jit::Operator& op, const Sample& sample, const Variant& v,
                 bool one_world) {
  Capture out;
  try {
    Builder b(sample, v);
    b.build(op);
    CaptureOptions o;
    if (one_world) leave_out_other_sizes(b.inputs, o);
    Diagnostics d;
    out.program = capture::capture(b.loaded, b.inputs, o, lower::has_row, d).program;
    out.kind = d.has_errors() ? Capture::Kind::Refused : Capture::Kind::Program;
    if (const auto problems = program::verify(out.program);
        out.kind == Capture::Kind::Program && !problems.empty()) {
      out.kind = Capture::Kind::Wrong;
      out.detail = "the program is malformed: " + problems.front();
    }
  } catch (const OtherOverload&) {
    out.kind = Capture::Kind::OtherOverload;
  } catch (const Failure& f) {
    out.kind = f.exit_code == ExitCode::Internal ? Capture::Kind::Wrong : Capture::Kind::Refused;
    out.detail = f.what();
  } catch (const std::exception& e) {
    out.detail = std::string("an internal error: ") + e.what();
  }
  return out;
}

std::string difference(const program::Program& p, const std::vector<c10::IValue>& results,
                       const Sample& sample, const Variant& v, const Base& base,
                       bool numbers_only) {
  return Comparison(sample, v, base, numbers_only).run(p, results);
}

std::vector<Base> other_bases(const Sample& sample, const Variant& v) {
  std::set<int> letters;
  size_t i = 0;
  for (const Value* leaf : leaves(sample))
    each_letter(*leaf, v.roles[i++], [&](int letter) { letters.insert(letter); });
  static constexpr Base together[] = {{4, 5, 6, 7, 2, 3, 4}, {9, 8, 11, 10, 3, 4, 5},
                                      {1, 1, 1, 1, 1, 1, 1}, {4, 6, 8, 10, 1, 2, 1},
                                      {3, 2, 5, 4, 2, 1, 1}, {6, 9, 12, 15, 4, 6, 1}};
  std::vector<Base> out;
  const auto add = [&](const Base& chosen) {
    Base base = kBase;
    for (const int letter : letters)
      base[static_cast<size_t>(letter)] = chosen[static_cast<size_t>(letter)];
    if (base != kBase && std::ranges::find(out, base) == out.end()) out.push_back(base);
  };
  for (const Base& base : together) add(base);
  if (letters.size() > 1 || out.empty() || letters.contains(kNumbers) ||
      letters.contains(kElements))
    for (const int letter : letters) {
      const auto at = static_cast<size_t>(letter);
      for (const int64_t n :
           {int64_t{1}, kBase[at] + 1, kBase[at] + 2, 2 * kBase[at], int64_t{13}}) {
        Base base = kBase;
        base[at] = n;
        add(base);
      }
    }
  return out;
}

}  // namespace oe::axes
