//===- SpecTable.cpp - top-level rows and lookups --------------------------===//
// The order of rows is the order of the documents. Sizes have upper limits so that their products
// fit 64 bits.
#include "dsc/Frontend/SpecTable.h"
#include "SpecTableRows.h"
#include <cstdio>

using namespace dsc;

static constexpr double maxSeed = 18446744073709551615.0;

static void addDataRows(std::vector<SpecKey> &t) {
  t.push_back({.path = "data", .types = TObject, .doc = "What is trained and evaluated on."});
  for (bool train : {true, false}) {
    auto path = [&](std::string_view inTrain, std::string_view inValidation) {
      return train ? inTrain : inValidation;
    };
    t.push_back({.path = path("data.train", "data.validation"),
                 .types = TList | TPath,
                 .required = train,
                 .doc = path("Training files: a list, or one path.",
                             "Validation files, as in `train`. Each token is counted once.")});
    t.push_back({.path = path("data.train[]", "data.validation[]"),
                 .types = TObject | TPath,
                 .doc = "A file: its path, or an object."});
    t.push_back({.path = path("data.train[].path", "data.validation[].path"),
                 .types = TPath,
                 .required = true,
                 .doc = "The file; a Megatron pair without `.bin` and `.idx`."});
    t.push_back({.path = path("data.train[].format", "data.validation[].format"),
                 .types = TString | TAuto,
                 .inferred = "from the name",
                 .choices = {"text", "megatron", "uint16", "replay"},
                 .later = {"jsonl", "json", "parquet", "arrow", "csv", "uint32", "tokens"},
                 .doc = "`text`: UTF-8, one document, byte vocabulary (`.txt`, `.text`, `.md`). "
                        "`megatron`: `.bin` with "
                        "`.idx` (`*_document`, `.idx`). `uint16`: raw ids (`.bin`). `replay`: "
                        "batches in exactly this "
                        "order, int32 `[steps, batch, seq_length + 1]` (`.npy`)."});
    t.push_back(
        {.path = path("data.train[].labels", "data.validation[].labels"),
         .types = TPath,
         .inferred = "tokens shifted by one",
         .doc = "Replay only: int32 `.npy` of `[steps, batch, seq_length]`, −100 = not counted."});
    t.push_back({.path = path("data.train[].separator", "data.validation[].separator"),
                 .types = TString,
                 .inferred = "the file is one document",
                 .doc = "Text only, with `packing`: what stands between two documents, such as "
                        "`\"\\n%\\n\"`. It belongs to neither."});
    t.push_back({.path = path("data.train[].weight", "data.validation[].weight"),
                 .types = TNumber,
                 .use = KeyUse::Limited,
                 .only = "[1]",
                 .doc = "Share of this file in a mixture."});
  }
  t.push_back({.path = "data.validation_fraction",
               .types = TNumber,
               .fallback = "0",
               .min = 0,
               .max = 1,
               .belowMax = true,
               .doc = "Tail of each training file that is kept for validation."});
  t.push_back({.path = "data.seq_length",
               .types = TInteger | TAuto,
               .inferred = "from a replay file, else model.n_positions",
               .min = 1,
               .max = 1 << 24,
               .unit = "tokens",
               .doc = "Tokens of a sequence; at most `model.n_positions`."});
  t.push_back({.path = "data.packing",
               .types = TString,
               .fallback = "\"none\"",
               .choices = {"none", "documents"},
               .doc = "`none`: windows cut the stream of tokens wherever they end. `documents`: "
                      "windows hold whole documents, each of which starts at position 0 and sees "
                      "itself only; the rest of a window is padding."});
  t.push_back({.path = "data.long_documents",
               .types = TString,
               .fallback = "\"split\"",
               .choices = {"split", "truncate", "drop"},
               .doc = "With `packing`: what becomes of documents of more than `seq_length` tokens. "
                      "`dsrun` says how many there are."});
  t.push_back({.path = "data.seed",
               .types = TInteger,
               .fallback = "1234",
               .min = 0,
               .max = maxSeed,
               .doc = "Of the order of windows in an epoch."});
  t.push_back({.path = "data.tokenizer",
               .types = TAny,
               .use = KeyUse::Absent,
               .reason = "text has the built-in byte vocabulary",
               .doc = "A tokenizer for text."});
}

