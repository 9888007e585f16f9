// The one text form of all test files: cases of a heading, a body and sections.
//
//   what the file is about (any lines before the first case)
//
//   ## name
//   body
//   -- section argument
//   text of the section
//
// Which sections there are says the runner of the folder: golden (tests/ops/README.md), opsets and
// optimize here, the command line's in cli_runner.py.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace oe::tests {

struct Section {
  std::string name, argument;
  std::string text;  // without the blank lines around it
  size_t line = 0;   // of the section's own line, 0-based
  size_t end = 0;    // behind its last line, 0-based
};

struct TextCase {
  std::string name;
  size_t line = 0;   // of its heading, 0-based
  size_t end = 0;    // behind its last line that is not blank, 0-based
  std::string body;  // without the blank lines around it
  std::vector<Section> sections;
  // The only section of that name; null where there is none.
  const Section* section(const std::string& wanted) const;
};

struct CaseFile {
  std::filesystem::path path;
  std::vector<std::string> lines;
  std::vector<TextCase> cases;
  // "path:line" of a 0-based line.
  std::string place(size_t line) const;
};

// The .test files that these paths name or hold, in the order of their names.
std::vector<std::filesystem::path> case_files(const std::vector<std::filesystem::path>& paths);

// Throws std::runtime_error where the file cannot be read.
CaseFile read_cases(const std::filesystem::path& path);

// Other lines for [first, last) of a file.
struct Edit {
  size_t first, last;
  std::vector<std::string> lines;
};
// Another text for a section.
Edit edit(const CaseFile& file, const Section& section, const std::string& text);
// Writes the file with these edits, which must not overlap; not where they change nothing.
void rewrite(const CaseFile& file, std::vector<Edit> edits);

// The lines in which two texts differ, "-" before those of `was` and "+" before those of `now`,
// with two equal ones around each place. Takes linear steps: equal lines are searched a few lines
// ahead.
std::string line_diff(const std::string& was, const std::string& now);

}  // namespace oe::tests
