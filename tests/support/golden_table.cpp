// opsets/operators.tsv: what every operator was seen to become, measured by the golden cases.
#include "tests/support/golden_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "lib/capture/operators/composites.h"
#include "lib/lower/lowering.h"
#include "lib/support/text.h"
#include "lib/torch/extensions.h"

namespace oe::golden {
namespace {

std::string base_name(const std::string& name) { return name.substr(0, name.find('.')); }

struct Entry {
  std::string name, signature, kind;
};

// The operators that a file of TorchScript defines: "aten::trapezoid.x" of the line
// "def trapezoid__x(y: Tensor, ...", and aliases. Helpers, whose names begin with _, are
// among them.
void add_functions(const std::string& name_space, const char* text, const char* kind,
                   std::vector<Entry>& entries) {
  std::istringstream lines(text);
  std::map<std::string, std::string> signatures;
  const auto add = [&](std::string name, const std::string& signature) {
    signatures[name] = signature;
    if (const size_t split = name.find("__"); split != std::string::npos)
      name.replace(split, 2, ".");
    entries.push_back({name_space + "::" + name, signature, kind});
  };
  for (std::string line; std::getline(lines, line);) {
    if (const auto [alias, of] = capture::composite_alias(line); !alias.empty())
      add(alias, signatures.at(of));
    if (!line.starts_with("def ")) continue;
    // Parameters may go on in the next lines.
    for (std::string more; !line.ends_with(":") && std::getline(lines, more);)
      line += " " + std::string(strip(more));
    const size_t open = line.find('(');
    add(line.substr(4, open - 4), line.substr(open, line.size() - 1 - open));
  }
}

std::vector<Entry> every_operator() {
  std::vector<Entry> entries;
  for (const lower::Table& table : lower::tables())
    for (const lower::Lowering& row : table)
      for (std::string_view name : row.names)
        entries.push_back({std::string(name), std::string(row.signature), "lowered"});
  for (const lower::Table& table : lower::complex_tables())
    for (const lower::Lowering& row : table)
      for (std::string_view name : row.names)
        if (!lower::find(name))
          entries.push_back({std::string(name), std::string(row.signature), "lowered"});
  for (const capture::CompositeText* c = capture::kCompositeTexts; c->text; ++c)
    if (c->of == capture::CompositeOf::Anything)
      add_functions(c->name_space, c->text, "composed", entries);
  std::erase_if(entries,
                [](const Entry& e) { return e.kind == "composed" && !capture::composite(e.name); });
  for (const torch_io::ExtensionText* e = torch_io::kExtensionTexts; e->text; ++e)
    add_functions(e->name_space, e->text, "library", entries);
  std::erase_if(entries, [](const Entry& e) {
    return e.kind == "library" && base_name(e.name).find("::_") != std::string::npos;
  });
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::tie(e.name, e.signature); });
  return entries;
}

// Whether the case has the operator: the program calls the overload, or (of what is made of
// others) a node stems from it.
bool shows(const Seen& s, const Entry& e) {
  if (s.made.empty()) return false;
  if (e.kind == "lowered")
    return s.calls.contains(e.name) || s.calls.contains(complex_call(e.name));
  const auto& newest = s.made.rbegin()->second;
  return newest.contains(base_name(e.name));
}

const std::set<std::string>* made_of(
    const std::map<std::string, std::set<std::string>>& by_operator, const std::string& base) {
  // A call in place stands for its functional form in the program, not in the model's source.
  for (const std::string& name : {base, base + "_"})
    if (const auto it = by_operator.find(name); it != by_operator.end()) return &it->second;
  return nullptr;
}

// "Mul Sub"; "-" where no node remains.
std::string names_of(const std::map<std::string, std::set<std::string>>& by_operator,
                     const std::string& base) {
  const std::set<std::string>* made = made_of(by_operator, base);
  return made && !made->empty() ? join({made->begin(), made->end()}, " ") : "-";
}

