//===- Documents.cpp - JSON Schema and reference page out of the table -----===//
#include "NotYet.h"
#include "dsc/Frontend/SpecTable.h"
#include "dsc/Support/Json.h"
#include <cmath>

using namespace dsc;
using Json = nlohmann::ordered_json;

static Json numberLimit(double value) {
  if (value == std::trunc(value) && std::fabs(value) < 9e15)
    return static_cast<int64_t>(value);
  if (value == 18446744073709551615.0)
    return UINT64_MAX;
  return value;
}

static std::string documentation(const SpecKey &key) {
  std::string text(key.doc);
  if (!key.inferred.empty())
    text += " When absent: " + std::string(key.inferred) + ".";
  if (key.use == KeyUse::Ignored)
    text += " Without effect: " + std::string(key.reason) + ".";
  if (key.use == KeyUse::Limited || key.use == KeyUse::Absent)
    text += " Not available yet" + (key.reason.empty() ? "" : ": " + std::string(key.reason)) + ".";
  if (std::string later = notYetText(key.path); !later.empty())
    text += " Not available yet: " + later + ".";
  return text;
}

static Json schemaOf(const SpecSection &section);

static void addObject(Json &schema, const SpecSection &section) {
  // In the order of the table, as documents are.
  Json properties = Json::object(), required = Json::array();
  for (const SpecKey &row : specTable())
    for (const auto &[name, child] : section.children) {
      if (child.key != &row)
        continue;
      properties[name] = schemaOf(child);
      for (std::string_view alias : row.aliases) {
        properties[std::string(alias)] = schemaOf(child);
        properties[std::string(alias)]["description"] = "Another name of `" + name + "`.";
      }
      if (row.required)
        required.push_back(name);
    }
  schema["properties"] = std::move(properties);
  if (!required.empty())
    schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
}

static Json schemaOf(const SpecSection &section) {
  const SpecKey &key = *section.key;
  Json schema = Json::object();
  schema["description"] = documentation(key);
  if (key.use == KeyUse::Limited) {
    schema["enum"] = Json::parse(key.only);
    return schema;
  }
  if (key.use == KeyUse::Absent) {
    schema["anyOf"] = Json::array(
        {Json{{"enum", {nullptr, false}}}, Json{{"type", "object"},
                                                {"properties", {{"enabled", {{"const", false}}}}},
                                                {"required", {"enabled"}}}});
    return schema;
  }
  if (key.types & TAny)
    return schema;
  Json options = Json::array();
  if (key.types & (TNumber | TInteger)) {
    Json number = Json::object();
    number["type"] = key.types & TNumber ? "number" : "integer";
    if (std::isfinite(key.min))
      number[key.aboveMin ? "exclusiveMinimum" : "minimum"] = numberLimit(key.min);
    if (std::isfinite(key.max))
      number[key.belowMax ? "exclusiveMaximum" : "maximum"] = numberLimit(key.max);
    options.push_back(std::move(number));
  }
  if (key.types & TBool)
    options.push_back({{"type", "boolean"}});
  if (key.types & (TString | TPath)) {
    Json string = Json::object();
    string["type"] = "string";
    if (!key.choices.empty() && !key.ignoreCase)
      string["enum"] = key.choices;
    if (key.types & TPath)
      string["minLength"] = 1;
    options.push_back(std::move(string));
  }
  if (key.types & TObject) {
    Json object = Json::object();
    object["type"] = "object";
    if (!key.opaque)
      addObject(object, section);
    options.push_back(std::move(object));
  }
  if (key.types & TList) {
    Json list = Json::object();
    list["type"] = "array";
    if (!section.element.empty() && section.element.front().key)
      list["items"] = schemaOf(section.element.front());
    options.push_back(std::move(list));
  }
  if (key.types & TNull)
    options.push_back({{"type", "null"}});
  if (key.types & TAuto)
    options.push_back({{"const", "auto"}});
  if (options.size() == 1)
    schema.update(options[0]);
  else
    schema["anyOf"] = std::move(options);
  if (!key.fallback.empty())
    schema["default"] = Json::parse(key.fallback);
  return schema;
}

std::string dsc::emitSpecSchema() {
  Json schema = Json::object();
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "model.json of dsc";
  schema["type"] = "object";
  addObject(schema, specTree());
  return schema.dump(2) + "\n";
}

static std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

static std::string valueCell(const SpecKey &key) {
  if (key.use == KeyUse::Limited)
    return "`" + std::string(key.only.substr(1, key.only.size() - 2)) + "`";
  std::string text = typeNames(key);
  if (std::string range = rangeText(key); !range.empty())
    text += ", " + range;
  if (!key.unit.empty())
    text += ", in " + std::string(key.unit);
  if (key.choices.size() > 1 || key.types & TInteger)
    for (size_t i = 0; i < key.choices.size(); ++i)
      text += (i == 0 ? ": `" : ", `") + std::string(key.choices[i]) + "`";
  return text;
}

