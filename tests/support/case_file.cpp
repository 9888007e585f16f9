#include "tests/support/case_file.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "lib/support/text.h"

namespace oe::tests {
namespace {

bool heading(const std::string& line) { return line.starts_with("## "); }
bool section(const std::string& line) { return line.starts_with("-- "); }

// Behind the last line that belongs to what stands in line i.
size_t end_of(const std::vector<std::string>& lines, size_t i) {
  for (++i; i < lines.size() && !heading(lines[i]) && !section(lines[i]);) ++i;
  return i;
}

std::string text_of(const std::vector<std::string>& lines, size_t first, size_t last) {
  while (first < last && strip(lines[first]).empty()) ++first;
  while (last > first && strip(lines[last - 1]).empty()) --last;
  std::string text;
  for (size_t i = first; i < last; ++i) text += lines[i] + "\n";
  return text;
}

}  // namespace

const Section* TextCase::section(const std::string& wanted) const {
  const auto it = std::ranges::find(sections, wanted, &Section::name);
  return it == sections.end() ? nullptr : &*it;
}

std::string CaseFile::place(size_t line) const {
  return path.string() + ":" + std::to_string(line + 1);
}

std::vector<std::filesystem::path> case_files(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& e : std::filesystem::recursive_directory_iterator(path))
      if (e.path().extension() == ".test") files.push_back(e.path());
  }
  std::ranges::sort(files);
  return files;
}

CaseFile read_cases(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path.string() + ": cannot be read");
  CaseFile f;
  f.path = path;
  for (std::string line; std::getline(in, line);) f.lines.push_back(line);
  for (size_t i = 0; i < f.lines.size();) {
    const std::string& line = f.lines[i];
    const size_t end = end_of(f.lines, i);
    const std::string text = text_of(f.lines, i + 1, end);
    if (heading(line)) {
      f.cases.push_back({std::string(strip(line.substr(3))), i, 0, text, {}});
    } else if (section(line) && !f.cases.empty()) {
      const std::string rest = line.substr(3);
      const size_t name = std::min(rest.find_first_of(" :"), rest.size());
      f.cases.back().sections.push_back(
          {rest.substr(0, name), std::string(strip(rest.substr(name))), text, i, end});
    }
    if (!f.cases.empty()) {
      size_t last = end;
      while (strip(f.lines[last - 1]).empty()) --last;
      f.cases.back().end = last;
    }
    i = end;
  }
  return f;
}

Edit edit(const CaseFile& file, const Section& section, const std::string& text) {
  Edit e{section.line + 1, section.end, split(strip(text), '\n')};
  if (section.end < file.lines.size() && heading(file.lines[section.end])) e.lines.push_back("");
  return e;
}

void rewrite(const CaseFile& file, std::vector<Edit> edits) {
  // From the end, so that the line numbers of the others stay right.
  std::ranges::stable_sort(edits, std::ranges::greater{}, &Edit::first);
  std::vector<std::string> lines = file.lines;
  for (const Edit& e : edits) {
    lines.erase(lines.begin() + static_cast<long>(e.first),
                lines.begin() + static_cast<long>(e.last));
    lines.insert(lines.begin() + static_cast<long>(e.first), e.lines.begin(), e.lines.end());
  }
  if (lines == file.lines) return;
  std::ofstream out(file.path, std::ios::trunc);
  for (const std::string& line : lines) out << line << "\n";
}

std::string line_diff(const std::string& was, const std::string& now) {
  constexpr size_t kContext = 2, kAhead = 40;
  const std::vector<std::string> a = split(was, '\n'), b = split(now, '\n');
  std::string text;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i, ++j;
      continue;
    }
    size_t left = a.size() - i, right = b.size() - j;  // what is left when nothing is equal again
    for (size_t ahead = 1; ahead < 2 * kAhead && left + right > ahead; ++ahead) {
      for (size_t x = 0; x <= ahead; ++x) {
        const size_t y = ahead - x;
        if (i + x < a.size() && j + y < b.size() && a[i + x] == b[j + y] &&
            !strip(a[i + x]).empty())
          left = x, right = y;
      }
    }
    text += text.empty() ? "" : "...\n";
    for (size_t k = i - std::min(i, kContext); k < i; ++k) text += "  " + a[k] + "\n";
    for (size_t k = 0; k < left; ++k) text += "- " + a[i + k] + "\n";
    for (size_t k = 0; k < right; ++k) text += "+ " + b[j + k] + "\n";
    i += left, j += right;
    for (size_t k = i; k < std::min(a.size(), i + kContext); ++k) text += "  " + a[k] + "\n";
  }
  return text;
}

}  // namespace oe::tests
