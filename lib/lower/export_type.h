// How operators are exported: torch.onnx's OperatorExportTypes. Standard library
// only.
#pragma once

namespace oe::lower {

enum class ExportType {
  Onnx,              // every operator as standard ONNX, or an error
  OnnxAten,          // aten operators as org.pytorch.aten.ATen nodes
  OnnxAtenFallback,  // as ATen nodes, only operators that cannot be lowered
  Raw,               // every operator unchanged: the domain is its namespace
  OnnxFallthrough,   // unchanged, only operators that cannot be lowered
};

}  // namespace oe::lower
