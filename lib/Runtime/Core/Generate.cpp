//===- Generate.cpp - text from trained weights ----------------------------===//
// Texts are dealt to rows as rows become free. A text's tokens depend on its own prompt, options
// and draws only: rows are computed apart, and each text has a sampler of its own.
#include "dsc/Runtime/Core/Generate.h"
#include "dsc/Runtime/Core/Inference.h"
#include "dsc/Runtime/Core/Interrupt.h"
#include "dsc/Runtime/Core/Settings.h"
#include "dsc/Runtime/Data/TokenFile.h"
#include "dsc/Support/Numbers.h"
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

using namespace dsc;

/// So many tokens of a new context, as a part of a prefill, are decoded one by one instead: a
/// prefill costs the same however little of it is used.
static constexpr int64_t prefillShare = 16;

namespace {

using Ids = std::span<const int32_t>;

/// The model behind the loop: rows of contexts, logits after the last token of each.
class Model {
public:
  virtual ~Model() = default;
  virtual int64_t rows() const = 0;
  virtual int64_t length() const = 0;
  virtual int64_t vocabulary() const = 0;
  /// What row `row` is given next has nothing to do with what it was given before.
  virtual void restart(int64_t row) = 0;
  /// One context a row, empty where there is none; else, unless restarted, the one before and a
  /// token.
  virtual void advance(const std::vector<Ids> &contexts) = 0;
  virtual std::span<const float> logits(int64_t row) const = 0;
};

class CachedModel : public Model {
public:
  explicit CachedModel(CachedProgram opened) : program(std::move(opened)) {}
  int64_t rows() const override { return program.rows(); }
  int64_t length() const override { return program.length(); }
  int64_t vocabulary() const override { return program.vocabulary(); }
  void restart(int64_t row) override { program.clear(row); }
  void advance(const std::vector<Ids> &contexts) override {
    std::vector<int32_t> none(contexts.size(), -1), next = none;
    for (size_t r = 0; r < contexts.size(); ++r) {
      if (contexts[r].empty())
        continue;
      auto row = static_cast<int64_t>(r);
      next[r] = contexts[r].back();
      Ids fresh =
          contexts[r].first(contexts[r].size() - 1).subspan(static_cast<size_t>(program.held(row)));
      if (static_cast<int64_t>(fresh.size()) * prefillShare > program.length()) {
        program.prefill(row, fresh);
        continue;
      }
      for (int32_t id : fresh) {
        std::vector<int32_t> one = none;
        one[r] = id;
        program.decode(one);
      }
    }
    program.decode(next);
  }
  std::span<const float> logits(int64_t row) const override { return program.logits(row); }

private:
  CachedProgram program;
};

/// Every token from the whole context.
class WholeModel : public Model {
public:
  explicit WholeModel(LogitsProgram opened) : program(std::move(opened)) {}
  int64_t rows() const override { return 1; }
  int64_t length() const override { return program.length(); }
  int64_t vocabulary() const override { return program.vocabulary(); }
  void restart(int64_t) override {}
  void advance(const std::vector<Ids> &contexts) override {
    auto width = static_cast<size_t>(vocabulary());
    last = program.run(contexts[0]).last(width);
  }
  std::span<const float> logits(int64_t) const override { return last; }

private:
  LogitsProgram program;
  std::span<const float> last;
};

/// A prompt and what has been added to it.
struct Text {
  Text(const std::string &prompt, const SamplingOptions &sampling)
      : ids(encodeBytes(prompt)), sampler(byteVocabularySize, sampling) {
    out = characters.push(prompt);
    // Without a prompt a text starts, as texts in the training data do, after end-of-text.
    if (ids.empty())
      ids.push_back(endOfTextId);
  }
  Ids context() const { return Ids(ids).subspan(start); }
  void add(int32_t id) {
    ids.push_back(id);
    ++added;
    out += characters.push(tokenBytes(id));
  }
  void finish() {
    out += characters.finish() + "\n";
    done = true;
  }

  std::vector<int32_t> ids;
  Sampler sampler;
  Utf8Stream characters;
  std::string out;  ///< not printed yet
  size_t start = 0; ///< of what the model sees
  int64_t added = 0;
  bool done = false, slid = false;
};

class Generation {
public:
  Generation(Model &model, const GenerateOptions &options)
      : model(model), options(options), rowOf(static_cast<size_t>(model.rows())) {
    for (const std::string &prompt : options.prompts)
      texts.push_back(std::make_unique<Text>(prompt, options.sampling));
  }

