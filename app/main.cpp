// onnx-export: a verb, or a conversion. Links no LibTorch, so that it starts at once and outlives
// any crash.
#include <signal.h>

#include "app/convert.h"
#include "app/verbs/verb.h"

int main(int argc, char** argv) {
  // A closed pipe and a file that becomes too large are errors to report, with the files cleaned
  // up.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty())
    if (const oe::app::VerbEntry* verb = oe::app::find_verb(arguments[0]);
        verb && !verb->converts) {
      arguments.erase(arguments.begin());
      return oe::app::run_verb(*verb, arguments);
    }
  return oe::app::convert(arguments);
}
