// The search in all families' tables.
#include <unordered_map>

#include "lib/lower/lower.h"
#include "lib/lower/lowering.h"

namespace oe::lower {

const Lowering* find(std::string_view op) {
  static const auto* index = [] {
    auto* map = new std::unordered_map<std::string_view, const Lowering*>;
    for (const Table& table : tables())
      for (const Lowering& row : table)
        for (std::string_view name : row.names) map->emplace(name, &row);
    return map;
  }();
  auto it = index->find(op);
  return it == index->end() ? nullptr : it->second;
}

bool has_row(std::string_view op) { return find(op); }

}  // namespace oe::lower
