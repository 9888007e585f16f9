// The folders in which the dynamic linker looks for the libraries of this executable.
#include "lib/support/library_folders.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <memory>

namespace oe {

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  const std::unique_ptr<void, int (*)(void*)> self(dlopen(nullptr, RTLD_LAZY), dlclose);
  Dl_serinfo size{};
  if (!self || dlinfo(self.get(), RTLD_DI_SERINFOSIZE, &size) != 0) return folders;
  // The list has a length that is known now, and its texts lie behind it.
  std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
  auto* list = reinterpret_cast<Dl_serinfo*>(memory.data());
  list->dls_size = size.dls_size;
  list->dls_cnt = size.dls_cnt;
  if (dlinfo(self.get(), RTLD_DI_SERINFO, list) != 0) return folders;
  for (unsigned i = 0; i < list->dls_cnt; ++i) folders.emplace_back(list->dls_serpath[i].dls_name);
  return folders;
}

}  // namespace oe
