// Operators that stay what they are: nodes of other domains that carry operator, overload and
// arguments, so that a runtime with these operators can run them and a reader can say what they
// were.
//
//   aten::triu(x, 0)  =>  org.pytorch.aten.ATen <operator = "triu", overload_name = ""> (x, 0)
//   lib::bar.out(x)   =>  lib.bar <overload_name = "out"> (x)
//
// Every argument is an input, in the schema's order: numbers are 0-d tensors (int64, double, bool),
// lists of numbers 1-d ones, strings tensors of strings, what is left out an input without a name.
// The tensors of a list follow each other; `argument_sizes` then has the number of inputs of each
// argument, -1 where it is no list of tensors.
#include <algorithm>

#include "lib/lower/driver.h"

namespace oe::lower {

using program::Arg;
using program::Args;

namespace {

// A list of numbers or strings as a 1-d tensor; null where an element is computed.
TensorPtr known_list(const Args& list) {
  Ints ints;
  std::vector<double> doubles;
  std::vector<uint8_t> bools;
  ir::Strings strings;
  for (const Arg& a : list) {
    if (auto* i = std::get_if<int64_t>(&a.v)) ints.push_back(*i);
    if (auto* d = std::get_if<double>(&a.v)) doubles.push_back(*d);
    if (auto* b = std::get_if<bool>(&a.v)) bools.push_back(*b);
    if (auto* s = std::get_if<std::string>(&a.v)) strings.push_back(*s);
  }
  const auto n = static_cast<int64_t>(list.size());
  const auto all = [&](const auto& v) { return v.size() == list.size(); };
  if (all(ints)) return Tensor::of<int64_t>(DType::Int64, {n}, ints);
  if (all(doubles)) return Tensor::of<double>(DType::Double, {n}, doubles);
  if (all(bools)) return Tensor::of<uint8_t>(DType::Bool, {n}, bools);
  if (all(strings)) return std::make_shared<Tensor>(std::vector<int64_t>{n}, std::move(strings));
  return nullptr;
}

bool is_number(const Arg& a) {
  if (auto* v = a.value()) return v->type.is_number();
  return std::holds_alternative<int64_t>(a.v) || std::holds_alternative<double>(a.v) ||
         std::holds_alternative<bool>(a.v);
}

}  // namespace

// What an argument is as inputs of a node. Their number is added to `sizes` for a list of tensors,
// -1 for anything else, which is one.
Values Driver::kept_input(const Arg& a, Ints& sizes) {
  const auto single = [&](const Arg& a) -> T {
    if (a.is_none()) return nullptr;
    if (auto* s = std::get_if<std::string>(&a.v))
      return call_.tensor(std::make_shared<Tensor>(std::vector<int64_t>{}, ir::Strings{*s}));
    return a.value() ? call_.lookup(a.value()) : argument(a, number_type(a));
  };
  const auto* list = std::get_if<Args>(&a.v);
  sizes.push_back(-1);
  if (!list) return {single(a)};
  if (TensorPtr known = known_list(*list)) return {call_.tensor(known)};
  Values parts;
  const bool numbers = std::all_of(list->begin(), list->end(), is_number);
  for (const Arg& e : *list)
    parts.push_back(numbers ? reshape(cast(single(e), DType::Int64), Ints{1}) : single(e));
  if (numbers) return {concat(parts, 0)};  // some are computed
  sizes.back() = static_cast<int64_t>(list->size());
  return parts;
}

void Driver::keep(const program::Node& n, bool as_aten) {
  for (const Arg& a : n.args)
    if (poisoned(a)) return poison(n);
  const size_t colons = n.op.find("::"), dot = n.op.find('.', colons);
  const std::string name_space = n.op.substr(0, colons);
  const std::string name =
      n.op.substr(colons + 2, dot == std::string::npos ? dot : dot - colons - 2);
  const std::string overload = dot == std::string::npos ? "" : n.op.substr(dot + 1);
  Ints sizes;
  Values inputs;
  for (const Arg& a : n.args)
    for (T v : kept_input(a, sizes)) inputs.push_back(v);
  ir::Attributes attributes;
  if (as_aten) {
    attributes.set("operator", name);
    attributes.set("overload_name", overload);
  } else if (!overload.empty()) {
    attributes.set("overload_name", overload);
  }
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s >= 0; }))
    attributes.set("argument_sizes", sizes);
  ir::Node* made = call_.append(as_aten ? "ATen" : name, inputs, {}, std::move(attributes));
  made->domain = as_aten ? "org.pytorch.aten" : name_space;
  import_domain(made->domain);
  control_outputs(n, made);
}

void Driver::import_domain(const std::string& domain) {
  const auto wanted = options_.custom_opsets.find(domain);
  model_.opsets.emplace(domain, wanted == options_.custom_opsets.end() ? 1 : wanted->second);
}

}  // namespace oe::lower