  Status run() {
    if (Status status = checkPrompts(); !status.ok())
      return status;
    auto begin = std::chrono::steady_clock::now();
    print();
    while (fillRows() && !interruptSignal()) {
      std::vector<Ids> contexts(rowOf.size());
      for (size_t r = 0; r < rowOf.size(); ++r)
        if (rowOf[r])
          contexts[r] = texts[*rowOf[r]]->context();
      model.advance(contexts);
      for (size_t r = 0; r < rowOf.size(); ++r)
        if (rowOf[r])
          if (Status status = take(r); !status.ok())
            return status;
      print();
    }
    for (auto &text : texts)
      if (!text->done)
        text->finish();
    print();
    summarize(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    return {};
  }

private:
  std::string nameOf(size_t text) const {
    return texts.size() == 1 ? "the text" : "text " + std::to_string(text + 1);
  }

  Status checkPrompts() {
    for (size_t i = 0; i < texts.size() && options.stopWhenFull; ++i)
      if (auto tokens = static_cast<int64_t>(texts[i]->ids.size()); tokens > model.length())
        return inputError("the prompt of " + nameOf(i) + " has " + std::to_string(tokens) +
                          " tokens, the context " + std::to_string(model.length()) +
                          " (data.seq_length): shorten it, or let its last half go on with "
                          "--when-full=slide");
    return {};
  }

  /// Gives free rows texts to continue. False when none has any.
  bool fillRows() {
    bool any = false;
    for (size_t r = 0; r < rowOf.size(); ++r) {
      while (!rowOf[r] && waiting < texts.size()) {
        size_t index = waiting++;
        if (options.newTokens == 0) {
          texts[index]->finish();
          continue;
        }
        rowOf[r] = index;
        model.restart(static_cast<int64_t>(r));
        slide(r);
      }
      any |= rowOf[r].has_value();
    }
    print();
    return any;
  }

  /// Draws the next token of the text in row `r`.
  Status take(size_t r) {
    Text &text = *texts[*rowOf[r]];
    auto id = text.sampler.draw(model.logits(static_cast<int64_t>(r)), text.ids);
    if (!id.ok())
      return id.status();
    if (*id == endOfTextId) {
      end(r);
      return {};
    }
    text.add(*id);
    if (text.added >= options.newTokens)
      end(r);
    else
      slide(r);
    return {};
  }

  void end(size_t r) {
    texts[*rowOf[r]]->finish();
    rowOf[r].reset();
  }

  /// Makes room where the context of row `r` is longer than the model's.
  void slide(size_t r) {
    Text &text = *texts[*rowOf[r]];
    auto length = static_cast<size_t>(model.length()), rest = (length + 1) / 2;
    if (text.context().size() <= length)
      return;
    if (options.stopWhenFull) {
      notes += "dsrun: note: " + nameOf(*rowOf[r]) + " ends after " + printGrouped(text.added) +
               " new tokens: the context of " + std::to_string(length) + " is full\n";
      end(r);
      return;
    }
    if (!text.slid)
      notes += "dsrun: note: " + nameOf(*rowOf[r]) + " fills the context of " +
               std::to_string(length) + " tokens: whenever it is full the last " +
               std::to_string(rest) + " go on (--when-full=stop ends there)\n";
    text.slid = true;
    text.start = text.ids.size() - rest;
    model.restart(static_cast<int64_t>(r));
  }

  /// Texts in order: what there is of the first that is not done, whole ones before it.
  void print() {
    for (; printed < texts.size(); ++printed) {
      Text &text = *texts[printed];
      if (texts.size() > 1 && !headed)
        std::fprintf(stdout, "== %zu ==\n", printed + 1);
      headed = true;
      std::fwrite(text.out.data(), 1, text.out.size(), stdout);
      text.out.clear();
      if (!text.done)
        break;
      headed = false;
    }
    std::fflush(stdout);
  }

  /// After the texts: a terminal shows both streams, and a note would stand in a text's middle.
  void summarize(double seconds) const {
    std::fputs(notes.c_str(), stderr);
    int64_t tokens = 0;
    for (const auto &text : texts)
      tokens += text->added;
    if (tokens && seconds > 0)
      std::fprintf(
          stderr, "dsrun: %s new tokens in %s s, %s tokens/s\n", printGrouped(tokens).c_str(),
          printFixed(seconds, 2).c_str(),
          printGrouped(static_cast<int64_t>(static_cast<double>(tokens) / seconds)).c_str());
  }

  Model &model;
  const GenerateOptions &options;
  std::vector<std::unique_ptr<Text>> texts;
  std::vector<std::optional<size_t>> rowOf; ///< the text in each row
  size_t waiting = 0, printed = 0;
  bool headed = false;
  std::string notes;
};

} // namespace

/// Bytes are the vocabulary of text files; other ids have no meaning that the plan knows.
static Status checkByteVocabulary(const nlohmann::json &spec, int64_t vocabulary) {
  if (vocabulary == byteVocabularySize)
    return {};
  for (int64_t i = 0;; ++i) {
    const nlohmann::json *format = findSetting(spec, "data.train." + std::to_string(i) + ".format");
    if (!format)
      break;
    if (*format == "text" && vocabulary > byteVocabularySize)
      return {};
  }
  return inputError("cannot turn ids into text: the model has a vocabulary of " +
                    std::to_string(vocabulary) + ", the built-in byte vocabulary has " +
                    std::to_string(byteVocabularySize) +
                    "; take --logits=OUT.npy --input=IDS.npy with a tokenizer of your own");
}

static StatusOr<std::unique_ptr<Model>> openModel(Executor &executor, bool cached) {
  if (cached && CachedProgram::exists(executor)) {
    auto program = CachedProgram::open(executor);
    if (!program.ok())
      return program.status();
    return std::unique_ptr<Model>(new CachedModel(std::move(*program)));
  }
  auto program = LogitsProgram::open(executor);
  if (!program.ok())
    return program.status();
  return std::unique_ptr<Model>(new WholeModel(std::move(*program)));
}

Status dsc::generate(Session &session, const GenerateOptions &options) {
  auto model = openModel(session.executor(), options.cached);
  if (!model.ok())
    return model.status();
  if (Status status = checkByteVocabulary(session.spec(), (*model)->vocabulary()); !status.ok())
    return status;
  if (Status status = session.finalWeights(); !status.ok())
    return status;
  return Generation(**model, options).run();
}
