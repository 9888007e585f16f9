// Names of files in a model's folder: the plain name, or one with a content hash if that is taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace oe {

// The metadata entry of a model that names the file of its saved state.
constexpr std::string_view kStateFileKey = "state_file";

// "m.onnx.data" becomes "m.onnx.1a2b3c4d.data": eight digits of `hash` before the last extension.
std::string hashed_name(std::string_view name, uint64_t hash);

// Whether `candidate` is `name`, or could be hashed_name(name, ...).
bool is_name_or_hashed(std::string_view name, std::string_view candidate);

// `name` if it is not in `taken`; else the first hashed name that is not. The same arguments give
// the same name.
std::string free_name(const std::string& name, uint64_t hash,
                      const std::vector<std::string>& taken);

}  // namespace oe
