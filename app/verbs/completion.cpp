// `completion SHELL`: what bash, zsh or fish needs to complete a command line. The scripts hold
// words and nothing that asks the program again.
#include "app/verbs/completion.h"

#include <algorithm>

#include "app/choices.h"
#include "app/verbs/command_lines.h"
#include "lib/support/error_codes.h"
#include "lib/support/text.h"
#include "opsets/operators.h"

namespace oe::app {
namespace {

using Lines = std::vector<CommandLineOf>;

Strings verb_names(const Lines& all) {
  Strings names;
  for (const CommandLineOf& c : all) names.push_back(c.name);
  return names;
}

// Every code and operator that `explain` knows. Overloads are left out: explain lists them by the
// operator's name.
Strings explained_words() {
  Strings words;
  for (const ErrorCode& e : error_codes()) words.emplace_back(e.code);
  for (const opsets::OperatorFacts& f : opsets::operators()) {
    const std::string_view name = opsets::operator_name(f.name);
    if (words.back() != name) words.emplace_back(name);  // in ascending order
  }
  return words;
}

// Of the positional WHAT, SHELL, ...; empty where it takes something else.
Strings words_of(const std::string& positional) {
  return positional == "WHAT" ? explained_words() : choices_of(positional);
}
// The words that a verb's first positional takes.
Strings positional_words(const CommandLineOf& c) {
  return c.positionals.empty() ? Strings{} : words_of(c.positionals[0]);
}
bool takes_files(const CommandLineOf& c) { return std::ranges::any_of(c.positionals, names_file); }

// --- bash

constexpr const char* kBashHead =
    R"(# Completion of onnx-export for bash:  source <(onnx-export completion bash)
_onnx_export() {
  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} verb=convert
  local options words= files= values= equals= whole=
  # bash makes three words of --guess=auto.
  if [ "$current" = = ]; then
    current= equals=1
  elif [ "$option" = = ]; then
    option=${COMP_WORDS[COMP_CWORD - 2]} equals=1
  fi
  if [ "$COMP_CWORD" -gt 1 ]; then
    case ${COMP_WORDS[1]} in
)";

constexpr const char* kBashTail = R"(  esac
  COMPREPLY=()
  if [ -z "$values" ]; then
    case $current in
      -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current"); return ;;
    esac
  fi
  [ -z "$words" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "${whole:-$current}")
  # Of aten::add bash replaces what follows the last colon.
  [ -z "$whole" ] || COMPREPLY=("${COMPREPLY[@]#"${whole%"${whole##*:}"}"}")
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _onnx_export onnx-export
)";

void bash_verb(const CommandLineOf& c, const Strings& verbs, std::ostream& out) {
  Strings names;
  for (const OptionLine& o : c.options) names.insert(names.end(), o.names.begin(), o.names.end());
  // `convert` may be left out: verbs stand where its file does.
  const bool first = c.name == verbs.front();
  out << "    " << c.name << ")\n      options='" << join(names, " ") << "'\n";
  const Strings words = positional_words(c);
  if (!words.empty()) out << "      words='" << join(words, " ") << "'\n";
  // bash makes three words of aten::add.
  if (c.name == "explain")
    out << "      case $COMP_WORDBREAKS in *:*) printf -v whole %s \"${COMP_WORDS[@]:2:COMP_CWORD-1}\" ;; "
           "esac\n";
  if (first) out << "      [ \"$COMP_CWORD\" -gt 1 ] || words='" << join(verbs, " ") << "'\n";
  if (takes_files(c)) out << "      files=1\n";
  out << "      case $option in\n";
  for (const OptionLine& o : c.options) {
    // What may be left out stands behind '='.
    if (o.value.empty()) continue;
    const std::string bare = o.may_be_bare ? "[ -z \"$equals\" ] || " : "";
    out << "        " << join(o.names, "|") << ") " << bare << "{ values=1 words='"
        << join(o.words, " ") << "' files=" << (o.files ? "1" : "") << "; } ;;\n";
  }
  out << "      esac ;;\n";
}

void bash(const Lines& all, std::ostream& out) {
  const Strings verbs = verb_names(all);
  out << kBashHead << "      " << join(verbs, "|")
      << ") verb=${COMP_WORDS[1]} ;;\n    esac\n  fi\n  case $verb in\n";
  for (const CommandLineOf& c : all) bash_verb(c, verbs, out);
  out << kBashTail;
}

