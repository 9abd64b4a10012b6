//===- dsrun.cpp - runs a plan: trains, evaluates, generates ---------------===//
#include "dsc/Runtime/Core/Generate.h"
#include "dsc/Runtime/Core/Inference.h"
#include "dsc/Runtime/Core/Interrupt.h"
#include "dsc/Runtime/Core/Trainer.h"
#include "dsc/Support/Arguments.h"
#include "dsc/Support/File.h"
#include <iostream>

using namespace dsc;

namespace {

struct Arguments {
  RunOptions run;
  GenerateOptions generate;
  bool evaluate = false, generateGiven = false;
  std::string logits, input, prompts, cache, logStyle = "plain", whenFull = "slide";
};

} // namespace

static void declare(CLI::App &app, Arguments &a) {
  app.footer(
      "Examples:\n"
      "  dsrun plan.bin --threads=2 --log=run.jsonl       train, one line a step in run.jsonl\n"
      "  dsrun plan.bin --resume                          go on after the newest checkpoint\n"
      "  dsrun plan.bin --generate=\"In the beginning\"     text from the trained weights\n"
      "Without --evaluate, --logits or --generate the plan is trained. A plan holds native code: "
      "run\n"
      "only plans that you trust. Paths are relative to the current folder.\n"
      "Exit codes: 0 ok, 1 data or weights wrong or absent, 2 usage, 3 not enough memory, 4 loss "
      "or\n"
      "gradient not finite, 6 plan or checkpoint damaged or foreign, final save failed,\n"
      "128+n ended by signal n after saving");
  app.set_version_flag("--version", std::string("dsrun ") + DSC_VERSION);
  app.add_option("PLAN", a.run.plan, "plan.bin, as dsc wrote it")->required();

  app.add_option("--steps", a.run.steps, "end after step N; the schedule stays as it is")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 50))
      ->group("Training");
  app.add_option("--log", a.run.log, "JSONL file, one line a step (default: log.dir/log.jsonl)")
      ->check(notEmpty())
      ->group("Training");
  app.add_option("--log-style", a.logStyle,
                 "console lines: plain, or megatron: one line every step, as Megatron-LM prints it")
      ->check(CLI::IsMember({"plain", "megatron"}))
      ->capture_default_str()
      ->group("Training");
  app.add_option("--save", a.run.save, "folder for the final weights, beside checkpoint.dir/final")
      ->check(notEmpty())
      ->group("Training");
  app.add_flag("--resume", a.run.resume,
               "continue after the newest checkpoint in checkpoint.dir that is whole; none: start "
               "afresh")
      ->group("Training");
  app.add_option("--digest", a.run.digest, "file for hash and norm of every tensor in every step")
      ->check(notEmpty())
      ->group("Training");

  app.add_option("--set-state", a.run.setState,
                 "NAME=VALUE@STEP: give state such as loss_scale a value before a step, for tests "
                 "and experiments")
      ->allow_extra_args(false)
      ->group("Training");
  app.add_option(
         "--profile", a.run.profile,
         "file for a Chrome trace (ui.perfetto.dev): a slice for each instruction and thread")
      ->check(notEmpty())
      ->group("Training");
  app.add_option("--profile-steps", a.run.profileSteps, "how many steps of this start it has")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->capture_default_str()
      ->group("Training");

  app.add_flag("--evaluate", a.evaluate, "loss over the validation data")->group("Instead");
  app.add_option("--logits", a.logits, "write logits of --input to this .npy file")
      ->check(notEmpty())
      ->group("Instead");
  app.add_option("--input", a.input, ".npy file of token ids [n] or [rows, n]")
      ->check(notEmpty())
      ->group("Instead");
  app.add_option("--generate", a.generate.prompts,
                 "print text that continues this prompt; may be repeated")
      ->allow_extra_args(false)
      ->group("Instead");
  app.add_option("--prompts", a.prompts, "the same for each line of this file")
      ->check(notEmpty())
      ->group("Instead");
  app.add_option("--max-new-tokens", a.generate.newTokens, "length of the continuation")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str()
      ->group("Instead");
  SamplingOptions &sampling = a.generate.sampling;
  app.add_option("--temperature", sampling.temperature, "0: always the most likely token")
      ->check(notNan())
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->group("Instead");
  app.add_option("--top-k", sampling.topK, "draw from so many of the most likely tokens; 0: all")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str()
      ->group("Instead");
  app.add_option("--top-p", sampling.topP,
                 "draw from the most likely tokens that together have this probability")
      ->check(notNan())
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str()
      ->group("Instead");
  app.add_option("--repetition-penalty", sampling.repetitionPenalty,
                 "of tokens that the text has: divides positive logits, multiplies negative ones")
      ->check(notNan())
      ->check(CLI::Range(1e-3, 1e3))
      ->capture_default_str()
      ->group("Instead");
  app.add_option("--seed", sampling.seed, "of the sampler")
      ->check(unsigned64())
      ->capture_default_str()
      ->group("Instead");
  app.add_option("--when-full", a.whenFull,
                 "when the context is full: slide (its last half goes on) or stop")
      ->check(CLI::IsMember({"slide", "stop"}))
      ->capture_default_str()
      ->group("Instead");
  app.add_option("--kv-cache", a.cache,
                 "on: keep keys and values from token to token; off: compute all of them anew "
                 "(default: on for --generate, off for --logits)")
      ->check(CLI::IsMember({"on", "off"}))
      ->group("Instead");

  app.add_option("--weights", a.run.weights,
                 "Hugging Face folder or checkpoint to take weights from (training: default init; "
                 "else: default checkpoint.dir/final)")
      ->check(notEmpty());
  app.add_option("--threads", a.run.threads, "default: one a core that this process may use")
      ->check(CLI::Range(1, 4096));
  app.add_option("--collective-timeout", a.run.collectiveTimeout,
                 "seconds that ranks wait for each other before they give up (default 60)")
      ->check(CLI::Range(0.1, 1e6));
  app.add_option("--set", a.run.set,
                 "PATH=VALUE: change a setting of the plan, such as "
                 "train.optimizer.params.lr=3e-4")
      ->allow_extra_args(false);
  app.add_option("--isa", a.run.isa, "instruction set, one of those in the plan")
      ->check(notEmpty());
  app.add_option("--root", a.run.root, "folder of data and init.from (default: the plan's own)")
      ->check(notEmpty());
  app.add_flag("--poison-memory", a.run.poison,
               "fill memory with NaN before its first use; results must not change");
}

