// `explain OE1234`: what a problem's code means. `explain aten::foo`: what becomes of an operator.
#include "app/verbs/explain.h"

#include <cctype>
#include <sstream>

#include "app/verbs/list_ops.h"
#include "lib/support/error_codes.h"
#include "lib/support/error_examples.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

bool is_code(const std::string& what) {
  return what.size() > 2 && lowered(what.substr(0, 2)) == "oe" &&
         std::isdigit(static_cast<unsigned char>(what[2]));
}

std::string indented(std::string_view lines, std::string_view prefix = "") {
  std::string out;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    if (!line.empty()) out.append("    ").append(prefix).append(line);
    out += "\n";
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  return out;
}

void show_example(const ErrorExample& e, std::ostream& out) {
  out << "\nExample" << (e.model.empty() ? "" : ", model.py") << ":\n\n";
  if (!e.model.empty()) out << indented(e.model) << "\n";
  out << indented(e.command, "$ ") << indented(e.message);
  if (!e.instead.empty()) out << "\nInstead:\n\n" << indented(e.instead);
}

void explain_code(const std::string& what, std::ostream& out) {
  Strings known;
  for (const ErrorCode& e : error_codes()) {
    if (e.code == what) {
      out << e.code << " (exit code " << static_cast<int>(e.exit_code) << ")\n\n"
          << wrapped(e.meaning) << wrapped("What to do: " + std::string(e.cure));
      if (const auto example = error_example(e.code)) show_example(*example, out);
      return;
    }
    known.emplace_back(e.code);
  }
  usage("explain: there is no code '" + what + "'", did_you_mean(what, known));
}

// All overloads of "aten::foo", or the one that is named. False: there is none.
bool explain_operator(const std::string& name, std::ostream& out) {
  bool found = false;
  for (const opsets::OperatorFacts& f : opsets::operators())
    if (f.name == name || opsets::operator_name(f.name) == name) {
      out << (found ? "\n" : "") << operator_text(f);
      found = true;
    }
  return found;
}

// "aten::add.Tensor" of "aten::add_.Tensor"; empty where it is no name of a form in place.
std::string functional(const std::string& name) {
  const std::string base(opsets::operator_name(name));
  if (!base.ends_with("_") || base.ends_with("__")) return {};
  return base.substr(0, base.size() - 1) + name.substr(base.size());
}

}  // namespace

void Explain::options(CLI::App& app) {
  app.add_option("WHAT", what_, "Code or operator: OE5101, aten::add, aten::add.Tensor")
      ->type_name("");
}

void Explain::read() {
  if (what_.empty()) usage("explain: specify a code or an operator", "onnx-export explain OE5101");
}

std::optional<ExitCode> Explain::run(std::ostream& out) {
  if (is_code(what_)) {
    explain_code(what_, out);
    return ExitCode::Ok;
  }
  const std::string name = what_.find("::") == std::string::npos ? "aten::" + what_ : what_;
  if (explain_operator(name, out)) return ExitCode::Ok;
  const std::string form = functional(name);
  std::ostringstream text;
  if (!form.empty() && explain_operator(form, text)) {
    out << name << ": computed like the following operator, and written back during capture\n\n"
        << text.str();
    return ExitCode::Ok;
  }
  Strings known;
  for (const opsets::OperatorFacts& f : opsets::operators()) {
    known.emplace_back(f.name);
    known.emplace_back(opsets::operator_name(f.name));
  }
  const std::string hint = did_you_mean(name, known);
  usage("explain: '" + what_ + "' is neither a code nor a listed operator",
        !hint.empty()
            ? hint
            : "onnx-export list-ops lists the operators; those on lists, dicts and control flow "
              "are resolved during capture and not listed");
}

}  // namespace oe::app
