//===- EmbeddingTest.cpp - token and position tables against f64 -----------===//
#include "KernelHarness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::test;

namespace {
struct Shape {
  int64_t batch, length, width;
};
} // namespace

static const Shape shapes[] = {{1, 1, 1},  {2, 3, 7},   {1, 4, 16},
                               {3, 5, 17}, {3, 37, 60}, {2, 8, 131}};
static constexpr int64_t vocabulary = 11;

static std::string tensor(std::initializer_list<int64_t> shape, const char *element = "f32") {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

static void fillIds(TensorBytes &ids) {
  std::mt19937 generator(3);
  for (size_t i = 0; i < ids.size() / 4; ++i)
    ids.as<int32_t>()[i] = generator() % vocabulary;
}

TEST(Embedding, Forward) {
  for (Shape s : shapes)
    for (bool positions : {false, true}) {
      std::string ids = tensor({s.batch, s.length}, "i32"), table = tensor({vocabulary, s.width}),
                  places = tensor({s.length + 2, s.width}),
                  out = tensor({s.batch, s.length, s.width});
      OpTest test;
      test.arguments = "%i: " + ids + ", %t: " + table + ", %p: " + places;
      test.text = "%r = ds.embedding %i, %t";
      test.text += positions ? " positions %p : " : " : ";
      test.text += ids + ", " + table + (positions ? " positions " + places : "") + " -> " + out;
      test.fill = [&](auto &t) {
        fillIds(t[0]);
        fillNormal(t[1], 1);
        if (positions)
          fillNormal(t[2], 2);
      };
      test.check = [&](auto &t, const Target &) {
        for (int64_t i = 0; i < s.batch * s.length * s.width; ++i) {
          int64_t row = i / s.width, column = i % s.width;
          float x = t[1].template as<float>()[t[0].template as<int32_t>()[row] * s.width + column];
          if (positions)
            x += t[2].template as<float>()[row % s.length * s.width + column];
          ASSERT_EQ(t.back().template as<float>()[i], x);
        }
      };
      test.run();
    }
}

TEST(Embedding, Grad) {
  for (Shape s : shapes)
    for (bool init : {false, true}) {
      std::string ids = tensor({s.batch, s.length}, "i32"), table = tensor({vocabulary, s.width}),
                  out = tensor({s.batch, s.length, s.width});
      OpTest test;
      test.arguments = "%d: " + out + ", %i: " + ids + ", %t: " + table;
      test.text = "%r = ds.embedding_grad %d, %i";
      test.text += init ? " init %t : " : " : ";
      test.text += out + ", " + ids + (init ? " init " + table : "") + " -> " + table;
      if (init)
        test.inPlace = {2};
      std::vector<double> start;
      test.fill = [&](auto &t) {
        fillNormal(t[0], 1);
        fillIds(t[1]);
        start.assign(vocabulary * s.width, 0);
        if (init) {
          fillNormal(t[2], 2);
          start = toDouble(t[2]);
        }
      };
      test.check = [&](auto &t, const Target &) {
        auto d = toDouble(t[0]), r = start;
        for (size_t i = 0; i < d.size(); ++i)
          r[t[1].template as<int32_t>()[i / s.width] * s.width + i % s.width] += d[i];
        expectNear(toDouble(t[2]), r, 1e-6, "table");
      };
      test.run();
    }
}

TEST(Embedding, PositionGrad) {
  for (Shape s : shapes) {
    std::string in = tensor({s.batch, s.length, s.width}), out = tensor({s.length + 2, s.width});
    OpTest test;
    test.arguments = "%d: " + in;
    test.text = "%r = ds.position_grad %d : (" + in + ") -> " + out;
    test.fill = [](auto &t) { fillNormal(t[0], 1); };
    test.check = [&](auto &t, const Target &) {
      auto d = toDouble(t[0]);
      std::vector<double> r((s.length + 2) * s.width);
      for (size_t i = 0; i < d.size(); ++i)
        r[i % (s.length * s.width)] += d[i];
      expectNear(toDouble(t[1]), r, 1e-6, "table");
    };
    test.run();
  }
}
