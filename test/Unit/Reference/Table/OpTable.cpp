//===- OpTable.cpp - rows put together, cases parsed and filled ------------===//
#include "OpTable.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Reference/Interpreter.h"
#include "dsc/Reference/Table.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace dsc;
using namespace dsc::optable;

const std::vector<OpRow> &optable::allOpRows() {
  static const std::vector<OpRow> rows = [] {
    std::vector<OpRow> all;
    for (auto family : {elementwiseRows, embeddingRows, linearRows, normRows, attentionRows,
                        dropoutRows, lossRows, partsRows, optimizerRows, scalarRows})
      for (OpRow &row : family())
        all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

const OpRow *optable::findOpRow(StringRef opName) {
  for (const OpRow &row : allOpRows())
    if (row.name == opName)
      return &row;
  return nullptr;
}

static std::string tensorType(const std::string &type) { return "tensor<" + type + ">"; }

std::string optable::moduleText(const OpCase &opCase) {
  std::string arguments, results, values, op;
  for (size_t i = 0; i < opCase.operands.size(); ++i)
    arguments += (i ? ", %a" : "%a") + std::to_string(i) + ": " + tensorType(opCase.operands[i]);
  for (size_t i = 0; i < opCase.results.size(); ++i) {
    results += (i ? ", " : "") + tensorType(opCase.results[i]);
    values += (i ? ", %r#" : "%r#") + std::to_string(i);
  }
  for (size_t i = 0; i < opCase.text.size(); ++i) {
    char c = opCase.text[i];
    if (c != '$' && c != '#' && c != '@') {
      op += c;
      continue;
    }
    size_t digits = 0;
    size_t index = std::stoul(opCase.text.substr(i + 1), &digits);
    i += digits;
    op += c == '$'   ? "%a" + std::to_string(index)
          : c == '#' ? tensorType(opCase.operands[index])
                     : tensorType(opCase.results[index]);
  }
  return "func.func @case(" + arguments + ") -> (" + results +
         ") {\n  %r:" + std::to_string(opCase.results.size()) + " = " + op + "\n  return " +
         values + " : " + results + "\n}\n";
}

OwningOpRef<ModuleOp> optable::parseCase(MLIRContext &context, const OpCase &opCase) {
  return parseSourceString<ModuleOp>(moduleText(opCase), &context);
}

Operation *optable::opOf(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  return &function.getBody().front().front();
}

Tensors optable::operandsOf(Operation *op, const OpCase &opCase, uint64_t seed) {
  std::mt19937_64 random(seed);
  // Not std::uniform_real_distribution: its numbers are the library's own.
  auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Tensors operands;
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes())) {
    auto found = opCase.fills.find(index);
    Type element = cast<RankedTensorType>(type).getElementType();
    bool ids = element.isInteger();
    Fill fill = found != opCase.fills.end() ? found->second
                : ids                       ? Fill{.low = 0, .high = 7}
                                            : Fill{};
    Tensor tensor = Tensor::filled(reference::shapeOf(type), 0);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      double value = fill.low + (fill.high - fill.low) * uniform();
      if (!fill.exactly.empty())
        value = fill.exactly[i % fill.exactly.size()];
      else if (ids)
        value = fill.uncounted && random() % fill.uncounted == 0 ? -100 : std::floor(value);
      else if (std::abs(value) < fill.hole)
        value = value < 0 ? value - fill.hole : value + fill.hole;
      tensor[i] = element.isF32() ? static_cast<float>(value) : value;
    }
    reference::roundToType(tensor, type);
    operands.push_back(std::move(tensor));
  }
  return operands;
}
