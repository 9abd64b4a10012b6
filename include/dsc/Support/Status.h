//===- Status.h - errors of everything that does not link LLVM -------------===//
// No exceptions cross a library's edge and no library ends the process: functions return Status.
#ifndef DSC_SUPPORT_STATUS_H
#define DSC_SUPPORT_STATUS_H

#include <optional>
#include <string>
#include <utility>

namespace dsc {

/// Kinds of failure; the value is the exit code of every tool.
enum class ErrorCode {
  Ok = 0,
  Input = 1,         ///< the spec, or an input it names (data, ids, weights), is wrong or absent
  Usage = 2,         ///< flags, process count
  Memory = 3,        ///< does not fit
  Numeric = 4,       ///< numeric stop
  Communication = 5, ///< a rank failed or did not answer
  Damaged = 6,       ///< plan or checkpoint damaged, foreign, or for another CPU; final save failed
  Internal = 70,
};

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == ErrorCode::Ok; }
  explicit operator bool() const { return ok(); }
  ErrorCode code() const { return code_; }
  int exitCode() const { return static_cast<int>(code_); }
  /// One line or more, lower case, no full stop: cause, numbers, fix.
  const std::string &message() const { return message_; }

private:
  ErrorCode code_ = ErrorCode::Ok;
  std::string message_;
};

inline Status inputError(std::string message) { return {ErrorCode::Input, std::move(message)}; }
inline Status damagedError(std::string message) { return {ErrorCode::Damaged, std::move(message)}; }

/// A value, or why there is none.
template <typename T> class [[nodiscard]] StatusOr {
public:
  StatusOr(T value) : value_(std::move(value)) {}
  StatusOr(Status status) : status_(std::move(status)) {}
  bool ok() const { return status_.ok(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return status_; }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  Status status_;
  std::optional<T> value_;
};

} // namespace dsc

#endif // DSC_SUPPORT_STATUS_H
