//===- StatusTest.cpp - Status and StatusOr --------------------------------===//
#include "dsc/Support/Status.h"
#include <gtest/gtest.h>

using namespace dsc;

TEST(Status, ErrorKindIsTheExitCode) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().exitCode(), 0);
  EXPECT_EQ(inputError("x").exitCode(), 1);
  EXPECT_EQ(damagedError("x").exitCode(), 6);
  EXPECT_EQ(Status(ErrorCode::Internal, "x").exitCode(), 70);
}

TEST(StatusOr, HoldsAValueOrTheReasonWhyNot) {
  StatusOr<int> value(3), error(inputError("no such file: 'a'"));
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 3);
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.status().message(), "no such file: 'a'");
}
