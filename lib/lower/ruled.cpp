// Operators with a rule of the user: a node that stands for the rule, with the tensors and the
// attributes that its body asks for.
#include <algorithm>

#include "lib/lower/driver.h"
#include "lib/support/text.h"

namespace oe::lower {

using program::Arg;
using program::Args;

namespace {

// A known argument as an attribute; nothing for None. Throws NotKnown for a computed one.
std::optional<ir::Attribute> constant_attribute(const Arg& a, const std::string& parameter) {
  if (auto* v = a.value()) {
    if (v->constant) return v->constant;
    throw NotKnown(parameter, v->producer ? v->producer->op : "an input");
  }
  if (auto* i = std::get_if<int64_t>(&a.v)) return *i;
  if (auto* b = std::get_if<bool>(&a.v)) return int64_t{*b};
  if (auto* d = std::get_if<double>(&a.v)) return static_cast<float>(*d);
  if (auto* s = std::get_if<std::string>(&a.v)) return *s;
  const auto* list = std::get_if<Args>(&a.v);
  if (!list) return std::nullopt;
  ir::Ints ints;
  ir::Floats floats;
  ir::Strings strings;
  for (const Arg& e : *list) {
    const std::optional<ir::Attribute> one = constant_attribute(e, parameter);
    if (one && std::holds_alternative<int64_t>(*one)) ints.push_back(std::get<int64_t>(*one));
    if (one && std::holds_alternative<float>(*one)) floats.push_back(std::get<float>(*one));
    if (one && std::holds_alternative<std::string>(*one))
      strings.push_back(std::get<std::string>(*one));
  }
  if (floats.size() == list->size() && !floats.empty()) return floats;
  if (strings.size() == list->size() && !strings.empty()) return strings;
  if (ints.size() == list->size()) return ints;
  throw Unsupported("argument '" + parameter + "' is a list that no attribute can be");
}

}  // namespace

void Driver::ruled(const program::Node& n, const UserRules::Entry& e) {
  const rules::NodesRule& rule = e.rule;
  const std::string at = " at " + rule.place.file + ":" + std::to_string(rule.place.line);
  if (rule.parameters.size() != n.args.size() || rule.results.size() != n.outputs.size())
    throw Unsupported("the rule" + at + " has " + plural(rule.parameters.size(), "parameter") +
                      " and " + plural(rule.results.size(), "result") + ", the operator " +
                      plural(n.args.size(), "argument") + " and " +
                      plural(n.outputs.size(), "result"));
  const auto argument_of = [&](const std::string& parameter) -> const Arg& {
    const auto it = std::find(rule.parameters.begin(), rule.parameters.end(), parameter);
    return n.args[static_cast<size_t>(it - rule.parameters.begin())];
  };
  Values inputs;
  for (const std::string& parameter : e.body.tensors()) {
    Ints sizes;
    const Values values = kept_input(argument_of(parameter), sizes);
    if (sizes.back() >= 0)
      throw Unsupported("argument '" + parameter +
                        "' is a list of tensors, which no value of the "
                        "rule" +
                        at + " can be");
    inputs.push_back(values[0]);
  }
  ir::Attributes attributes;
  for (const std::string& parameter : e.body.attributes())
    if (auto a = constant_attribute(argument_of(parameter), parameter))
      attributes.set(parameter, std::move(*a));
  const std::string base = n.op.substr(0, n.op.find('.'));
  ir::Node* made =
      call_.append(base.substr(base.find("::") + 2), inputs, {}, std::move(attributes));
  made->domain = UserRules::kDomain;
  made->op = n.op;
  model_.opsets.emplace(made->domain, 1);
  control_outputs(n, made);
}

}  // namespace oe::lower
