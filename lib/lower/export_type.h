// What becomes of operators on the way to ONNX: torch.onnx's OperatorExportTypes. Standard library
// only.
#pragma once

namespace oe::lower {

enum class ExportType {
  Onnx,              // every operator as standard ONNX, or an error
  OnnxAten,          // aten operators as org.pytorch.aten.ATen nodes
  OnnxAtenFallback,  // those that cannot be written as ATen nodes
  Raw,               // every operator as it is: the domain is its namespace
  OnnxFallthrough,   // those that cannot be written as they are
};

}  // namespace oe::lower
