// Rendering of the collected problems: grouped, counted, with the model's own source lines.
#include "lib/support/diagnostics.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe {
namespace {

struct Group {
  const Diagnostic* first = nullptr;
  size_t uses = 0;
  std::vector<const Origin*> places;  // distinct, in order
};

// One group per (severity, operator, message), in order of first appearance.
std::vector<Group> group(const Diagnostics& d, Severity severity) {
  std::vector<Group> groups;
  std::map<std::tuple<std::string_view, std::string_view>, size_t> index;
  std::vector<std::set<std::tuple<std::string_view, std::string_view, int>>> seen;
  for (const Diagnostic& e : d.all()) {
    if (e.severity != severity) continue;
    const auto [it, fresh] = index.try_emplace({e.op, e.message}, groups.size());
    if (fresh) {
      groups.push_back({&e, 0, {}});
      seen.emplace_back();
    }
    Group& g = groups[it->second];
    ++g.uses;
    const Origin* o = e.origin.get();
    if (o && (o->line > 0 || !o->module_path.empty()) &&
        seen[it->second].insert({o->module_path, o->file, o->line}).second)
      g.places.push_back(o);
  }
  return groups;
}

std::string position(const Origin& o) {
  if (o.line <= 0) return {};
  return safe_line(o.file.empty() ? "line " : o.file + ":") + std::to_string(o.line);
}

// Module path, file:line and source text as three columns.
void append_places(std::string& out, const Group& g, size_t max_places) {
  const size_t shown = std::min(max_places, g.places.size());
  size_t path_width = 0, position_width = 0;
  for (size_t i = 0; i < shown; ++i) {
    path_width = std::max(path_width, safe_line(g.places[i]->module_path).size());
    position_width = std::max(position_width, position(*g.places[i]).size());
  }
  for (size_t i = 0; i < shown; ++i) {
    std::string line = "      ";
    const auto column = [&](const std::string& text, size_t width) {
      if (width > 0) line += text + std::string(width - text.size() + 4, ' ');
    };
    column(safe_line(g.places[i]->module_path), path_width);
    column(position(*g.places[i]), position_width);
    line += safe_line(cut_text(g.places[i]->text, kShownMessage));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  if (g.places.size() > shown)
    out += "      and " + std::to_string(g.places.size() - shown) + " more\n";
}

void append_group(std::string& out, const Group& g, size_t max_places, size_t most) {
  out += "  ";
  const std::string uses = g.uses > 1 ? " (" + plural(g.uses, "use") + ")" : "";
  // "aten::softmax.int, argument 'dim': must be ..." reads on from the operator.
  const std::string message = safe_block(cut_text(g.first->message, most));
  if (g.first->op.empty())
    out += message + uses;
  else
    out += safe_line(g.first->op) + uses +
           (g.first->message.starts_with("argument ") ? ", " : ": ") + message;
  if (!g.first->code.empty()) out += "  [" + g.first->code + "]";
  out += "\n";
  append_places(out, g, max_places);
  if (!g.first->hint.empty())
    out += "      hint: " + safe_block(cut_text(g.first->hint, most)) + "\n";
}

// "3 operators cannot be written at opset 14", or the count of problems when some name none.
std::string heading(const std::vector<Group>& groups, int opset) {
  const bool operators = std::all_of(groups.begin(), groups.end(),
                                     [](const Group& g) { return !g.first->op.empty(); });
  std::set<std::string_view> names;
  for (const Group& g : groups) names.insert(g.first->op);
  const size_t n = operators ? names.size() : groups.size();
  std::string text = plural(n, operators ? "operator" : "problem");
  if (operators) text += " cannot be written";
  if (opset >= 0) text += " at opset " + std::to_string(opset);
  return text;
}

// The lowest opset that removes something, with what it removes.
std::string suggestion(const std::vector<Group>& groups) {
  int opset = 0;
  for (const Group& g : groups) opset = std::max(opset, g.first->needs_opset);
  if (opset == 0) return {};
  const auto removed = std::count_if(groups.begin(), groups.end(),
                                     [](const Group& g) { return g.first->needs_opset > 0; });
  return "\ntry --opset " + std::to_string(opset) + " (removes " + std::to_string(removed) +
         " of " + std::to_string(groups.size()) + ")\n";
}

}  // namespace

void Diagnostics::report(Diagnostic d) {
  // Many long messages, which one model can make as easily as one, are as much as one.
  constexpr size_t all = 8 * kKeptMessage;
  for (std::string* text : {&d.message, &d.hint}) {
    if (text->size() > kShownMessage)
      *text = cut_text(*text, kept_ > all ? kShownMessage : kKeptMessage);
    kept_ += text->size();
  }
  all_.push_back(std::move(d));
}

bool Diagnostics::has_errors() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::Error; });
}

void Diagnostics::warnings_are_errors() {
  for (Diagnostic& d : all_)
    if (d.severity == Severity::Warning) d.severity = Severity::Error;
}

void usage_error(const char* code, const std::string& message, const std::string& hint) {
  throw Failure(ExitCode::Usage, code, message, hint);
}

std::string render_text(const Diagnostics& d, int opset, size_t max_places, size_t most) {
  std::string out;
  for (const auto& [severity, word] :
       {std::pair{Severity::Warning, "warning: "}, std::pair{Severity::Note, "note: "}})
    for (const Group& g : group(d, severity)) {
      out += word;
      std::string body;
      append_group(body, g, max_places, most);
      out += body.substr(2);  // a group stands two in below its heading; these have none
    }
  const std::vector<Group> errors = group(d, Severity::Error);
  if (!errors.empty()) {
    out += "error: " + heading(errors, opset) + "\n\n";
    for (const Group& g : errors) append_group(out, g, max_places, most);
    out += suggestion(errors);
  }
  return out;
}

}  // namespace oe
