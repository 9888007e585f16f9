// An input or output of a graph as people read it.
#include "lib/pipeline/outcome.h"

#include "lib/support/text.h"

namespace oe {

std::string to_string(const Port& p) {
  std::string text = p.name + " ";
  if (p.kind != "tensor")
    for (const std::string& word : split(p.kind, ' '))
      text += word + (word == "sequence" ? " of " : " ");
  text += p.type;
  if (!p.dims) return text + "*";
  std::vector<std::string> axes;
  for (const PortAxis& a : *p.dims)
    axes.push_back(a.size ? std::to_string(*a.size) : a.name.empty() ? "?" : a.name);
  return text + "[" + join(axes, ",") + "]";
}

}  // namespace oe
