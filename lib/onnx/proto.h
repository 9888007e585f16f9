// Private to lib/onnx: conversion between ir::Model and protobuf's classes.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lib/ir/ir.h"

namespace oe::onnx {

namespace pb = ONNX_NAMESPACE;

// Where the bytes of a tensor with external data are; throws std::runtime_error.
using ExternalReader = std::function<TensorPtr(const pb::TensorProto&)>;

// `proto` stays alive as long as a tensor of the model views its raw_data. Nested initializers move
// to the outermost graph, local functions are inlined. Throws std::runtime_error for what
// ir::Model cannot hold (sparse tensors, maps, sub-byte types).
ir::Model from_proto(std::shared_ptr<pb::ModelProto> proto, const ExternalReader& external = {});

// Strings too. `owner` keeps the proto alive (null: bytes are copied). Throws std::runtime_error
// for types of less than a byte and for data that does not fill the dims.
TensorPtr tensor_from_proto(const pb::TensorProto& t, const std::shared_ptr<const void>& owner,
                            const ExternalReader& external);
ir::Type from_proto(const pb::TypeProto& t);
pb::TypeProto to_proto(const ir::Type& t);
// An attribute without graphs; `owner` keeps the proto alive (null: bytes are copied).
ir::Attribute from_proto(const pb::AttributeProto& a, const std::shared_ptr<const void>& owner,
                         const ExternalReader& external = {});

// Makes ir nodes of a run of protos (a graph's or a function's) inside `m`.
class NodeReader {
 public:
  NodeReader(ir::Model& m, std::shared_ptr<const void> owner, ExternalReader external)
      : m_(m), owner_(std::move(owner)), external_(std::move(external)) {}

  // Values by the protos' names; a nested graph's scope falls back on its parent's.
  struct Scope {
    Scope* parent = nullptr;
    std::unordered_map<std::string, ir::Value*> values;
    ir::Value* find(const std::string& name) const;
    bool has(const std::string& name) const;  // also one that stands for no value
  };
  // Looks up an attribute that a function's node refers to; null: absent, the attribute is dropped.
  // Without a lookup references stay.
  using AttributeLookup = std::function<const ir::Attribute*(const std::string&)>;

  void graph(const pb::GraphProto& g, ir::Graph& out, Scope& scope);
  // Values of the node's outputs that the scope does not know yet are made by declare().
  std::unique_ptr<ir::Node> node(const pb::NodeProto& n, Scope& scope);
  void declare(const pb::NodeProto& n, Scope& scope);

  std::string prefix;      // put before the names of new values and nodes
  AttributeLookup lookup;  // for function bodies
  OriginPtr origin;        // of the nodes made

 private:
  ir::Model& m_;
  std::shared_ptr<const void> owner_;
  ExternalReader external_;
};

// Adds what ONNX shape inference said about `values`, by name; dims that are a number or a symbol
// stay. Symbols that inference invented count as unknown.
class TypeMerger {
 public:
  void know(const ir::Type& t);  // registers the symbols that are the model's own
  void merge(ir::Type& into, const pb::TypeProto& inferred) const;

 private:
  void merge(ir::Type& into, const ir::Type& inferred) const;
  std::unordered_set<std::string> symbols_;
};

}  // namespace oe::onnx
