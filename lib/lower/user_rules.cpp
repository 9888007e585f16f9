// Rules of the user at work.
#include "lib/lower/user_rules.h"

#include <set>

namespace oe::lower {

namespace {

std::string place_text(const rules::Place& p) { return p.file + ":" + std::to_string(p.line); }

}  // namespace

UserRules::UserRules(const rules::Rules& rules, int64_t opset) : rules_(&rules), opset_(opset) {
  for (const rules::NodesRule& r : rules.nodes) {
    if (r.opset > opset) continue;
    try {
      entries_.emplace(&r, Entry{r, onnx::RuleBody(r.body, r.parameters, r.results, r.opset)});
    } catch (const onnx::TextError& e) {
      const std::string place =
          e.line > 0 ? r.place.file + ":" + std::to_string(e.line) + ":" + std::to_string(e.column)
                     : place_text(r.place);
      throw Failure(ExitCode::Usage, "OE0231", place + ": the rule for " + r.op + ": " + e.what());
    }
  }
}

const UserRules::Entry* UserRules::find(std::string_view op) const {
  const rules::NodesRule* r = rules_ ? rules_->find(op, opset_) : nullptr;
  return r ? &entries_.at(r) : nullptr;
}

class UserRules::Expansion {
 public:
  Expansion(const UserRules& rules, ir::Model& m, const std::map<std::string, int64_t>& versions,
            Diagnostics& d)
      : rules_(rules), m_(m), versions_(versions), d_(d) {}

  void walk(ir::Graph& g) {
    std::vector<std::unique_ptr<ir::Node>> in = std::exchange(g.nodes, {});
    for (auto& n : in) {
      for (auto& [name, a] : n->attributes)
        if (auto* inner = std::get_if<std::shared_ptr<ir::Graph>>(&a)) walk(**inner);
      if (n->domain == kDomain)
        replace(std::move(n), g.nodes);
      else
        g.nodes.push_back(std::move(n));
    }
  }

 private:
  void replace(std::unique_ptr<ir::Node> n, std::vector<std::unique_ptr<ir::Node>>& out) {
    const Entry& e = *rules_.find(n->op);
    const std::string place = place_text(e.rule.place);
    if (const std::string op = e.body.incompatible(rules_.opset_); !op.empty())
      return report(*n,
                    "the rule at " + place + " is written for opset " +
                        std::to_string(e.rule.opset) + ", and opset " +
                        std::to_string(rules_.opset_) + " defines its " + op + " differently",
                    "add a rule for a newer opset");
    if (!e.rule.domain.empty() && rules_.opset_ < kFunctions) {
      Diagnostic d = diagnostic(*n,
                                "the rule at " + place + " makes a function, which needs opset " +
                                    std::to_string(kFunctions) + " or later",
                                "");
      d.needs_opset = kFunctions;
      return d_.report(std::move(d));
    }
    for (const std::string& domain : e.body.domains()) import(domain, 1);
    if (!e.rule.domain.empty()) {
      call(*n, e);
      out.push_back(std::move(n));
      return;
    }
    try {
      e.body.put(m_, *n, rules_.opset_, out);
    } catch (const std::runtime_error& error) {
      report(*n, "the rule at " + place + ": " + error.what(), "");
    }
  }

  // Makes the function where it is not there yet. Domain and name are "onnx-script.Selu".
  void call(ir::Node& n, const Entry& e) {
    const size_t dot = e.rule.domain.rfind('.');
    n.domain = e.rule.domain.substr(0, dot);
    n.op = e.rule.domain.substr(dot + 1);
    import(n.domain, e.rule.version);
    if (made_.insert(e.rule.domain).second)
      m_.functions.push_back(e.body.function(m_, n.domain, n.op));
  }

  void import(const std::string& domain, int64_t version) {
    const auto wanted = versions_.find(domain);
    m_.opsets.emplace(domain, wanted == versions_.end() ? version : wanted->second);
  }

  static Diagnostic diagnostic(const ir::Node& n, std::string message, std::string hint) {
    return {"OE5104",
            Severity::Error,
            n.origin ? n.origin->op : n.op,
            std::move(message),
            std::move(hint),
            n.origin,
            0};
  }
  void report(const ir::Node& n, std::string message, std::string hint) {
    d_.report(diagnostic(n, std::move(message), std::move(hint)));
  }

  static constexpr int64_t kFunctions = 15;  // IR version 8 has functions
  const UserRules& rules_;
  ir::Model& m_;
  const std::map<std::string, int64_t>& versions_;
  Diagnostics& d_;
  std::set<std::string> made_;
};

void UserRules::expand(ir::Model& m, const std::map<std::string, int64_t>& versions,
                       Diagnostics& d) const {
  if (m.opsets.erase(std::string(kDomain)) > 0) Expansion(*this, m, versions, d).walk(m.graph);
}

}  // namespace oe::lower
