//===- SystemError.h - what a call of the system refused -------------------===//
#ifndef DSC_LIB_SUPPORT_SYSTEMERROR_H
#define DSC_LIB_SUPPORT_SYSTEMERROR_H

#include "dsc/Support/Status.h"
#include <string>
#include <system_error>

namespace dsc {

/// "cannot open 'a.txt': No such file or directory". Code Input.
inline Status systemError(const std::string &what, const std::string &path, int code) {
  return inputError(what + " '" + path + "': " + std::generic_category().message(code));
}

} // namespace dsc

#endif // DSC_LIB_SUPPORT_SYSTEMERROR_H
