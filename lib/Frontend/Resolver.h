//===- Resolver.h - a checked tree into a Spec -----------------------------===//
// Fills in defaults, infers what may be left open, and checks what involves several values. Each
// value read is recorded with its origin; the records become Spec::resolved and --print-config.
#ifndef DSC_LIB_FRONTEND_RESOLVER_H
#define DSC_LIB_FRONTEND_RESOLVER_H

#include "dsc/Frontend/Frontend.h"
#include "dsc/Frontend/JsonTree.h"
#include "dsc/Frontend/SpecTable.h"

namespace dsc {

/// A resolved value. `broken`: an error about it has been given, checks that involve it are
/// pointless.
template <typename T> struct Resolved {
  T value{};
  bool given = false, broken = false;
  Location where;     ///< of the value, or of the nearest section that would hold it
  std::string origin; ///< "model.json:3", "--set", "default", "inferred from ..."
};

class Resolver {
public:
  Resolver(const JsonNode &root, Spec &spec, DiagnosticList &errors, DiagnosticList &warnings,
           const ReadOptions &options)
      : root(root), spec(spec), errors(errors), warnings(warnings), options(options) {}
  void resolve();
  /// Places of values that only a later phase can judge, without a message yet.
  std::map<std::string, Location> judgedLater;
  /// Everything recorded, in the order of the table.
  std::vector<Provenance> provenance() const;

private:
  const JsonNode &root;
  Spec &spec;
  DiagnosticList &errors, &warnings;
  const ReadOptions &options;
  struct Record {
    nlohmann::json value;
    std::string origin;
  };
  std::map<std::string, Record> records;

  // Access (Resolver.cpp). Paths are canonical; the table has type and default.
  const JsonNode *find(std::string_view path) const;    ///< null when absent, null or "auto"
  const JsonNode *written(std::string_view path) const; ///< null when absent
  Location place(std::string_view path) const;
  template <typename T> Resolved<T> start(std::string_view path, const JsonNode *&node);
  Resolved<int64_t> integer(std::string_view path);
  Resolved<uint64_t> seed(std::string_view path);
  Resolved<double> number(std::string_view path);
  Resolved<bool> boolean(std::string_view path);
  Resolved<std::string> text(std::string_view path);
  void record(std::string_view path, nlohmann::json value, std::string origin);
  template <typename T>
  void infer(Resolved<T> &value, std::string_view path, T inferred, const std::string &from);
  /// "n_embd 100 (model.json:3)", for arithmetic in messages.
  template <typename T> std::string shown(std::string_view path, const Resolved<T> &value) const;

  // Sections.
  void resolveModel();
  void resolveDropout();
  void checkModelSizes(const Resolved<int64_t> &width);
  void exportConfig();
  void resolveInit();
  void resolveSeparator(const JsonNode &entry, DataFile &file, nlohmann::json &item);
  void resolvePacking();
  void resolveData();
  std::vector<DataFile> resolveFiles(std::string_view list);
  std::optional<DataFormat> fileFormat(const JsonNode *format, const Location &where,
                                       const std::string &path, std::string &origin);
  bool checkExists(const DataFile &file, const Location &where);
  void resolveReplay();
  bool replayArray(const std::string &path, const Location &where, int64_t dimensions,
                   std::vector<int64_t> &shape);
  void resolveSequence();
  void resolveTrain();
  void resolveClipping();
  void resolveBatch();
  bool inferBatch();
  void checkBatch();
  void resolveRamp();
  void resolvePrecision();
  void resolveLossScaling();
  void resolveRecompute();
  void resolveRecomputeBlocks(const JsonNode &list);
  int64_t bytes(const JsonNode &node, std::string_view path);
  void resolveLength();
  void resolveOptimizer();
  void resolveAdafactor();
  void belongs(std::string_view section, const std::string &type);
  void resolveParamGroups();
  void resolveSchedule();
  void resolveFloor();
  void resolveDecay(const Resolved<int64_t> &warmup, const Resolved<int64_t> &total, bool fits);
  void resolveDeepSpeedSchedule();
  void checkStepSizes();
  void resolveParallel();
  void resolvePipeline();
  void resolveStages(const JsonNode &list);
  void resolveExchange();
  void checkLayout();
  void checkHeads();
  void checkPairs();
  void checkMicroBatches();
  void checkRounds(const std::string &sizes);
  void checkTree(const std::string &sizes);
  void resolveRun();
  void resolveCheckpoint(bool hasValidation);

  // What sections tell each other.
  Resolved<int64_t> vocabulary, positions, layers, heads, sequence, batch, micro, accumulation;
  Resolved<int64_t> data, tensor, pipeline, context, interleave; ///< of `parallel`
  bool hasReplay = false, replayKnown = false;
  std::string replayName; ///< "tokens.npy [20, 3, 38]"
  int64_t replayRows = 0, replayBatch = 0, replaySequence = 0;
  Location replayWhere;
  std::vector<Location> trainWhere, validationWhere; ///< of each file's entry
};

} // namespace dsc

#endif // DSC_LIB_FRONTEND_RESOLVER_H
