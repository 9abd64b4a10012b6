//===- OneBitTest.cpp - worked cases of 1-bit compression
//--------------------------------------===//
#include "dsc/Runtime/Comm/OneBit.h"
#include "Conformance.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::conformance;

namespace {

using Floats = std::vector<float>;

/// C(p) and what it loses, by way of a message.
struct Sent {
  explicit Sent(const Floats &p)
      : message(onebit::encodedBytes(p.size()), std::byte(0xFF)), c(p.size()), e(p.size()) {
    onebit::encode(p, message);
    onebit::decode(message, c);
    onebit::residual(p, message, e);
  }
  std::vector<std::byte> message;
  Floats c, e;
};

Floats sum(const Floats &a, const Floats &b) {
  Floats result = a;
  for (size_t i = 0; i < b.size(); ++i)
    result[i] += b[i];
  return result;
}

/// Numbers that add up exactly, so that nothing but the method is seen.
Floats numbers(size_t count, int step) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((static_cast<int>(i * 37 + step * 11) % 17) - 8) / 4;
  return values;
}

TEST(OneBit, OB_01_FeedbackOfErrors) {
  Floats g = {1, -2, 0, 3};
  Sent first(g);
  EXPECT_EQ(first.c, Floats({1.5, -1.5, 1.5, 1.5}));
  EXPECT_EQ(first.e, Floats({-0.5, -0.5, -1.5, 1.5}));
  Sent second(sum(g, first.e));
  EXPECT_EQ(second.c, Floats({2.25, -2.25, -2.25, 2.25}));
  EXPECT_EQ(second.e, Floats({-1.75, -0.25, 0.75, 2.25}));
  EXPECT_EQ(sum(sum(first.c, second.c), second.e), Floats({2, -4, 0, 6}));
  EXPECT_EQ(Sent(g).c, first.c); // without feedback
}

TEST(OneBit, OB_02_Zeros) {
  for (size_t n : {1, 5, 8, 13}) {
    Sent zeros(Floats(n, 0.0f)), negative(Floats(n, -0.0f));
    EXPECT_EQ(zeros.message, std::vector<std::byte>(onebit::encodedBytes(n)));
    EXPECT_EQ(negative.message, zeros.message);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_EQ(zeros.c[i], 0);
      EXPECT_EQ(zeros.e[i], 0);
      EXPECT_EQ(negative.c[i], 0);
      EXPECT_EQ(negative.e[i], 0);
    }
  }
  Sent mixed({0.0f, -0.0f, -4.0f});
  EXPECT_EQ(std::to_integer<int>(mixed.message[4]), 4); // padding bits too
  EXPECT_EQ(Sent({}).message.size(), 4u);
}

/// The message is all that the other side needs; here to itself, between processes in
/// comm-conformance.
TEST(OneBit, OB_03_MessageCarriesItsScale) {
  for (size_t n : {1, 4, 1000}) {
    Floats p = numbers(n, 3);
    double mean = 0;
    for (float value : p)
      mean += std::fabs(value) / static_cast<double>(n);
    Sent sent(p);
    for (size_t i = 0; i < n; ++i)
      EXPECT_FLOAT_EQ(sent.c[i], static_cast<float>(p[i] < 0 ? -mean : mean));
  }
}

/// The residual belongs to elements: messages of other lengths go on with it.
TEST(OneBit, OB_05_OtherBucketsKeepResiduals) {
  constexpr size_t n = 96;
  Floats all(n), sent(n), residual(n);
  for (int step = 0; step < 10; ++step) {
    size_t bucket = step < 5 ? 32 : 24;
    Floats g = numbers(n, step);
    all = sum(all, g);
    Floats p = sum(g, residual);
    for (size_t begin = 0; begin < n; begin += bucket) {
      Sent part(Floats(p.begin() + begin, p.begin() + begin + bucket));
      for (size_t i = 0; i < bucket; ++i) {
        sent[begin + i] += part.c[i];
        residual[begin + i] = part.e[i];
      }
    }
  }
  for (size_t i = 0; i < n; ++i)
    EXPECT_NEAR(sent[i] + residual[i], all[i], 1e-4) << i;
}

/// Lengths that neither bytes nor ranks divide: all ranks get the same, nothing is lost, and the
/// bytes are those planned.
TEST(OneBit, OB_06_AnyLength) {
  for (const Row &row : communicators())
    for (int ranks : {1, 2, 3})
      for (size_t n : {1, 7, 8, 9, 1023}) {
        std::vector<Floats> results(ranks), residuals(ranks), own(ranks);
        Floats sent(n), all(n);
        auto failures = runRanks(row.make(ranks, {}), [&](Rank &rank) {
          int self = rank.rank();
          Share share = onebit::ownShare(n, self, ranks);
          residuals[self].resize(n);
          own[self].resize(share.size());
          for (int step = 0; step < 10; ++step) {
            results[self] = numbers(n, step + 100 * self);
            Traffic before = rank.c.traffic();
            rank.expect(onebit::allReduce(rank.c, rank.everybody(), {"1-bit all-reduce", 1, "a"},
                                          results[self], residuals[self], own[self], rank.scratch),
                        "all-reduce");
            Traffic after = rank.c.traffic(), planned = onebit::trafficOf(n, self, ranks);
            rank.expect(after.sentBytes - before.sentBytes == planned.sentBytes &&
                            after.receivedBytes - before.receivedBytes == planned.receivedBytes,
                        "other traffic than planned");
            rank.expect(rank.c.barrier(), "barrier");
            rank.expect(!std::memcmp(results[self].data(), results[0].data(), 4 * n),
                        "other bits than rank 0");
            if (self == 0) {
              sent = sum(sent, results[0]);
              for (int r = 0; r < ranks; ++r)
                all = sum(all, numbers(n, step + 100 * r));
            }
            rank.expect(rank.c.barrier(), "barrier");
          }
        });
        ASSERT_TRUE(failures.empty()) << failures.front();
        for (int r = 0; r < ranks; ++r) {
          sent = sum(sent, residuals[r]);
          Share share = onebit::ownShare(n, r, ranks);
          for (size_t i = 0; i < share.size(); ++i)
            sent[share.begin + i] += own[r][i];
        }
        for (size_t i = 0; i < n; ++i)
          EXPECT_NEAR(sent[i], all[i], 1e-3) << ranks << " ranks, " << n << " values, at " << i;
      }
}

TEST(OneBit, NotFinite) {
  Sent sent({1, INFINITY, -2});
  EXPECT_EQ(sent.c[0], INFINITY);
  EXPECT_TRUE(std::isnan(Sent({1, NAN, -2}).c[0]));
}

} // namespace