// --- zsh

// Inside single quotes and brackets.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    if (c != '\'') out += c;
  }
  return out;
}

std::string zsh_action(const std::string& value, const Strings& words, bool files) {
  // A colon would end the list of words.
  if (!words.empty()) return ":" + value + ":(" + zsh_text(join(words, " ")) + ")";
  return ":" + zsh_text(value) + ":" + (files ? "_files" : " ");
}

void zsh_verb(const CommandLineOf& c, std::ostream& out) {
  out << "    " << c.name << ")\n      _arguments -s";
  for (const OptionLine& o : c.options)
    for (const std::string& name : o.names) {
      const bool is_long = name.starts_with("--");
      const std::string form = o.value.empty() ? "" : !is_long ? "+" : o.may_be_bare ? "=-" : "=";
      out << " \\\n        '*" << name << form << "[" << zsh_text(o.what) << "]";
      if (!o.value.empty())
        out << (o.may_be_bare ? ":" : "")
            << zsh_action(o.words.empty() ? o.value : "value", o.words, o.files);
      out << "'";
    }
  for (const std::string& p : c.positionals)
    out << " \\\n        '" << zsh_action(p, words_of(p), names_file(p)) << "'";
  out << "\n      ;;\n";
}

void zsh(const Lines& all, std::ostream& out) {
  out << "#compdef onnx-export\n# Completion of onnx-export for zsh: put this into a folder of "
         "$fpath as _onnx-export.\n_onnx-export() {\n  local verb=convert\n  local -a verbs=(";
  for (const CommandLineOf& c : all) out << "\n    '" << c.name << ":" << zsh_text(c.what) << "'";
  out << "\n  )\n  if (( CURRENT == 2 )); then\n    _describe verb verbs\n  fi\n"
         "  case ${words[2]} in\n    "
      << join(verb_names(all), "|")
      << ")\n      verb=${words[2]}\n      shift words\n      (( CURRENT-- ))\n      ;;\n  esac\n"
         "  case $verb in\n";
  for (const CommandLineOf& c : all) zsh_verb(c, out);
  out << "  esac\n}\n_onnx-export \"$@\"\n";
}

// --- fish

std::string fish_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return "'" + out + "'";
}

void fish(const Lines& all, std::ostream& out) {
  Strings others = verb_names(all);
  out << "# Completion of onnx-export for fish:  onnx-export completion fish | source\n"
         "complete -c onnx-export -f\n";
  for (const CommandLineOf& c : all)
    out << "complete -c onnx-export -n __fish_use_subcommand -a " << c.name << " -d "
        << fish_text(c.what) << "\n";
  others.erase(others.begin());
  for (const CommandLineOf& c : all) {
    const bool convert = &c == &all.front();
    const std::string when =
        "complete -c onnx-export -n " +
        fish_text(convert ? "not __fish_seen_subcommand_from " + join(others, " ")
                          : "__fish_seen_subcommand_from " + c.name);
    if (takes_files(c)) out << when << " -F\n";
    if (const Strings words = positional_words(c); !words.empty())
      out << when << " -a " << fish_text(join(words, " ")) << "\n";
    for (const OptionLine& o : c.options) {
      out << when;
      for (const std::string& n : o.names)
        out << (n.starts_with("--") ? " -l " + n.substr(2) : " -s " + n.substr(1));
      if (!o.value.empty() && !o.may_be_bare) out << (o.files ? " -r -F" : " -x");
      if (!o.words.empty()) out << " -a " << fish_text(join(o.words, " "));
      out << " -d " << fish_text(o.what) << "\n";
    }
  }
}

}  // namespace

void Completion::options(CLI::App& app) {
  app.add_option("SHELL", shell_, "bash, zsh or fish")->type_name("");
}

void Completion::read() {
  if (shell_.empty()) usage("completion: no SHELL given", "use bash, zsh or fish");
  choose("SHELL", shell_);
}

std::optional<ExitCode> Completion::run(std::ostream& out) {
  const Lines all = command_lines();
  const size_t shell = choose("SHELL", shell_);
  if (shell == 0) bash(all, out);
  if (shell == 1) zsh(all, out);
  if (shell == 2) fish(all, out);
  return ExitCode::Ok;
}

}  // namespace oe::app