static void addRunRows(std::vector<SpecKey> &t) {
  t.push_back({.path = "evaluation",
               .types = TObject,
               .doc = "Evaluation during training; needs validation data."});
  t.push_back({.path = "evaluation.every",
               .types = TInteger,
               .fallback = "0",
               .min = 0,
               .max = maxSteps,
               .unit = "steps",
               .doc = "Evaluate after every so many steps; 0: after the last only."});
  t.push_back({.path = "evaluation.batches",
               .types = TInteger | TString,
               .fallback = "0",
               .min = 0,
               .max = maxSteps,
               .choices = {"all"},
               .unit = "batches",
               .doc = "How much of the validation data; 0 or `\"all\"`: all of it."});
  t.push_back({.path = "evaluation.patience",
               .types = TInteger,
               .fallback = "0",
               .min = 0,
               .max = maxSteps,
               .unit = "evaluations",
               .doc = "Stop when `eval_loss` has not fallen for so many evaluations in a row; 0: "
                      "never. docs/Watching.md."});
  t.push_back({.path = "evaluation.min_delta",
               .types = TNumber,
               .fallback = "0",
               .min = 0,
               .unit = "nats a token",
               .doc = "A loss has fallen when it is more than this below the lowest so far."});
  t.push_back({.path = "generation",
               .types = TObject,
               .doc = "What `dsrun --generate` has; docs/Rationale/Generation.md."});
  t.push_back({.path = "generation.batch",
               .types = TInteger,
               .fallback = "4",
               .min = 0,
               .max = 1024,
               .unit = "texts",
               .doc = "Texts continued at once, each with its own cache of keys and values. The "
                      "caches lie over memory that training has; 0: none, each token costs a "
                      "whole context."});
  t.push_back(
      {.path = "checkpoint", .types = TObject, .doc = "What a run saves; docs/Checkpoints.md."});
  t.push_back({.path = "checkpoint.dir",
               .types = TPath | TNull,
               .inferred = "nothing is saved",
               .doc = "Folder; the final weights go to `final/` in it, as a Hugging Face folder, "
                      "checkpoints to `step-N/`."});
  t.push_back({.path = "checkpoint.every",
               .types = TInteger,
               .fallback = "0",
               .min = 0,
               .max = maxSteps,
               .unit = "steps",
               .doc = "Save a checkpoint, from which `dsrun --resume` continues, after every so "
                      "many steps and at the end; 0: only when a signal ends the run."});
  t.push_back({.path = "checkpoint.keep",
               .types = TInteger,
               .fallback = "3",
               .min = 1,
               .max = maxSteps,
               .doc = "How many of the newest checkpoints are kept."});
  t.push_back({.path = "checkpoint.keep_best",
               .types = TBool,
               .fallback = "false",
               .doc = "Save, and keep beside the newest, the checkpoint with the lowest "
                      "`eval_loss`."});
  t.push_back({.path = "checkpoint.async",
               .types = TBool,
               .fallback = "true",
               .doc = "Write from a copy while training goes on; false: the step waits, and no "
                      "memory is taken for the copy. The files are the same."});
  t.push_back({.path = "log", .types = TObject, .doc = "What a run tells."});
  t.push_back({.path = "log.dir",
               .types = TPath | TNull,
               .inferred = "no log is written",
               .doc = "Folder of `log.jsonl` (a line a step) and `run.json`."});
  t.push_back({.path = "log.every",
               .types = TInteger,
               .fallback = "10",
               .min = 1,
               .max = maxSteps,
               .unit = "steps",
               .doc = "Console lines, TensorBoard and memory; the log and the table have every "
                      "step."});
  t.push_back({.path = "log.csv",
               .types = TBool,
               .fallback = "false",
               .doc = "Also write `log.csv`, the log as a table."});
  t.push_back({.path = "log.tensorboard",
               .types = TBool,
               .fallback = "false",
               .doc = "Also write event files, which TensorBoard reads while they grow."});
}

static void addLaterSections(std::vector<SpecKey> &t) {
  for (auto [path, doc] :
       {std::pair("cluster", "Machines to plan for."), std::pair("precision", "Number formats."),
        std::pair("search", "Search for a layout."), std::pair("quantization", "Int8 weights."),
        std::pair("distillation", "Learning from a teacher."),
        std::pair("serve", "Serving requests."), std::pair("study", "Series of runs."),
        std::pair("lora", "Low-rank adaptation.")})
    t.push_back({.path = path, .types = TAny, .use = KeyUse::Absent, .doc = doc});
}

static std::vector<SpecKey> buildTable() {
  std::vector<SpecKey> t;
  t.push_back({.path = "schema_version",
               .types = TInteger,
               .required = true,
               .min = 1,
               .max = 1,
               .doc = "Version of this format: 1."});
  addModelRows(t);
  t.push_back({.path = "init", .types = TObject, .doc = "Weights before the first step."});
  t.push_back({.path = "init.from",
               .types = TPath | TNull,
               .inferred = "random weights",
               .doc = "Folder with `config.json` and `model.safetensors`."});
  t.push_back({.path = "init.seed",
               .types = TInteger,
               .fallback = "1234",
               .min = 0,
               .max = maxSeed,
               .doc = "Of random initial weights."});
  t.push_back({.path = "objective", .types = TObject, .doc = "What is minimised."});
  t.push_back({.path = "objective.type",
               .types = TString,
               .fallback = "\"causal_lm\"",
               .choices = {"causal_lm"},
               .later = {"masked_lm", "seq2seq", "span_corruption", "distillation",
                         "classification", "dpo"},
               .doc = "Predict each next token."});
  t.push_back({.path = "objective.label_smoothing",
               .types = TNumber,
               .fallback = "0",
               .min = 0,
               .max = 1,
               .belowMax = true,
               .doc =
                   "s: in training the label has the target mass 1 − s + s/vocab_size, every other "
                   "token s/vocab_size. Evaluation is without."});
  addDataRows(t);
  addTrainRows(t);
  addDeepSpeedRows(t);
  addRunRows(t);
  addParallelRows(t);
  addLaterSections(t);
  return t;
}

