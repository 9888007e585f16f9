// The options of every verb as plain data, read off the tables that parse them.
#include "app/verbs/command_lines.h"

#include <set>

#include "app/choices.h"
#include "app/option_table.h"
#include "app/options.h"
#include "app/verbs/verb.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

OptionLine line_of(const CLI::Option& o) {
  OptionLine line;
  for (const std::string& n : o.get_snames()) line.names.push_back("-" + n);
  for (const std::string& n : o.get_lnames()) line.names.push_back("--" + n);
  line.words = choices_of(line.names.back());
  line.group = o.get_group();
  line.what = o.get_description();
  if (o.get_items_expected_max() > 0) line.value = o.get_type_name();
  // CLI11 has options whose value may be left out as flags.
  const std::string type = o.get_type_name();
  line.may_be_bare = line.value.empty() && (!line.words.empty() || type.starts_with("["));
  if (line.may_be_bare)
    line.value = line.words.empty() ? type.substr(1, type.size() - 2) : join(line.words, "|");
  line.files = names_file(line.value);
  return line;
}

CommandLineOf command_line(const std::string& name, const std::string& what, CLI::App& app) {
  CommandLineOf c{name, what, {}, {}};
  for (const CLI::Option* o : app.get_options()) {
    if (o->nonpositional())
      c.options.push_back(line_of(*o));
    else
      c.positionals.push_back(o->get_name());
  }
  return c;
}

}  // namespace

std::vector<CommandLineOf> command_lines() {
  Raw raw;
  CLI::App convert;
  set_up(convert);
  add_options(convert, raw);
  std::vector<CommandLineOf> all = {
      command_line("convert", "Convert a TorchScript file; the verb is optional", convert)};
  for (const VerbEntry& v : verbs()) {
    VerbLine line(v);
    all.push_back(command_line(std::string(v.name), std::string(v.what), line.app));
  }
  return all;
}

bool names_file(const std::string& value) {
  static const std::set<std::string> files = {"FILE", "MODEL",  "PATH", "LIB",
                                              "DIR",  "SOURCE", "A",    "B"};
  return files.contains(value);
}

}  // namespace oe::app
