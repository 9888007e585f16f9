// `explain OE1234`: what a problem's code means and what to do.
#include "app/verbs/explain.h"

#include "lib/support/error_codes.h"
#include "lib/support/text.h"

namespace oe::app {

void Explain::options(CLI::App& app) {
  app.add_option("WHAT", what_, "a code, as in OE5101")->type_name("");
}

void Explain::read() {
  if (what_.empty()) usage("explain: nothing to explain is given", "onnx-export explain OE5101");
}

std::optional<ExitCode> Explain::run(std::ostream& out) {
  Strings known;
  for (const ErrorCode& e : error_codes()) {
    if (e.code == what_) {
      out << e.code << " (exit " << static_cast<int>(e.exit_code) << ")\n"
          << e.meaning << "\n"
          << e.cure << "\n";
      return ExitCode::Ok;
    }
    known.emplace_back(e.code);
  }
  usage("explain: there is no code '" + what_ + "'", did_you_mean(what_, known));
}

}  // namespace oe::app
