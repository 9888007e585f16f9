// `inspect FILE.onnx`: opsets, inputs, outputs, operators, weights.
#include <map>

#include "app/worker/verbs.h"
#include "lib/onnx/onnx.h"
#include "lib/support/text.h"

namespace oe::app {

void inspect_onnx(const Inspect& verb, std::ostream& out, Report& r) {
  (void)r;
  ir::Model m = onnx::read_file(verb.file);
  out << verb.file << ": opset " << m.opset() << ", IR version " << m.ir_version << "\n";
  std::map<std::string, size_t> operators;
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
    for (const auto& n : g.nodes) ++operators[n->op];
  });
  for (const auto& [name, count] : operators) out << "  " << name << " " << count << "\n";
}

}  // namespace oe::app