const std::vector<SpecKey> &dsc::specTable() {
  static const std::vector<SpecKey> table = buildTable();
  return table;
}

std::string_view SpecKey::name() const {
  std::string_view last = path.substr(path.rfind('.') + 1);
  return last.substr(0, last.find('['));
}

static SpecSection buildTree() {
  SpecSection root;
  for (const SpecKey &key : specTable()) {
    SpecSection *at = &root, *parent = nullptr;
    std::string_view rest = key.path;
    while (!rest.empty()) {
      std::string_view part = rest.substr(0, rest.find('.'));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      bool element = part.size() > 2 && part.substr(part.size() - 2) == "[]";
      if (element)
        part.remove_suffix(2);
      parent = at;
      at = &at->children[std::string(part)];
      if (element) {
        if (at->element.empty())
          at->element.emplace_back();
        at = &at->element.front();
      }
    }
    at->key = &key;
    for (std::string_view alias : key.aliases)
      parent->aliases.emplace(std::string(alias), std::string(key.name()));
  }
  return root;
}

const SpecSection &dsc::specTree() {
  static const SpecSection tree = buildTree();
  return tree;
}

const SpecSection *SpecSection::child(std::string_view name) const {
  if (auto alias = aliases.find(name); alias != aliases.end())
    name = alias->second;
  auto found = children.find(name);
  return found == children.end() ? nullptr : &found->second;
}

std::vector<std::string> SpecSection::names() const {
  std::vector<std::string> result;
  for (const auto &[name, section] : children)
    result.push_back(name);
  for (const auto &[alias, name] : aliases)
    result.push_back(alias);
  return result;
}

const SpecKey *dsc::findSpecKey(std::string_view path) {
  static const std::map<std::string_view, const SpecKey *> index = [] {
    std::map<std::string_view, const SpecKey *> result;
    for (const SpecKey &key : specTable())
      result[key.path] = &key;
    return result;
  }();
  auto found = index.find(path);
  return found == index.end() ? nullptr : found->second;
}

std::string dsc::typeNames(const SpecKey &key) {
  if (key.types & TAny)
    return "any value";
  std::vector<std::string> names;
  if (key.types & TNumber)
    names.push_back("a number");
  else if (key.types & TInteger)
    names.push_back("a whole number");
  if (key.types & TBool)
    names.push_back("true or false");
  if (key.types & TString && key.choices.size() == 1)
    names.push_back("\"" + std::string(key.choices[0]) + "\"");
  else if (key.types & TString)
    names.push_back("a string");
  if (key.types & TPath)
    names.push_back("a path");
  if (key.types & TObject)
    names.push_back("an object");
  if (key.types & TList)
    names.push_back("a list");
  if (key.types & TNull)
    names.push_back("null");
  if (key.types & TAuto)
    names.push_back("\"auto\"");
  std::string result;
  for (size_t i = 0; i < names.size(); ++i)
    result += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return result;
}

static std::string shortNumber(double value) {
  if (value == maxSeed)
    return "18446744073709551615";
  char text[32];
  std::snprintf(text, sizeof text,
                value < 1e13 && value > -1e13 &&
                        value == static_cast<double>(static_cast<int64_t>(value))
                    ? "%.0f"
                    : "%g",
                value);
  return text;
}

std::string dsc::rangeText(const SpecKey &key) {
  bool low = key.min > -std::numeric_limits<double>::infinity();
  bool high = key.max < std::numeric_limits<double>::infinity();
  if (!low && !high)
    return "";
  if (key.min == key.max)
    return shortNumber(key.min);
  if (low && high)
    return (key.aboveMin ? "above " : "from ") + shortNumber(key.min) +
           (key.aboveMin   ? (key.belowMax ? ", below " : ", at most ")
            : key.belowMax ? " to below "
                           : " to ") +
           shortNumber(key.max);
  if (low)
    return (key.aboveMin ? "above " : "at least ") + shortNumber(key.min);
  return (key.belowMax ? "below " : "at most ") + shortNumber(key.max);
}
