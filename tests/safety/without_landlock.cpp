// Runs a program on a kernel without Landlock: its system calls answer ENOSYS from here on.
//   without_landlock PROGRAM ARGUMENTS...
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <initializer_list>

int main(int argc, char** argv) {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  for (const int call : {SCMP_SYS(landlock_create_ruleset), SCMP_SYS(landlock_restrict_self)})
    if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0) != 0) return 126;
  if (seccomp_load(filter) != 0 || argc < 2) return 126;
  execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 127;
}
