// `man`: the manual page, made from the tables that parse the command line.
#include "app/verbs/man.h"

#include "app/exit_codes.h"
#include "app/verbs/command_lines.h"
#include "app/version.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

constexpr std::pair<const char*, const char*> kEnvironment[] = {
    {"ONNX_EXPORT_ORT_LIB", "Path of ONNX Runtime's library, without --ort-lib."},
    {"ONNX_EXPORT_TORCH", "The torch package or LibTorch folder, without --torch."},
    {"NO_COLOR", "Never color messages."},
    {"CLICOLOR_FORCE", "Color messages also without a terminal."},
    {"TMPDIR", "Folder for a model that is going to standard output."},
    {"OMP_WAIT_POLICY", "How LibTorch's threads wait (default PASSIVE)."},
};

// Plain text as roff: nothing in it is a request or an escape.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    if (c == '-') out += '\\';
    if (c != '\\') out += c;
    if (c == '|') out += "\\:";  // a line may end here
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

void option_entry(const OptionLine& o, std::ostream& out) {
  Strings names;
  for (const std::string& n : o.names) names.push_back("\\fB" + roff(n) + "\\fR");
  out << ".TP\n" << join(names, ", ");
  if (!o.value.empty()) {
    const std::string value = "\\fI" + roff(o.value) + "\\fR";
    out << (o.may_be_bare ? "[=" + value + "]" : " " + value);
  }
  out << "\n" << roff(o.what) << "\n";
}

void option_section(const CommandLineOf& c, std::ostream& out) {
  std::string group = "Options";
  for (const OptionLine& o : c.options) {
    if (o.group != group) out << ".SS " << roff(group = o.group) << "\n";
    option_entry(o, out);
  }
}

}  // namespace

void Man::options(CLI::App&) {}

std::optional<ExitCode> Man::run(std::ostream& out) {
  const std::vector<CommandLineOf> all = command_lines();
  out << ".TH ONNX\\-EXPORT 1 \"\" \"onnx\\-export " << roff(kVersion) << "\"\n"
      << ".ad l\n.SH NAME\nonnx\\-export \\- converts TorchScript files into ONNX files\n.SH SYNOPSIS\n"
      << ".B onnx\\-export\n.I MODEL\n[\\fIoptions\\fR]\n";
  for (const CommandLineOf& c : all)
    out << ".br\n.B onnx\\-export " << roff(c.name) << "\n"
        << (c.positionals.empty() ? "" : ".I " + join(c.positionals, " ") + "\n")
        << "[\\fIoptions\\fR]\n";
  out << ".SH DESCRIPTION\nConverts a TorchScript file, as torch.jit.save writes it, into a "
         "standard ONNX file that computes the same numbers for every size that its dynamic axes "
         "allow. No Python is needed.\n.PP\nA verb is recognised as the first word only; "
         "\\fB./inspect\\fR or \\fB\\-\\- inspect\\fR is a file of that name.\n.SH VERBS\n";
  for (const CommandLineOf& c : all)
    out << ".TP\n.B " << roff(c.name) << "\n" << roff(c.what) << "\n";
  for (const CommandLineOf& c : all) {
    out << ".SH OPTIONS OF " << roff(c.name) << "\n";
    option_section(c, out);
  }
  out << ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes)
    out << ".TP\n.B " << code << "\n" << roff(std::string(meaning)) << "\n";
  out << ".SH ENVIRONMENT\n";
  for (const auto& [name, what] : kEnvironment)
    out << ".TP\n.B " << name << "\n" << roff(what) << "\n";
  out << ".SH EXAMPLES\n.nf\n"
      << roff("onnx-export resnet18.pt --input x:batch=2x3x224x224 --verify\n")
      << roff("onnx-export inspect policy.pt\n") << roff("onnx-export explain OE5101\n") << ".fi\n";
  return ExitCode::Ok;
}

}  // namespace oe::app
