//===- EmitObject.cpp - LLVM IR to a relocatable object --------------------===//
// The object depends on nothing: no library calls are invented (all known ones are disabled) and
// floating point is neither contracted nor reassociated beyond what the kernels say.
#include "Emit.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

using namespace dsc;

void dsc::wrapKernels(llvm::Module &module, llvm::ArrayRef<std::string> kernels) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0);
  llvm::Type *word = llvm::Type::getInt64Ty(context);
  llvm::Type *none = llvm::Type::getVoidTy(context);
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);

  auto *type = llvm::FunctionType::get(none, {pointer, word, word, pointer}, /*isVarArg=*/false);
  for (const std::string &name : kernels) {
    llvm::Function *body = module.getFunction(name);
    body->setName(name + ".body");
    body->addFnAttr(llvm::Attribute::AlwaysInline);
    auto *wrapper = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    wrapper->addParamAttr(0, llvm::Attribute::NoAlias);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", wrapper));
    llvm::SmallVector<llvm::Value *> arguments;
    for (unsigned i = 0, n = body->arg_size() - 3; i < n; ++i) {
      llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(pointer, wrapper->getArg(0), i);
      llvm::LoadInst *operand = builder.CreateLoad(pointer, slot);
      operand->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
      arguments.push_back(operand);
    }
    for (unsigned i = 1; i <= 3; ++i)
      arguments.push_back(wrapper->getArg(i));
    builder.CreateCall(body, arguments);
    builder.CreateRetVoid();
  }
}

static std::unique_ptr<llvm::TargetMachine> createMachine(const Target &target,
                                                          std::string &error) {
  static const bool initialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialised;
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  const llvm::Target *x86 = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!x86)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      x86->createTargetMachine(triple, "x86-64", target.llvmFeatures, options, llvm::Reloc::PIC_,
                               llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive));
}

static void setTargetAttributes(llvm::Module &module, const Target &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", "x86-64");
    function.addFnAttr("target-features", target.llvmFeatures);
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine,
                     const llvm::TargetLibraryInfoImpl &library) {
  llvm::PipelineTuningOptions tuning;
  // Kernels are written as vectors; turning their scalar loads into more vectors only costs
  // shuffles.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

bool dsc::compileToObject(llvm::Module &module, const Target &target, std::string &object,
                          std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  if (!machine) {
    error = "no code generator for x86-64: " + error;
    return false;
  }
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  setTargetAttributes(module, target);

  llvm::TargetLibraryInfoImpl library(machine->getTargetTriple());
  library.disableAllFunctions();
  optimise(module, *machine, library);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager emission;
  emission.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine->addPassesToEmitFile(emission, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    error = "the code generator of " + target.name + " writes no object files";
    return false;
  }
  emission.run(module);
  object.assign(bytes.data(), bytes.size());
  return true;
}
