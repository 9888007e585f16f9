// The worker's part of each verb.
#include "app/worker/verbs.h"

#include <stdexcept>

namespace oe::app {
namespace {

struct Part {
  std::string_view name;
  void (*run)(const Verb& verb, std::ostream& out, Report& r);
};

template <class V, void (*F)(const V&, std::ostream&, Report&)>
void part(const Verb& verb, std::ostream& out, Report& r) {
  F(dynamic_cast<const V&>(verb), out, r);
}

constexpr Part kParts[] = {
    {"diff", &part<Diff, diff>},
    {"doctor", &part<Doctor, doctor>},
    {"inspect", &part<Inspect, inspect>},
    {"lint", &part<Lint, lint>},
};

}  // namespace

void run_verb_part(std::string_view name, const Strings& arguments, const SandboxLevel& sandbox,
                   std::ostream& out, Report& r) {
  const VerbEntry* entry = find_verb(name);
  for (const Part& p : kParts) {
    if (!entry || p.name != name) continue;
    std::string text;
    const std::unique_ptr<Verb> verb = read_verb(*entry, arguments, text);
    verb->sandbox = sandbox;
    p.run(*verb, out, r);
    require_written(out);
    return;
  }
  throw std::logic_error("the worker has no part in '" + std::string(name) + "'");
}

}  // namespace oe::app
