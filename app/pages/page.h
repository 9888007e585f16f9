// HTML pages: one file each that needs nothing else, made of JSON and of scripts that show it.
#pragma once

#include <ostream>
#include <string>

#include "app/json.h"

namespace oe::app {

enum class PageKind { Model, Batch };

// `title` and everything in `data` is text, whatever it contains.
void write_page(PageKind kind, const std::string& title, const ordered_json& data,
                std::ostream& out);

}  // namespace oe::app
