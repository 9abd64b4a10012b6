//===- Packed.cpp - windows of whole documents -----------------------------===//
// Where documents end is what the file says (marks of an index, separators of a text), never what a
// token looks like: an end-of-text inside a document cuts nothing, and one that is missing joins
// nothing.
#include "Rows.h"
#include "dsc/Support/Fault.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cmath>

using namespace dsc;

namespace {

/// Tokens of one document that stand together in a window. `follows`: the document goes on behind
/// them, so that their last token too has one to predict.
struct Piece {
  int64_t begin, length;
  bool follows;
  int64_t counted() const { return length - 1 + follows; }
};

class PackedSource : public RowSource {
public:
  PackedSource(std::unique_ptr<TokenFile> file, const DataConfig &config)
      : file(std::move(file)), seq(config.seq), vocabulary(config.vocabulary),
        policy(config.longDocuments) {}

  /// Documents from token `begin` to each of `ends`.
  void pack(int64_t begin, std::span<const int64_t> ends) {
    for (int64_t end : ends) {
      addDocument(begin, end - begin);
      begin = end;
    }
    documents = static_cast<int64_t>(ends.size());
  }

  int64_t rows() const override { return static_cast<int64_t>(windows.size()); }
  int64_t countedTokens() const override { return counted; }

  Status fill(int64_t row, int32_t *tokens, int32_t *labels, int64_t &total,
              int32_t *positions) const override {
    auto index = static_cast<size_t>(row);
    size_t last = index + 1 < windows.size() ? windows[index + 1] : pieces.size();
    int64_t used = 0;
    for (size_t p = windows[index]; p < last; ++p) {
      const Piece &piece = pieces[p];
      if (Status status = file->read(piece.begin, piece.length, vocabulary, tokens + used); !status)
        return status;
      int32_t *label = labels + used;
      std::copy_n(tokens + used + 1, piece.length - 1, label);
      label[piece.length - 1] = ignoredLabel;
      if (piece.follows)
        if (Status status =
                file->read(piece.begin + piece.length, 1, vocabulary, label + piece.length - 1);
            !status)
          return status;
      fillPositions(piece.length, positions ? positions + DSC_FAULT(90, used, 0) : nullptr);
      used += piece.length;
      total += piece.counted();
    }
    fillPadding(seq - used, tokens + used, labels + used, positions ? positions + used : nullptr);
    return {};
  }

  std::string note() const override {
    if (!tooLong)
      return {};
    std::string text = "'" + file->path() + "': " + printGrouped(tooLong) + " of " +
                       printGrouped(documents) + " documents " + (tooLong == 1 ? "is" : "are") +
                       " longer than " + printGrouped(seq) + " tokens: ";
    switch (policy) {
    case LongDocuments::Split:
      return text + "split";
    case LongDocuments::Truncate:
      return text + "truncated, " + printGrouped(lost) + " tokens left out";
    case LongDocuments::Drop:
      return text + "dropped, " + printGrouped(lost) + " tokens left out";
    }
    return text;
  }

private:
  void addDocument(int64_t begin, int64_t length) {
    if (length <= seq)
      return add({begin, length, false});
    ++tooLong;
    if (policy == LongDocuments::Split) {
      for (int64_t at = 0; at < length; at += seq)
        add({begin + at, std::min(seq, length - at), at + seq < length});
      return;
    }
    bool truncates = policy == LongDocuments::Truncate;
    lost += truncates ? length - seq : length;
    if (truncates)
      add({begin, seq, false});
  }

  void add(const Piece &piece) {
    if (windows.empty() || filled + piece.length > seq) {
      windows.push_back(pieces.size());
      filled = 0;
    }
    filled += piece.length;
    counted += piece.counted();
    pieces.push_back(piece);
  }

  std::unique_ptr<TokenFile> file;
  int64_t seq, vocabulary;
  LongDocuments policy;
  std::vector<Piece> pieces;
  std::vector<size_t> windows; ///< the first piece of each
  int64_t filled = 0, counted = 0, documents = 0, tooLong = 0, lost = 0;
};

} // namespace

StatusOr<std::unique_ptr<RowSource>> dsc::openPacked(const DataConfig &config, const DataFile &file,
                                                     StreamPart part, double fraction) {
  StatusOr<std::unique_ptr<TokenFile>> opened = openStream(config, file);
  if (!opened)
    return opened.status();
  std::vector<int64_t> ends = (*opened)->documentEnds();
  auto count = static_cast<int64_t>(ends.size());
  int64_t tail = static_cast<int64_t>(std::floor(fraction * static_cast<double>(count)));
  int64_t first = 0, last = count;
  if (fraction > 0)
    (part == StreamPart::Training ? last : first) = count - tail;
  std::string path = joinPath(config.folder, file.path);
  const char *purpose = part == StreamPart::Training ? "training" : "validation";
  if (first == last)
    return inputError("data.validation_fraction " + printShortest(fraction) + " of '" + path +
                      "' (" + plural(count, "document") + ") leaves none for " + purpose +
                      (count < 2 ? ": where one document ends and the next begins is the file's "
                                   "\"separator\""
                                 : ": take another fraction"));
  int64_t begin = first ? ends[static_cast<size_t>(first) - 1] : 0;
  int64_t end = ends[static_cast<size_t>(last) - 1];
  if (Status status = checkTokens(**opened, config, file.format, begin, end); !status)
    return status;
  auto source = std::make_unique<PackedSource>(std::move(*opened), config);
  source->pack(begin, std::span(ends).subspan(static_cast<size_t>(first),
                                              static_cast<size_t>(last - first)));
  if (source->countedTokens() == 0)
    return inputError("the documents of '" + path + "' for " + purpose +
                      " have nothing to predict: each is a single token, or too long " +
                      "(data.long_documents)");
  return std::unique_ptr<RowSource>(std::move(source));
}
