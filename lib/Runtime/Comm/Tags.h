//===- Tags.h - tags of messages that collectives send --------------------------===//
// Above those of users, so that the two never meet. That of a collective holds its id: ranks that
// come with different ones do not take each other's data.
#ifndef DSC_LIB_RUNTIME_COMM_TAGS_H
#define DSC_LIB_RUNTIME_COMM_TAGS_H

#include "dsc/Runtime/Comm/Communicator.h"

namespace dsc::tag {

inline constexpr uint64_t barrier = Communicator::tags, broadcast = barrier + 1,
                          gather = barrier + 2;
/// Transports number them in 30 bits.
inline uint64_t collective(uint32_t id) {
  return Communicator::tags + 16 + (id & ((uint32_t(1) << 28) - 1));
}

} // namespace dsc::tag

#endif // DSC_LIB_RUNTIME_COMM_TAGS_H