// "7-12 Mul Sub;13-28 Mul"
std::string becomes(const Seen& s, const std::string& base) {
  std::vector<std::tuple<int64_t, int64_t, std::string>> ranges;
  for (const auto& [opset, by_operator] : s.made) {
    const std::string names = names_of(by_operator, base);
    if (!ranges.empty() && std::get<2>(ranges.back()) == names)
      std::get<1>(ranges.back()) = opset;
    else
      ranges.emplace_back(opset, opset, names);
  }
  std::string text;
  for (const auto& [low, high, names] : ranges)
    text +=
        (text.empty() ? "" : ";") + std::to_string(low) + "-" + std::to_string(high) + " " + names;
  return text;
}

std::string measures(const Entry& e, const std::vector<const Seen*>& cases) {
  const std::string base = base_name(e.name);
  int64_t lowest = 0, highest = 0, every = 0;
  for (const Seen* s : cases) {
    const int64_t low = s->made.begin()->first;
    highest = std::max(highest, s->made.rbegin()->first);
    if (lowest == 0 || low < lowest) lowest = low;
    if (s->calls.size() == 1) every = std::max(every, low);
  }
  const Seen* best = nullptr;
  const auto rank = [&](const Seen& s) {
    size_t relatives = 0, operators = 0;
    for (const std::string& call : s.calls) relatives += base_name(call) == base;
    bool vanishes = false;
    for (const auto& [opset, by_operator] : s.made) {
      const auto* made = made_of(by_operator, base);
      operators += made ? made->size() : 0;
      vanishes = vanishes || !made;
    }
    return std::tuple(s.made.begin()->first > lowest,
                      s.made.rbegin()->first<highest, vanishes, relatives> 1, operators,
                      s.calls.size(), s.nodes, s.label);
  };
  for (const Seen* s : cases)
    if (!best || rank(*s) < rank(*best)) best = s;
  return std::to_string(lowest) + "\t" + std::to_string(every) + "\t" +
         (best ? becomes(*best, base) : "");
}

std::string refused_text(const Entry& e, const std::vector<Seen>& all) {
  std::set<std::string> refused;
  for (const Seen& s : all)
    if (const auto it = s.refusals.find(base_name(e.name)); it != s.refusals.end())
      refused.insert(it->second);
  return join({refused.begin(), refused.end()}, "; ");
}

// The opset at which the case shows `lowest`: the first of its opsets that is not below.
int64_t first_from(const Seen& s, int64_t lowest) {
  return *std::ranges::find_if(s.opsets, [&](int64_t opset) { return opset >= lowest; });
}

// Which of the columns behind the kind the cases do not show; empty if they show all.
std::string contradiction(const Entry& e, const std::vector<const Seen*>& cases,
                          const std::vector<std::string>& columns) {
  const int64_t lowest = std::stoll(columns[3]), every = std::stoll(columns[4]);
  if (cases.empty()) return lowest || every || !columns[5].empty() ? "no case" : "";
  bool reaches_lowest = false, reaches_every = false, has_every = false;
  for (const Seen* s : cases) {
    const int64_t low = s->made.begin()->first;
    if (low < lowest) return "the lowest opset";
    reaches_lowest = reaches_lowest || low == first_from(*s, lowest);
    if (s->calls.size() != 1) continue;
    has_every = true;
    if (low > first_from(*s, every)) return "the lowest opset of all";
    reaches_every = reaches_every || low == first_from(*s, every);
  }
  if (!reaches_lowest) return "the lowest opset";
  if (has_every != (every > 0) || has_every != reaches_every) return "the lowest opset of all";
  // The column is what one case became, which reaches the lowest opset.
  std::map<int64_t, std::string> becomes_at;
  for (const std::string& range : split(columns[5], ';')) {
    const size_t dash = range.find('-'), blank = range.find(' ');
    for (int64_t opset = std::stoll(range); opset <= std::stoll(range.substr(dash + 1)); ++opset)
      becomes_at[opset] = range.substr(blank + 1);
  }
  const auto shows_all = [&](const Seen* s) {
    return s->made.begin()->first == first_from(*s, lowest) &&
           std::ranges::all_of(s->made, [&](const auto& at) {
             return becomes_at[at.first] == names_of(at.second, base_name(e.name));
           });
  };
  if (std::ranges::none_of(cases, shows_all)) return "the ONNX operators";
  return "";
}

