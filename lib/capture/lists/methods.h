// Tables of {name, handler}: how the methods of containers are found.
#pragma once

#include <algorithm>
#include <string_view>

namespace oe::capture {

// The row of that name; null where the table has none.
template <class Row, size_t N>
const Row* row_named(const Row (&table)[N], std::string_view name) {
  const Row* row = std::ranges::find(table, name, &Row::name);
  return row == std::end(table) ? nullptr : row;
}

}  // namespace oe::capture
