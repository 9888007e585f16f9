// onnx-export: a verb, or a conversion. Links no LibTorch, so that it starts at once and outlives
// any crash.
#include <signal.h>

#include "app/batch/batch.h"
#include "app/convert.h"
#include "app/memory.h"
#include "app/verbs/verb.h"

namespace {

// `help`, `help check` and `version` ask for what the options of that name do.
std::vector<std::string> asked_by_word(const std::vector<std::string>& words) {
  if (words[0] == "version") return {"--version"};
  if (words.size() == 1) return {"--help"};
  return {words[1], "--help"};
}

int run(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && (arguments[0] == "help" || arguments[0] == "version"))
    arguments = asked_by_word(arguments);
  if (!arguments.empty() && arguments[0] == "batch")
    return oe::app::batch({arguments.begin() + 1, arguments.end()});
  if (!arguments.empty())
    if (const oe::app::VerbEntry* verb = oe::app::find_verb(arguments[0]);
        verb && !verb->converts) {
      arguments.erase(arguments.begin());
      return oe::app::run_verb(*verb, arguments);
    }
  return oe::app::convert(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe and a file that becomes too large are errors to report, with the files cleaned
  // up.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  oe::app::end_in_order_without_memory();
  try {
    const int code = run(argc, argv);
    return code == 0 && oe::app::allocation_has_failed() ? oe::app::say_out_of_memory() : code;
  } catch (const std::exception& e) {
    // What else may come here is told in convert() and run_verb().
    if (!oe::app::is_out_of_memory(e)) throw;
    return oe::app::say_out_of_memory();
  }
}
