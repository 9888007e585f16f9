// Messages on standard error, in colour where that is wanted.
#pragma once

#include <string>
#include <vector>

namespace oe::app {

enum class Color { Auto, Always, Never };

// The --color of arguments that could not be read.
Color wanted_color(const std::vector<std::string>& arguments);

// Prints to standard error, the first word of each message in colour, with all that could steer the
// terminal made visible.
void say(const std::string& text, Color color);

}  // namespace oe::app
