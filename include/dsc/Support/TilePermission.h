//===- TilePermission.h - leave to use tile registers ----------------------===//
#ifndef DSC_SUPPORT_TILEPERMISSION_H
#define DSC_SUPPORT_TILEPERMISSION_H

namespace dsc {

/// Linux lets a process use the tile registers of AMX (8 KiB a thread) only after it has asked,
/// once for all its threads. False where the system or the CPU has none.
bool requestTiles();

} // namespace dsc

#endif // DSC_SUPPORT_TILEPERMISSION_H
