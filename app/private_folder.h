// What writers of output share: a folder for files that are not finished, and the way to refuse.
#pragma once

#include <filesystem>
#include <string>

namespace oe::app {

// Makes a folder nobody else has inside `folder`. Throws Failure(Unwritable).
std::filesystem::path make_private_folder(const std::filesystem::path& folder);

// Throws Failure(Unwritable): "PATH: WHAT".
[[noreturn]] void unwritable(const char* code, const std::filesystem::path& path,
                             const std::string& what, const std::string& hint = {});

}  // namespace oe::app
