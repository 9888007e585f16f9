// Every lowering row against LibTorch's operator registry: the schema's text, and the kinds of the
// lambda's parameters against the types of the schema's arguments.
#include <torch/csrc/jit/runtime/operator.h>

#include <catch2/catch.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "lib/lower/complex/complex.h"
#include "lib/lower/lowering.h"
#include "lib/lower/schema_text.h"

using namespace oe::lower;

namespace {

// As LibTorch prints it, without alias annotations: "Tensor(a!) self" -> "Tensor self".
std::string plain(const c10::FunctionSchema& schema) {
  std::ostringstream text;
  text << schema;
  static const std::regex alias(R"(\((?:[a-z]!?|\*)(?:\|[a-z])?(?: ?-> ?\*)?\))");
  return std::regex_replace(text.str(), alias, "");
}

// The registered schema of the row's name and overload; "" when there is none.
std::string registered(std::string_view name) {
  const size_t dot = name.find('.');
  const std::string overload(dot == std::string_view::npos ? "" : name.substr(dot + 1));
  const auto symbol = c10::Symbol::fromQualString(std::string(name.substr(0, dot)));
  for (const auto& op : torch::jit::getAllOperatorsFor(symbol))
    if (op->schema().overload_name() == overload) return plain(op->schema());
  return "";
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "int[1]? dim=None" -> "int[]?".
std::string type_of(std::string_view argument) {
  std::string type(argument.substr(0, argument.find(' ')));
  static const std::regex sized(R"(\[\d+\])");
  return std::regex_replace(type, sized, "[]");
}

bool fits(char kind, std::string type) {
  if (!type.empty() && type.back() == '?') type.pop_back();
  const bool list = type.size() > 2 && type.ends_with("[]");
  switch (kind) {
    case '_':
      return true;
    case 'V':
      return one_of(type, {"Tensor", "Scalar", "int", "SymInt", "float", "bool", "t", "t[]"});
    case 'C':
      return one_of(type, {"Tensor", "Scalar"});
    case 'L':
      return list;
    case 'i':
      return one_of(type, {"int", "SymInt", "ScalarType"});
    case 'n':  // a 0-d tensor serves as a computed integer
      return one_of(type, {"int", "SymInt", "Tensor"});
    case 'd':
      return one_of(type, {"float", "Scalar", "int", "SymInt"});
    case 'b':
      return type == "bool";
    case 's':
      return type == "str";
    case 't':
      return one_of(type, {"ScalarType", "int"});
    case 'I':
    case 'N':
      return one_of(type, {"int[]", "SymInt[]", "int", "SymInt"});
    case 'F':
      return one_of(type, {"float[]", "Scalar[]", "float"});
    case 'B':
      return type == "bool[]";
    case 'S':
      return one_of(type, {"Scalar", "int", "float", "bool"});
    default:
      return false;
  }
}

}  // namespace

TEST_CASE("every row's schema is LibTorch's own", "[lower]") {
  const std::span<const Table> all = GENERATE(tables(), complex_tables());
  std::set<std::string_view> seen;
  for (const Table& table : all) {
    for (const Lowering& row : table) {
      for (std::string_view name : row.names) {
        INFO(name);
        CHECK(seen.insert(name).second);
        const std::string expected = registered(name);
        // Operators of libraries outside LibTorch are registered only where a model needs them.
        const bool foreign = !name.starts_with("aten::") && !name.starts_with("prim::");
        if (foreign && expected.empty()) continue;
        CHECK(std::string(name) + std::string(row.signature) == expected);
      }
    }
  }
}

TEST_CASE("every row reads its arguments as what they are", "[lower]") {
  const std::span<const Table> all = GENERATE(tables(), complex_tables());
  for (const Table& table : all) {
    for (const Lowering& row : table) {
      INFO(*row.names.begin());
      const auto arguments = schema_arguments(row.signature);
      const std::string_view kinds = row.kinds;
      const bool rest = kinds.ends_with("* ");
      const size_t read = kinds.size() / 2 - rest;
      REQUIRE(read <= arguments.size());
      for (size_t i = 0; i < read; ++i) {
        INFO(arguments[i]);
        const char kind = kinds[2 * i], none = kinds[2 * i + 1];
        const std::string type = type_of(arguments[i]);
        CHECK(fits(kind, type));
        // None must not meet a parameter that cannot hold it, nor be expected where it never is.
        if (kind != '_') CHECK((none == '?') == type.ends_with("?"));
      }
      // An argument that the row does not look at has a default, or it could not be left out.
      for (size_t i = read; i < arguments.size() && !rest; ++i) {
        INFO(arguments[i]);
        CHECK(arguments[i].find('=') != std::string_view::npos);
      }
    }
  }
}

TEST_CASE("what is linear in complex numbers has a row of its own for real ones", "[lower]") {
  std::set<std::string> bases;
  for (const Table& table : tables())
    for (const Lowering& row : table)
      for (std::string_view name : row.names) {
        bases.insert(std::string(name));
        bases.insert(std::string(name.substr(0, name.find('.'))));
      }
  for (std::string_view name : linear_operators()) {
    INFO(name);
    CHECK(bases.contains(std::string(name)));
  }
}
