//===- SpecTableModel.cpp - rows of `model`: Hugging Face's GPT-2 config ---===//
// Every key that a transformers GPT2Config writes, versions 2 to 5. Limits keep every product of
// sizes that the compiler forms inside 64 bits; Resolve.cpp checks the products that matter.
#include "SpecTableRows.h"

using namespace dsc;

static constexpr std::string_view generation =
    "a default for text generation; dsrun has flags for these";
static constexpr std::string_view outputs = "which outputs a Python model returns";
static constexpr std::string_view classifier = "belongs to sequence classification";

void dsc::addModelRows(std::vector<SpecKey> &t) {
  t.push_back(
      {.path = "model",
       .types = TObject | TPath,
       .required = true,
       .doc = "The network: a Hugging Face GPT-2 `config.json`, inline or as a path to one."});
  t.push_back(
      {.path = "model.model_type",
       .types = TString,
       .fallback = "\"gpt2\"",
       .choices = {"gpt2"},
       .later = {"gpt_neo", "gptj", "gpt_neox", "llama", "mistral", "bert", "opt", "bloom", "qwen2",
                 "phi", "gemma", "t5", "mixtral", "falcon", "mamba", "roberta", "distilbert"},
       .doc = "Family of the network."});
  t.push_back(
      {.path = "model.vocab_size",
       .types = TInteger,
       .fallback = "50257",
       .min = 1,
       .max = 2147483647,
       .unit = "tokens",
       .doc = "Rows of the token embedding. Data with the byte vocabulary needs at least 257."});
  t.push_back({.path = "model.n_positions",
               .types = TInteger,
               .fallback = "1024",
               .min = 1,
               .max = 1 << 24,
               .aliases = {"max_position_embeddings"},
               .unit = "tokens",
               .doc = "Rows of the position embedding: the longest sequence."});
  t.push_back({.path = "model.n_ctx",
               .types = TInteger,
               .inferred = "as n_positions",
               .min = 1,
               .max = 1 << 24,
               .unit = "tokens",
               .doc = "Older name beside `n_positions`; both must be equal."});
  t.push_back({.path = "model.n_embd",
               .types = TInteger,
               .fallback = "768",
               .min = 1,
               .max = 1 << 20,
               .aliases = {"hidden_size"},
               .doc = "Width of the residual stream; a multiple of `n_head`."});
  t.push_back({.path = "model.n_layer",
               .types = TInteger,
               .fallback = "12",
               .min = 1,
               .max = 4096,
               .aliases = {"num_hidden_layers"},
               .doc = "Number of blocks."});
  t.push_back({.path = "model.n_head",
               .types = TInteger,
               .fallback = "12",
               .min = 1,
               .max = 65536,
               .aliases = {"num_attention_heads"},
               .doc = "Attention heads of a block."});
  t.push_back({.path = "model.n_inner",
               .types = TInteger | TNull,
               .inferred = "4 × n_embd",
               .min = 1,
               .max = 1 << 22,
               .doc = "Width of the hidden layer of the MLP; null: 4 × `n_embd`."});
  t.push_back(
      {.path = "model.activation_function",
       .types = TString,
       .fallback = "\"gelu_new\"",
       .choices = {"gelu_new", "gelu_pytorch_tanh", "gelu", "relu"},
       .later = {"silu", "swish", "gelu_fast", "quick_gelu", "gelu_10", "gelu_python",
                 "gelu_accurate", "relu2", "relu6", "tanh", "sigmoid", "mish", "laplace", "linear",
                 "leaky_relu"},
       .doc = "Of the MLP. `gelu` is exact (erf), `gelu_new` and `gelu_pytorch_tanh` use tanh."});
  for (auto [path, doc] :
       {std::pair("model.resid_pdrop", "Dropout on the output of attention and MLP, in training."),
        std::pair("model.embd_pdrop", "Dropout on the embeddings, in training."),
        std::pair("model.attn_pdrop", "Dropout on attention weights, in training.")})
    t.push_back(
        {.path = path, .types = TNumber, .fallback = "0.1", .min = 0, .max = 1, .doc = doc});
  t.push_back({.path = "model.layer_norm_epsilon",
               .types = TNumber,
               .fallback = "1e-05",
               .min = 0,
               .max = 1,
               .aboveMin = true,
               .doc = "Added to the variance in layer normalisation."});
  t.push_back({.path = "model.initializer_range",
               .types = TNumber,
               .fallback = "0.02",
               .min = 0,
               .max = 1000,
               .doc = "Standard deviation of initial weights; `c_proj` weights have it divided by "
                      "√(2·n_layer)."});
  t.push_back({.path = "model.scale_attn_weights",
               .types = TBool,
               .fallback = "true",
               .doc = "Divide attention scores by the square root of the head size."});
  t.push_back({.path = "model.scale_attn_by_inverse_layer_idx",
               .types = TBool,
               .fallback = "false",
               .doc = "Divide attention scores of block i by i + 1."});
  t.push_back({.path = "model.tie_word_embeddings",
               .types = TBool,
               .fallback = "true",
               .doc = "The head uses the token embedding; false: its own `lm_head.weight`."});
  t.push_back({.path = "model.reorder_and_upcast_attn",
               .types = TBool,
               .use = KeyUse::Ignored,
               .reason = "attention scores are computed in f32 anyway",
               .doc = "Order of scaling in attention."});
  t.push_back({.path = "model.architectures",
               .types = TList | TNull,
               .doc = "Python classes; all must be `GPT2LMHeadModel` or `GPT2Model`."});
  t.push_back({.path = "model.architectures[]",
               .types = TString,
               .choices = {"GPT2LMHeadModel", "GPT2Model"},
               .later = {"GPT2DoubleHeadsModel", "GPT2ForSequenceClassification",
                         "GPT2ForTokenClassification", "GPT2ForQuestionAnswering",
                         "TFGPT2LMHeadModel", "FlaxGPT2LMHeadModel"},
               .doc = "Name of a class."});
  for (auto path : {"model.dtype", "model.torch_dtype"})
    t.push_back({.path = path,
                 .types = TString | TNull,
                 .use = KeyUse::Limited,
                 .only = R"(["float32", null])",
                 .reason = "training computes in float32",
                 .doc = "Type that weights are stored in."});
  t.push_back({.path = "model.add_cross_attention",
               .types = TBool,
               .use = KeyUse::Limited,
               .only = "[false]",
               .doc = "Attention to an encoder."});
  t.push_back({.path = "model.is_encoder_decoder",
               .types = TBool,
               .use = KeyUse::Limited,
               .only = "[false]",
               .doc = "An encoder-decoder pair."});
  t.push_back({.path = "model.pruned_heads",
               .types = TObject | TNull,
               .use = KeyUse::Limited,
               .only = "[{}, null]",
               .doc = "Attention heads that were removed.",
               .opaque = true});
  t.push_back({.path = "model.quantization_config",
               .types = TObject | TNull,
               .use = KeyUse::Limited,
               .only = "[null]",
               .doc = "Quantised weights.",
               .opaque = true});
  t.push_back({.path = "model.gradient_checkpointing",
               .types = TBool,
               .use = KeyUse::Limited,
               .only = "[false]",
               .doc = "Recompute activations in the backward pass."});

  auto ignored = [&](std::string_view path, unsigned types, std::string_view reason,
                     std::string_view doc) {
    t.push_back({.path = path,
                 .types = types,
                 .use = KeyUse::Ignored,
                 .reason = reason,
                 .doc = doc,
                 .opaque = true});
  };
  constexpr unsigned id = TInteger | TNull;
  ignored("model.bos_token_id", id, "kept for export", "Token that begins a text.");
  ignored("model.eos_token_id", TInteger | TList | TNull, "kept for export",
          "Token that ends a text.");
  ignored("model.pad_token_id", id, "kept for export", "Token that fills short rows.");
  ignored("model.sep_token_id", id, "kept for export", "Token that separates texts.");
  ignored("model.decoder_start_token_id", id, "kept for export", "First token of a decoder.");
  ignored("model.transformers_version", TString | TNull, "kept for export",
          "Version that wrote the file.");
  ignored("model._name_or_path", TString | TNull, "kept for export", "Where the model came from.");
  ignored("model.name_or_path", TString | TNull, "kept for export", "Where the model came from.");
  ignored("model._commit_hash", TString | TNull, "kept for export",
          "Revision the model came from.");
  ignored("model.tokenizer_class", TString | TNull, "kept for export",
          "Python class of the tokenizer.");
  ignored("model.prefix", TString | TNull, "kept for export", "Text put before a prompt.");
  ignored("model.finetuning_task", TString | TNull, "kept for export", "Task of fine-tuning.");
  ignored("model.use_cache", TBool, "about generation in Python",
          "Keep keys and values in generation.");
  ignored("model._attn_implementation", TString | TNull, "which kernel Python uses",
          "Attention kernel.");
  ignored("model.attn_implementation", TString | TNull, "which kernel Python uses",
          "Attention kernel.");
  ignored("model._attn_implementation_autoset", TBool, "which kernel Python uses",
          "Attention kernel was chosen.");
  ignored("model.chunk_size_feed_forward", TInteger, "changes memory in Python, not results",
          "Chunks of the MLP.");
  ignored("model.is_decoder", TBool, "GPT-2 always is", "The network is a decoder.");
  ignored("model.cross_attention_hidden_size", id, "there is no cross-attention",
          "Width of an encoder.");
  ignored("model.tie_encoder_decoder", TBool, "there is no encoder",
          "Share weights with an encoder.");
  ignored("model.output_past", TBool, outputs, "Return keys and values.");
  ignored("model.output_attentions", TBool, outputs, "Return attention weights.");
  ignored("model.output_hidden_states", TBool, outputs, "Return hidden states.");
  ignored("model.output_scores", TBool, outputs, "Return scores.");
  ignored("model.return_dict", TBool, outputs, "Return a dictionary.");
  ignored("model.use_return_dict", TBool, outputs, "Return a dictionary.");
  ignored("model.return_dict_in_generate", TBool, outputs, "Return a dictionary.");
  ignored("model.torchscript", TBool, "about Python", "For TorchScript.");
  ignored("model.use_bfloat16", TBool, "about TensorFlow", "Use bfloat16 on TPUs.");
  ignored("model.tf_legacy_loss", TBool, "about TensorFlow", "Older loss.");
  ignored("model.summary_type", TString | TNull, classifier, "Which position to classify.");
  ignored("model.summary_use_proj", TBool, classifier, "Project the summary.");
  ignored("model.summary_activation", TString | TNull, classifier, "Activation of the summary.");
  ignored("model.summary_proj_to_labels", TBool, classifier, "Project to labels.");
  ignored("model.summary_first_dropout", TNumber, classifier, "Dropout of the summary.");
  ignored("model.id2label", TObject | TNull, classifier, "Names of classes.");
  ignored("model.label2id", TObject | TNull, classifier, "Numbers of classes.");
  ignored("model.num_labels", TInteger, classifier, "Number of classes.");
  ignored("model._num_labels", TInteger, classifier, "Number of classes.");
  ignored("model.problem_type", TString | TNull, classifier, "Kind of classification.");
  ignored("model.task_specific_params", TObject | TNull, generation, "Settings of single tasks.");
  for (auto path : {"model.max_length", "model.min_length", "model.num_beams",
                    "model.num_beam_groups", "model.top_k", "model.no_repeat_ngram_size",
                    "model.encoder_no_repeat_ngram_size", "model.num_return_sequences"})
    ignored(path, TInteger | TNull, generation, "Generation setting.");
  for (auto path : {"model.diversity_penalty", "model.temperature", "model.top_p",
                    "model.typical_p", "model.repetition_penalty", "model.length_penalty"})
    ignored(path, TNumber | TNull, generation, "Generation setting.");
  for (auto path : {"model.do_sample", "model.early_stopping", "model.remove_invalid_values"})
    ignored(path, TBool | TNull, generation, "Generation setting.");
  for (auto path : {"model.bad_words_ids", "model.suppress_tokens", "model.begin_suppress_tokens",
                    "model.exponential_decay_length_penalty"})
    ignored(path, TList | TNull, generation, "Generation setting.");
  for (auto path : {"model.forced_bos_token_id", "model.forced_eos_token_id"})
    ignored(path, TInteger | TList | TNull, generation, "Generation setting.");
}
