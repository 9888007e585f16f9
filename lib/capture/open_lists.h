// The content of an open list: a stack of its elements, column by column, or a sequence.
#pragma once

#include <functional>
#include <vector>

#include "lib/capture/sym.h"

namespace oe::capture {

// The type of a list of known length, or of an object, that can be an element of an open list
// column by column; null for other values.
c10::TypePtr columns_of(const Sym& s);
// A list of known length, or an object, as an element: its parts. Others stay what they are.
Sym as_columns(const Sym& s);
// The types of the columns that elements of this type have.
std::vector<c10::TypePtr> column_types(const c10::TypePtr& type, size_t columns);
// Applies `f` to every column of a stack, of which it also gets the number.
Sym each_column(const Sym& content, const std::function<Sym(const Sym&, size_t)>& f, size_t k = 0);
// The memory of the first column, which stands for the elements.
Cell* first_memory(const Sym& content);

}  // namespace oe::capture
