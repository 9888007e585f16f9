// The modules of an archive as a tree in which equal neighbours are one line.
#include "app/verbs/module_tree.h"

#include <map>

namespace oe::app {
namespace {

struct Branch {
  std::string name, type;
  std::vector<Branch> children;
};

// Equal shapes: the classes of a module and of all inside it, whatever their names.
std::string shape_of(const Branch& b) {
  std::string text = b.type + "(";
  for (const Branch& c : b.children) text += c.name + ":" + shape_of(c);
  return text + ")";
}

void add_lines(const Branch& b, size_t depth, Strings& lines) {
  const std::string indent(2 * depth, ' ');
  Strings shapes;
  for (const Branch& c : b.children) shapes.push_back(shape_of(c));
  for (size_t i = 0; i < b.children.size();) {
    size_t end = i + 1;
    while (end < b.children.size() && shapes[end] == shapes[i]) ++end;
    const Branch& first = b.children[i];
    std::string line = indent + first.name;
    if (end > i + 1) line += (end > i + 2 ? "-" : ", ") + b.children[end - 1].name;
    line += first.type.empty() ? "" : ": " + first.type;
    if (end > i + 1) line += " (" + std::to_string(end - i) + " times)";
    lines.push_back(line);
    add_lines(first, depth + 1, lines);
    i = end;
  }
}

}  // namespace

std::string class_name(const std::string& type) { return type.substr(type.rfind('.') + 1); }

Strings module_tree(const std::vector<archive::Summary::Module>& modules) {
  // Children in the order they were saved; a module stands before those inside it.
  std::map<std::string, Strings> inside;
  std::map<std::string, std::string> types;
  for (const archive::Summary::Module& m : modules) {
    types[m.path] = class_name(m.type);
    if (m.path.empty()) continue;
    const size_t dot = m.path.rfind('.');
    inside[dot == std::string::npos ? "" : m.path.substr(0, dot)].push_back(m.path);
  }
  const auto branch = [&](const auto& self, const std::string& path) -> Branch {
    Branch b{path.substr(path.rfind('.') + 1), types[path], {}};
    for (const std::string& child : inside[path]) b.children.push_back(self(self, child));
    return b;
  };
  const Branch whole = branch(branch, "");
  Strings lines;
  if (!whole.type.empty()) lines.push_back(whole.type);
  add_lines(whole, lines.size(), lines);
  return lines;
}

}  // namespace oe::app
