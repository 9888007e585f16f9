#include "app/report_files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "app/private_folder.h"

namespace oe::app {

namespace fs = std::filesystem;

void require_report_folders(const std::vector<std::string>& files, const std::string& made) {
  for (const std::string& file : files) {
    const fs::path folder = fs::path(file).parent_path();
    std::error_code error;
    const bool will_be =
        !made.empty() && folder.lexically_normal() / "" == fs::path(made).lexically_normal() / "";
    if (!will_be && !fs::is_directory(folder.empty() ? "." : folder, error))
      unwritable("OE0701", folder, "the folder for the report does not exist", "create it");
    if (fs::is_directory(file, error)) unwritable("OE0702", file, "is a directory");
  }
}

void write_report(const std::string& file, const std::function<void(std::ostream&)>& write) {
  const fs::path part = file + ".part";
  std::ofstream out(part, std::ios::binary);
  write(out);
  out.close();
  std::error_code error;
  if (!out) {
    const int why = errno;
    fs::remove(part, error);
    unwritable("OE0705", file, std::strerror(why));
  }
  fs::rename(part, file, error);
  if (error) unwritable("OE0705", file, error.message());
}

}  // namespace oe::app
