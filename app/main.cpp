// onnx-export: a verb, or a conversion. Links no LibTorch, so that it starts at once and outlives
// any crash.
#include <signal.h>

#include "app/convert.h"
#include "app/verbs/verb.h"

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error to report, with the files cleaned up
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty())
    if (const oe::app::VerbEntry* verb = oe::app::find_verb(arguments[0]);
        verb && !verb->converts) {
      arguments.erase(arguments.begin());
      return oe::app::run_verb(*verb, arguments);
    }
  return oe::app::convert(arguments);
}
