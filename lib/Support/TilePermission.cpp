//===- TilePermission.cpp - leave to use tile registers --------------------===//
// arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA): Documentation/arch/x86/xstate.rst of Linux.
#include "dsc/Support/TilePermission.h"
#include <sys/syscall.h>
#include <unistd.h>

bool dsc::requestTiles() {
  constexpr int requestPermission = 0x1023, tileData = 18;
  static const bool granted = ::syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return granted;
}