static std::string defaultCell(const SpecKey &key) {
  if (key.required)
    return "required";
  if (!key.fallback.empty())
    return "`" + std::string(key.fallback) + "`";
  return std::string(key.inferred);
}

static void addRows(std::string &page, std::string_view section) {
  // Keys that are read first, then what is refused, then what is without effect.
  std::string rows, later, ignored;
  for (const SpecKey &key : specTable()) {
    bool inside = section.empty() ? key.path.find('.') == std::string_view::npos
                                  : key.path.rfind(std::string(section) + ".", 0) == 0;
    if (!inside)
      continue;
    std::string name = "`" + std::string(key.path) + "`";
    for (std::string_view alias : key.aliases)
      name += " (also `" + std::string(alias) + "`)";
    switch (key.use) {
    case KeyUse::Used: {
      std::string doc(key.doc);
      if (!key.belongsTo.empty()) {
        doc += " For";
        for (size_t i = 0; i < key.belongsTo.size(); ++i)
          doc += (i ? ", " : " ") + std::string(key.belongsTo[i]);
        doc += ".";
      }
      if (std::string later = notYetText(key.path); !later.empty())
        doc += " Not available yet: " + later + ".";
      rows += "| " + name + " | " + cell(valueCell(key)) + " | " + cell(defaultCell(key)) + " | " +
              cell(doc) + " |\n";
      break;
    }
    case KeyUse::Limited:
    case KeyUse::Absent:
      later +=
          "| " + name + " | " +
          (key.use == KeyUse::Absent ? "absent, `null`, `false` or off" : cell(valueCell(key))) +
          " | " +
          cell(std::string(key.doc) +
               (key.reason.empty() ? "" : " (" + std::string(key.reason) + ")")) +
          " |\n";
      break;
    case KeyUse::Ignored:
      ignored += "| " + name + " | " + cell(typeNames(key)) + " | " +
                 cell(std::string(key.reason)) + " |\n";
      break;
    }
  }
  if (!rows.empty())
    page += "| key | value | default | meaning |\n|---|---|---|---|\n" + rows + "\n";
  if (!later.empty())
    page += "Not available yet; accepted only with these values:\n\n| key | accepted | meaning "
            "|\n|---|---|---|\n" +
            later + "\n";
  if (!ignored.empty())
    page +=
        "Understood, without effect:\n\n| key | value | why |\n|---|---|---|\n" + ignored + "\n";
}

std::string dsc::emitSpecReference() {
  std::string page = R"(# The spec: `model.json`

<!-- Written by `dsc --emit-spec-reference` from lib/Frontend/SpecTable*.cpp; a test compares. -->

One JSON file says what is trained, on what, and how. A Hugging Face GPT-2 `config.json` goes under `model`, a DeepSpeed
`ds_config.json` under `train`, both as they are. The JSON Schema for editors is [model.schema.json](model.schema.json).

```json
{ "schema_version": 1,
  "model": "gpt2-tiny/config.json",
  "init": {"from": "gpt2-tiny"},
  "data": {"train": [{"path": "tokens.npy", "format": "replay"}]},
  "train": {"train_batch_size": 3, "gradient_clipping": 1.0, "steps": 20,
            "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "betas": [0.9, 0.95], "weight_decay": 0.1}},
            "scheduler": {"type": "cosine", "params": {"warmup_steps": 5, "min_lr": 1e-4}}} }
```

- The file is strict JSON in UTF-8 (a byte order mark is skipped), at most 4 MiB, 100000 values, 64 levels.
- An unknown key, a key given twice, a wrong type and a number out of range are errors. All errors of a file are reported at
  once, each with line, column, cause and fix; the exit code is 1.
- A whole number may be written `12`, `12.0` or `1e3`. Numbers are exact up to 64 bits.
- `"auto"` means "as if absent" wherever a value can be inferred.
- `--set train.optimizer.params.lr=3e-4` overrides a value; items of lists by index: `--set train.optimizer.params.betas.1=0.95`.
  The value is JSON; a text needs no quotes. Nothing in the environment changes a spec.
- Paths are relative to the folder of the spec; paths in `--set` to the current folder.
- `dsc SPEC --print-config` shows each value and where it came from.

## Top level

)";
  addRows(page, "");
  for (const SpecKey &key : specTable()) {
    if (key.path.find('.') != std::string_view::npos || !(key.types & TObject))
      continue;
    page += "## `" + std::string(key.path) + "`\n\n" + std::string(key.doc) + "\n\n";
    addRows(page, key.path);
  }
  while (page.size() > 1 && page[page.size() - 1] == '\n' && page[page.size() - 2] == '\n')
    page.pop_back();
  return page;
}