static Status generateTexts(Session &session, const Arguments &a) {
  GenerateOptions options = a.generate;
  options.cached = a.cache != "off";
  options.stopWhenFull = a.whenFull == "stop";
  if (!a.prompts.empty()) {
    auto file = MappedFile::open(a.prompts);
    if (!file.ok())
      return file.status();
    for (std::string &prompt : readPrompts(file->bytes()))
      options.prompts.push_back(std::move(prompt));
    if (options.prompts.empty())
      return inputError(a.prompts + " has no line with a prompt");
  }
  return generate(session, options);
}

static Status run(const Arguments &a) {
  RunOptions options = a.run;
  // Only training needs all ranks: of other work the first process does all.
  options.alone = a.evaluate || !a.logits.empty() || a.generateGiven;
  if (std::optional<LaunchEnvironment> launch;
      options.alone && (launch = findLaunchEnvironment()) && launch->rank != 0)
    return {};
  auto session = Session::open(options);
  if (!session.ok())
    return session.status();
  if (std::string compiler = (*session)->compiler();
      !compiler.empty() && compiler != std::string("dsc ") + DSC_VERSION && compiler != DSC_VERSION)
    std::cerr << "dsrun: note: the plan is from " << compiler << ", this is dsrun " << DSC_VERSION
              << "\n";
  Status status = a.evaluate          ? evaluateOnly(**session)
                  : !a.logits.empty() ? writeLogits(**session, a.input, a.logits, a.cache == "on")
                  : a.generateGiven   ? generateTexts(**session, a)
                                      : train(**session);
  if (Profile *profile = (*session)->profile())
    if (Status written = profile->finish(); status.ok())
      return written;
  return status;
}

int main(int argc, char **argv) {
  CLI::App app{"Runs a plan: trains, evaluates, writes logits or generates text.", "dsrun"};
  Arguments arguments;
  arguments.run.version = DSC_VERSION;
  declare(app, arguments);
  try {
    parseArguments(app, argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? static_cast<int>(ErrorCode::Usage) : 0;
  }
  arguments.run.megatron = arguments.logStyle == "megatron";
  arguments.generateGiven = app.count("--generate") + app.count("--prompts") > 0;
  auto usage = [](const char *message) {
    std::cerr << "dsrun: error: " << message << "\n";
    return static_cast<int>(ErrorCode::Usage);
  };
  if (arguments.evaluate + !arguments.logits.empty() + arguments.generateGiven > 1)
    return usage("--evaluate, --logits and --generate exclude each other");
  if (arguments.run.resume &&
      (arguments.evaluate || !arguments.logits.empty() || arguments.generateGiven))
    return usage("--resume continues training: it does not go with --evaluate, --logits or "
                 "--generate");
  if (!arguments.run.setState.empty() &&
      (arguments.evaluate || !arguments.logits.empty() || arguments.generateGiven))
    return usage("--set-state changes training: it does not go with --evaluate, --logits or "
                 "--generate");
  if (arguments.logits.empty() != arguments.input.empty())
    return usage("--logits=OUT.npy and --input=IDS.npy go together");
  noteInterrupts();
  Status status = run(arguments);
  std::fflush(stdout);
  if (!status.ok() && status.message().empty()) // another rank has said it
    return status.exitCode();
  if (!status.ok()) {
    std::cerr << "dsrun: error: " << status.message() << "\n";
    return status.exitCode();
  }
  return interruptSignal() ? 128 + interruptSignal() : 0;
}
