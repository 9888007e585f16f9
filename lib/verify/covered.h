// The branches and trip counts of one If or Loop of the model's source that were verified.
#pragma once

#include <string>
#include <vector>

namespace oe::verify {

struct Covered {
  std::string construct;  // "if", "condition" (of `and`, `or`, an early exit), "loop"
  std::string file;       // as in the author's Python
  int line = 0;
  // Of an if: "then", "else"; of a condition: "true", "false"; of a loop the trip counts: "0", "1",
  // "2", "more". Neither list has what is impossible for any input. A construct with several copies
  // (a function called twice) has reached what every copy has reached.
  std::vector<std::string> reached, unreached;
  std::vector<std::string>
      refused;  // of the unreached: LibTorch refuses the inputs that lead there
};

// "verified without ever taking the else branch of 'if' at net.py:12 and without 0 trips of the
// loop at net.py:9"; empty when everything was reached. What LibTorch refused stands apart.
std::string unreached_note(const std::vector<Covered>& all);
// "'if' at net.py:12: then; never else"
std::string coverage_line(const Covered& c);

}  // namespace oe::verify
