#include "app/pages/page.h"

#include "lib/support/safe_text.h"

namespace oe::app {

// The files beside this one, as they are (CMakeLists.txt).
extern const char* const kPageStyle;
extern const char* const kPageScript;
extern const char* const kModelScript;
extern const char* const kGraphScript;
extern const char* const kBatchScript;

namespace {

// JSON between <script> tags: nothing in it ends the element or begins a comment.
std::string script_data(const ordered_json& j) {
  std::string out;
  for (const char c : dump(j, -1))
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

}  // namespace

void write_page(PageKind kind, const std::string& title, const ordered_json& data,
                std::ostream& out) {
  const std::string name = safe_line(title, TextTarget::Html);
  out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>"
      << name << "</title>\n<style>\n"
      << kPageStyle << "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the "
      << "report</a>\n<main id=\"main\"><noscript>This page needs JavaScript.</noscript></main>\n"
      << "<script type=\"application/json\" id=\"data\">" << script_data(data) << "</script>\n"
      << "<script>\n"
      << kPageScript;
  if (kind == PageKind::Model)
    out << kGraphScript << kModelScript;
  else
    out << kBatchScript;
  out << "</script>\n</body>\n</html>\n";
}

}  // namespace oe::app
