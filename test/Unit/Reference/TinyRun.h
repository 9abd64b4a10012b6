//===- TinyRun.h - a small model, imported, trained by the interpreter -----===//
#ifndef DSC_TEST_UNIT_REFERENCE_TINYRUN_H
#define DSC_TEST_UNIT_REFERENCE_TINYRUN_H

#include "dsc/Dialect/DS/DS.h"
#include "dsc/Frontend/Spec.h"
#include "dsc/Passes/Import.h"
#include "dsc/Passes/Pipelines.h"
#include "dsc/Plan/Plan.h"
#include "dsc/Reference/Interpreter.h"
#include "dsc/Runtime/Checkpoint/Initializer.h"
#include "mlir/Pass/PassManager.h"

namespace dsc::test {

/// One layer, width 12, 3 heads, 13 tokens in the vocabulary, two sequences of 5.
inline Spec tinySpec() {
  Spec spec;
  spec.model.vocabSize = 13;
  spec.model.positions = 8;
  spec.model.width = 12;
  spec.model.layers = 1;
  spec.model.heads = 3;
  spec.model.inner = 20;
  spec.data.seqLength = 5;
  spec.train.batch = spec.train.microBatch = 2;
  spec.train.steps = spec.train.totalSteps = 10;
  return spec;
}

struct TinyRun {
  explicit TinyRun(const Spec &spec) : spec(spec), module(importSpec(context, spec)) {
    mlir::PassManager passes(&context);
    buildImportPipeline(passes);
    TrainingOptions training;
    setTrainingOptions(spec, training);
    buildTrainingPipeline(passes, training);
    if (spec.train.precision != Precision::F32) {
      PrecisionOptions precision;
      setPrecisionOptions(spec, precision);
      buildPrecisionPipeline(passes, precision);
    }
    if (!module || failed(passes.run(*module)))
      return;
    interpreter = std::make_unique<reference::Interpreter>(*module);
    for (auto variable : module->getOps<ds::VariableOp>()) {
      auto tensor = reference::Tensor::filled(reference::shapeOf(variable.getType()), 0);
      if (variable.getInitializer() != ds::Initializer::Normal)
        continue;
      fillNormal(1, variable.getSymName().str(), 0.3, 0, tensor.count(), tensor.values.data());
      set(variable.getSymName().str(), std::move(tensor));
    }
    for (auto variable : module->getOps<ds::VariableOp>())
      if (variable.getRole() == ds::Role::WorkingCopy) {
        std::string name = variable.getSymName().str();
        reference::Tensor copy =
            *interpreter->variables.at(name.substr(plan::workingCopyPrefix.size()));
        reference::roundToType(copy, variable.getType());
        set(name, std::move(copy));
      }
  }

  bool ok() const { return interpreter != nullptr; }
  const std::vector<double> &operator[](const std::string &name) const {
    return interpreter->variables.at(name)->values;
  }
  void set(const std::string &name, reference::Tensor tensor) {
    interpreter->variables[name] = std::make_shared<reference::Tensor>(std::move(tensor));
  }
  void fill(const std::string &name, double value) {
    set(name, reference::Tensor::filled(interpreter->variables.at(name)->shape, value));
  }
  /// Values of all variables.
  std::map<std::string, std::vector<double>> state() const {
    std::map<std::string, std::vector<double>> all;
    for (const auto &[name, tensor] : interpreter->variables)
      all[name] = tensor->values;
    return all;
  }
  /// Trains on tokens 0, 1, 2, ... (modulo the vocabulary), each predicting the next, or on
  /// `labels`.
  mlir::FailureOr<reference::Outcome> step(std::vector<double> labels = {}) {
    std::vector<int64_t> shape{spec.train.batch, spec.data.seqLength};
    auto tokens = reference::Tensor::filled(shape, 0), wanted = tokens;
    for (int64_t i = 0; i < tokens.count(); ++i) {
      tokens[i] = static_cast<double>(i % spec.model.vocabSize);
      wanted[i] = static_cast<double>((i + 1) % spec.model.vocabSize);
    }
    if (!labels.empty())
      wanted.values = std::move(labels);
    return interpreter->run("train", {tokens, wanted});
  }

  Spec spec;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<reference::Interpreter> interpreter;
};

} // namespace dsc::test

#endif // DSC_TEST_UNIT_REFERENCE_TINYRUN_H
