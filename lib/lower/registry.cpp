// The search in all families' tables.
#include <unordered_map>

#include "lib/lower/lower.h"
#include "lib/lower/lowering.h"

namespace oe::lower {

namespace {

using Index = std::unordered_map<std::string_view, const Lowering*>;

Index index_of(std::span<const Table> tables) {
  Index index;
  for (const Table& table : tables)
    for (const Lowering& row : table)
      for (std::string_view name : row.names) index.emplace(name, &row);
  return index;
}

const Lowering* find_in(const Index& index, std::string_view op) {
  auto it = index.find(op);
  return it == index.end() ? nullptr : it->second;
}

}  // namespace

const Lowering* find(std::string_view op) {
  static const auto* index = new Index(index_of(tables()));
  return find_in(*index, op);
}

const Lowering* find_complex(std::string_view op) {
  static const auto* index = new Index(index_of(complex_tables()));
  return find_in(*index, op);
}

bool has_row(std::string_view op) { return find(op) || find_complex(op); }

}  // namespace oe::lower
