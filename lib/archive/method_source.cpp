// The source of one method, as it stands in the archive.
#include "lib/archive/method_source.h"

#include <algorithm>
#include <vector>

#include "lib/archive/source.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::archive {
namespace {

[[noreturn]] void no_method(const Archive& archive, const std::string& what,
                            std::string_view wanted, const std::vector<std::string>& known) {
  std::string hint = did_you_mean(wanted, known);
  if (hint.empty() && !known.empty() && known.size() <= 20) hint = "it has " + join(known, ", ");
  throw Failure(ExitCode::Usage, "OE0124", safe_line(archive.path().string() + ": " + what),
                safe_line(hint));
}

}  // namespace

std::string method_source(const Archive& archive, const Summary& s, std::string_view path) {
  const size_t dot = path.rfind('.');
  const std::string owner(path.substr(0, dot == std::string_view::npos ? 0 : dot));
  const std::string method(path.substr(dot == std::string_view::npos ? 0 : dot + 1));
  const auto module = std::ranges::find(s.modules, owner, &Summary::Module::path);
  if (module == s.modules.end()) {
    std::vector<std::string> known;
    for (const Summary::Module& m : s.modules)
      if (!m.path.empty()) known.push_back(m.path);
    no_method(archive, "has no module '" + owner + "'", owner, known);
  }
  const Record* r = archive.find(module->code);
  const std::string code = r ? archive.read(*r) : "";
  const std::string class_name = module->type.substr(module->type.rfind('.') + 1);
  const std::string text = method_text(code, class_name, method);
  if (!text.empty()) return text;
  std::vector<std::string> known;
  const auto classes = outline(code);
  if (const auto c = classes.find(class_name); c != classes.end())
    for (const Summary::Method& m : c->second.methods) known.push_back(m.name);
  no_method(
      archive,
      (owner.empty() ? "has no method '" : "module '" + owner + "' has no method '") + method + "'",
      method, known);
}

}  // namespace oe::archive
