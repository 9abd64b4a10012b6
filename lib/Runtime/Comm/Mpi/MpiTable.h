/*===- MpiTable.h - what the runtime asks of MPI -----------------------------------------===*
 * The only way to MPI: a table of functions of a module that is loaded when a launcher has started
 * this process. Plain C, so that it may be compiled by whatever MPI wants, and so that a test may
 * put its own in place. Functions return 0, or an error of MPI for describe().
 *===------------------------------------------------------------------------------------===*/
#ifndef DSC_LIB_RUNTIME_COMM_MPI_MPITABLE_H
#define DSC_LIB_RUNTIME_COMM_MPI_MPITABLE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DSC_MPI_TABLE_VERSION = 1, DSC_MPI_CHANNELS = 64 };

typedef uint64_t DscMpiRequest;

struct DscMpiTable {
  int version;
  /* MPI_Init_thread; `threads`: whether several may call at once. */
  int (*initialize)(int *rank, int *size, int *threads, int *largestTag, char *library,
                    int capacity);
  /* A copy of the world, by all ranks together; errors of its messages are returned. */
  int (*openChannel)(int channel);
  int (*send)(int channel, int peer, int tag, const void *data, uint64_t bytes,
              DscMpiRequest *request);
  int (*receive)(int channel, int peer, int tag, void *data, uint64_t bytes,
                 DscMpiRequest *request);
  /* `bytes`: those that arrived. */
  int (*test)(DscMpiRequest *request, int *over, uint64_t *bytes);
  /* Whether a message is here, from whom; it is then taken by take(). */
  int (*probe)(int channel, int *there, int *peer);
  int (*take)(int channel, int peer, void *data, uint64_t bytes);
  int (*finalize)(void);
  void (*abort)(int code);
  void (*describe)(int error, char *text, int capacity);
};

/* The module's one symbol: dscMpiTable. */
typedef const struct DscMpiTable *(*DscMpiTableFunction)(void);

#ifdef __cplusplus
}
#endif

#endif /* DSC_LIB_RUNTIME_COMM_MPI_MPITABLE_H */
