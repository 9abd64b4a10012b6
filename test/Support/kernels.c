// Kernels of the plan in TestPlan.cpp, in the ABI of dsc/Plan/Plan.h: a bigram model, whose logits after token
// t are row t of W [8, 8], trained with cross-entropy and gradient descent. B * T = 12 positions.
#include <math.h>
#include <stdint.h>
enum { V = 8, N = 12 };

// Loss of each position: W, tokens, labels -> rows.
void row_losses(void *const *op, int64_t begin, int64_t end, void *workspace) {
  const float *w = op[0];
  const int32_t *tokens = op[1], *labels = op[2];
  double *rows = op[3], *p = workspace;
  for (int64_t i = begin; i < end; ++i) {
    rows[i] = 0;
    if (labels[i] < 0)
      continue;
    const float *row = w + tokens[i] * V;
    double sum = 0;
    for (int k = 0; k < V; ++k)
      p[k] = exp((double)row[k]);
    for (int k = 0; k < V; ++k)
      sum += p[k];
    rows[i] = log(sum) - row[labels[i]];
  }
}

// rows, labels -> loss (mean), count.
void mean_loss(void *const *op, int64_t begin, int64_t end, void *workspace) {
  const double *rows = op[0];
  const int32_t *labels = op[1];
  double *loss = op[2], *count = op[3], sum = 0, n = 0;
  for (int i = 0; i < N; ++i) {
    sum += rows[i];
    n += labels[i] >= 0;
  }
  *loss = n ? sum / n : 0;
  *count = n;
}

// An item is a row of W: W, tokens, labels, count -> gradient.
void gradient(void *const *op, int64_t begin, int64_t end, void *workspace) {
  const float *w = op[0];
  const int32_t *tokens = op[1], *labels = op[2];
  const double *count = op[3];
  float *gradient = op[4];
  for (int64_t r = begin; r < end; ++r) {
    double sum = 0, n = 0, hits[V] = {0};
    for (int k = 0; k < V; ++k)
      sum += exp((double)w[r * V + k]);
    for (int i = 0; i < N; ++i)
      if (labels[i] >= 0 && tokens[i] == r) {
        hits[labels[i]] += 1;
        n += 1;
      }
    for (int k = 0; k < V; ++k)
      gradient[r * V + k] =
          *count ? (float)((n * exp((double)w[r * V + k]) / sum - hits[k]) / *count) : 0;
  }
}

// gradient -> norm.
void norm(void *const *op, int64_t begin, int64_t end, void *workspace) {
  const float *g = op[0];
  double sum = 0;
  for (int i = 0; i < V * V; ++i)
    sum += (double)g[i] * g[i];
  *(double *)op[1] = sqrt(sum);
}

// lr -> rate.
void rate(void *const *op, int64_t begin, int64_t end, void *workspace) {
  *(double *)op[1] = *(const double *)op[0];
}

// gradient, rate, W -> W in place.
void update(void *const *op, int64_t begin, int64_t end, void *workspace) {
  const float *g = op[0];
  float *w = op[2];
  for (int64_t i = begin * V; i < end * V; ++i)
    w[i] -= (float)*(const double *)op[1] * g[i];
}

void increment(void *const *op, int64_t begin, int64_t end, void *workspace) {
  *(double *)op[0] += 1;
}

// W, tokens -> logits; an item is a position.
void lookup(void *const *op, int64_t begin, int64_t end, void *workspace) {
  const float *w = op[0];
  const int32_t *tokens = op[1];
  float *logits = op[2];
  for (int64_t i = begin; i < end; ++i)
    for (int k = 0; k < V; ++k)
      logits[i * V + k] = w[tokens[i] * V + k];
}

// Not run by any program: what a plan must not do is tested by naming it.
void unused(void *const *op, int64_t begin, int64_t end, void *workspace) {}
