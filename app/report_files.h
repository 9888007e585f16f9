// The files of --report: how they are written.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace oe::app {

// Refuses a report whose folder is missing, or that is a folder. `made`: a folder that will be
// there. Throws Failure(Unwritable).
void require_report_folders(const std::vector<std::string>& files, const std::string& made = {});
// Writes the file beside its name and renames it. Throws Failure(Unwritable).
void write_report(const std::string& file, const std::function<void(std::ostream&)>& write);

}  // namespace oe::app
