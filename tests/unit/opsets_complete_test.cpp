// The ladder knows every operator of ONNX at every step, and a row says what really changed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "lib/onnx/schema.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

bool has_version(const std::string& op, int64_t v) {
  const auto all = onnx::versions("", op);
  return std::find(all.begin(), all.end(), v) != all.end();
}

// Whether a node that the newer schema accepts means the same under the older one, types apart.
bool only_types_changed(const onnx::Schema& newer, const onnx::Schema& older) {
  for (const onnx::SchemaAttribute& a : newer.attributes) {
    const onnx::SchemaAttribute* b = older.attribute(a.name);
    if (!b || a.has_default != b->has_default || (b->required && !a.required)) return false;
    if (a.has_default && a.default_value != b->default_value) return false;
  }
  for (const onnx::SchemaAttribute& b : older.attributes)
    if (b.required && !newer.attribute(b.name)) return false;
  if (newer.max_inputs > older.max_inputs || newer.min_inputs < older.min_inputs) return false;
  if (newer.max_outputs > older.max_outputs) return false;
  for (size_t i = 0; i < newer.inputs.size() && i < older.inputs.size(); ++i)
    if (newer.inputs[i].optional && !older.inputs[i].optional) return false;
  return true;
}

}  // namespace

TEST_CASE("every operator that an opset changed has a row in its rung") {
  for (int n = 28; n >= 8; --n) {
    std::map<std::string_view, const Row*> rows;
    for (const Row& row : rung(n)) {
      INFO("opset " << n << ", " << row.op);
      CHECK(rows.emplace(row.op, &row).second);  // no operator twice
    }
    for (const std::string& op : onnx::operators(n)) {
      INFO("opset " << n << ", " << op);
      if (!has_version(op, n)) {
        CHECK_FALSE(rows.contains(op));
        continue;
      }
      CHECK(rows.contains(op));
    }
  }
}

TEST_CASE("a row that says 'same' hides nothing but element types") {
  for (int n = 28; n >= 8; --n)
    for (const Row& row : rung(n)) {
      if (row.kind != Row::Kind::Same && row.kind != Row::Kind::Defaults) continue;
      INFO("opset " << n << ", " << row.op);
      const onnx::Schema* newer = onnx::find_schema("", row.op, n);
      const onnx::Schema* older = onnx::find_schema("", row.op, n - 1);
      REQUIRE(newer);
      REQUIRE(older);
      if (row.kind == Row::Kind::Same) CHECK(only_types_changed(*newer, *older));
    }
}

TEST_CASE("a row with a body has one in its schema") {
  for (int n = 28; n >= 8; --n)
    for (const Row& row : rung(n)) {
      if (row.kind != Row::Kind::Body) continue;
      INFO("opset " << n << ", " << row.op);
      const onnx::Schema* schema = onnx::find_schema("", row.op, n);
      REQUIRE(schema);
      CHECK(schema->has_function_body);
    }
}

}  // namespace oe::opsets
