// Converts a TorchScript file, verifies it, and tells what came of it.
#include <onnx_export/onnx_export.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: convert MODEL.pt OUTPUT.onnx [SPEC...]\n";
    return 2;
  }
#ifdef TOOL
  const onnx_export::Tool tool(TOOL);
#else
  const onnx_export::Tool tool;
#endif
  onnx_export::ConvertOptions options;
  options.inputs.assign(argv + 3, argv + argc);
  options.verify = true;
  try {
    const onnx_export::Result r = tool.convert(argv[1], argv[2], options);
    for (const onnx_export::Problem& p : r.problems) {
      std::cout << p.code << " " << p.op << " " << p.message;
      if (p.line > 0) std::cout << " (" << p.file << ":" << p.line << ")";
      std::cout << "\n";
    }
    if (r.written())
      std::cout << r.output << ": opset " << r.opset << ", " << r.nodes << " nodes, "
                << r.inputs.at(0).name << " has " << r.inputs.at(0).axes->size() << " axes, "
                << r.verification->verdict << "\n";
    return r.exit_code;
  } catch (const onnx_export::Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