std::vector<const Seen*> cases_of(const Entry& e, const std::vector<Seen>& all) {
  std::vector<const Seen*> cases;
  for (const Seen& s : all)
    if (shows(s, e)) cases.push_back(&s);
  return cases;
}

}  // namespace

std::string complex_call(std::string_view op) { return std::string(op) + " (complex)"; }

void add_calls(const program::Block& b, std::set<std::string>& calls) {
  for (const auto& n : b.nodes) {
    const bool complex =
        std::ranges::any_of(n->args, [](const auto& a) { return lower::is_complex(a); }) ||
        std::ranges::any_of(n->outputs, [](const auto* v) { return lower::is_complex(v->type); });
    calls.insert(complex ? complex_call(n->op) : n->op);
    for (const auto& inner : n->blocks) add_calls(*inner, calls);
  }
}

void add_model(int64_t opset, const ir::Model& m, Seen& seen) {
  auto& by_operator = seen.made[opset];
  seen.nodes = 0;
  const auto visit = [&](const auto& self, const ir::Graph& g) -> void {
    for (const auto& n : g.nodes) {
      ++seen.nodes;
      if (n->origin) by_operator[n->origin->op].insert(n->op);
      for (const auto& [name, attribute] : n->attributes)
        if (const auto* inner = std::get_if<std::shared_ptr<ir::Graph>>(&attribute))
          self(self, **inner);
    }
  };
  visit(visit, m.graph);
}

void add_refusals(const std::string& error, Seen& seen) {
  for (const std::string& line : split(error, '\n')) {
    if (!line.starts_with("  ") || line.starts_with("   ")) continue;
    const size_t end = line.find_first_of(" ,", 2);
    std::string name = line.substr(2, end - 2);
    if (name.ends_with(":")) name.pop_back();
    if (name.find("::") == std::string::npos || end == std::string::npos) continue;
    std::string message(strip(line.substr(end + 1)));
    if (message.starts_with("(")) message = strip(message.substr(message.find(')') + 2));
    if (!message.starts_with("needs opset")) seen.refusals[base_name(name)] = message;
  }
}

std::string to_json(const Seen& s) {
  nlohmann::json made = nlohmann::json::array();
  for (const auto& [opset, by_operator] : s.made) made.push_back({opset, by_operator});
  return nlohmann::json({{"label", s.label},
                         {"opsets", s.opsets},
                         {"calls", s.calls},
                         {"made", made},
                         {"nodes", s.nodes},
                         {"refusals", s.refusals}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Seen seen_from_json(const std::string& text) {
  const nlohmann::json j = nlohmann::json::parse(text);
  Seen s{j.at("label"), j.at("opsets"), j.at("calls"), {}, j.at("nodes"), j.at("refusals")};
  for (const nlohmann::json& m : j.at("made")) s.made[m.at(0)] = m.at(1);
  return s;
}

std::string operator_table(const std::vector<Seen>& all) {
  std::string text;
  for (const Entry& e : every_operator())
    text += e.name + "\t" + e.signature + "\t" + e.kind + "\t" + measures(e, cases_of(e, all)) +
            "\t" + refused_text(e, all) + "\n";
  return text;
}

std::string without_measures(const std::string& table) {
  std::string text;
  for (const std::string& line : split(table, '\n')) {
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() > 2) text += columns[0] + "\t" + columns[1] + "\t" + columns[2] + "\n";
  }
  return text;
}

std::vector<std::string> contradicted(const std::string& table, const std::vector<Seen>& all) {
  std::vector<std::string> found;
  const std::vector<Entry> entries = every_operator();
  const std::vector<std::string> lines = split(table, '\n');
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    const std::vector<std::string> columns = split(lines.at(i), '\t');
    std::string why = columns.size() == 7 ? contradiction(e, cases_of(e, all), columns) : "columns";
    if (why.empty() && columns[6] != refused_text(e, all)) why = "what is refused";
    if (!why.empty()) found.push_back(e.name + ": " + why);
  }
  return found;
}

}  // namespace oe::golden
