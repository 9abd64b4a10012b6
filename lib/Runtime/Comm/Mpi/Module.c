/*===- Module.c - the functions of MpiTable.h, by MPI -------------------------------------===*
 * All that is compiled against MPI.
 *===------------------------------------------------------------------------------------===*/
#include "MpiTable.h"
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(DscMpiRequest), "a request is a handle");

static MPI_Comm channels[DSC_MPI_CHANNELS];

static int initialize(int *rank, int *size, int *threads, int *largestTag, char *library,
                      int capacity) {
  int provided = MPI_THREAD_SINGLE, error = MPI_SUCCESS, already = 0;
  MPI_Initialized(&already);
  if (already)
    error = MPI_Query_thread(&provided);
  else
    error = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  if (error)
    return error;
  *threads = provided == MPI_THREAD_MULTIPLE;
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
  void *limit = NULL;
  int there = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &there);
  *largestTag = there ? *(int *)limit : 32767;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\n")] = 0;
  snprintf(library, (size_t)capacity, "%s", version);
  return MPI_SUCCESS;
}

static int openChannel(int channel) {
  int error = MPI_Comm_dup(MPI_COMM_WORLD, &channels[channel]);
  return error ? error : MPI_Comm_set_errhandler(channels[channel], MPI_ERRORS_RETURN);
}

/* Counts of MPI are of 31 bits: longer messages are one element of a type of their own. */
static int typeOf(uint64_t bytes, MPI_Datatype *type, int *count) {
  *type = MPI_BYTE;
  *count = (int)bytes;
  if (bytes <= INT_MAX)
    return MPI_SUCCESS;
  MPI_Datatype block;
  int error = MPI_Type_contiguous(1 << 30, MPI_BYTE, &block);
  if (error)
    return error;
  int lengths[2] = {(int)(bytes >> 30), (int)(bytes & ((1 << 30) - 1))};
  MPI_Aint places[2] = {0, (MPI_Aint)(bytes >> 30 << 30)};
  MPI_Datatype types[2] = {block, MPI_BYTE};
  error = MPI_Type_create_struct(2, lengths, places, types, type);
  MPI_Type_free(&block);
  *count = 1;
  return error ? error : MPI_Type_commit(type);
}

static int start(int sends, int channel, int peer, int tag, void *data, uint64_t bytes,
                 DscMpiRequest *request) {
  MPI_Datatype type;
  int count;
  int error = typeOf(bytes, &type, &count);
  if (error)
    return error;
  MPI_Request started = MPI_REQUEST_NULL;
  error = sends ? MPI_Isend(data, count, type, peer, tag, channels[channel], &started)
                : MPI_Irecv(data, count, type, peer, tag, channels[channel], &started);
  if (type != MPI_BYTE)
    MPI_Type_free(&type);
  *request = 0;
  memcpy(request, &started, sizeof started);
  return error;
}

static int send(int channel, int peer, int tag, const void *data, uint64_t bytes,
                DscMpiRequest *request) {
  return start(1, channel, peer, tag, (void *)data, bytes, request);
}

static int receive(int channel, int peer, int tag, void *data, uint64_t bytes,
                   DscMpiRequest *request) {
  return start(0, channel, peer, tag, data, bytes, request);
}

static int test(DscMpiRequest *request, int *over, uint64_t *bytes) {
  MPI_Request started;
  memcpy(&started, request, sizeof started);
  MPI_Status status;
  int error = MPI_Test(&started, over, &status);
  memcpy(request, &started, sizeof started);
  if (error || !*over)
    return error;
  MPI_Count count = 0;
  error = MPI_Get_elements_x(&status, MPI_BYTE, &count);
  *bytes = (uint64_t)count;
  return error;
}

static int probe(int channel, int *there, int *peer) {
  MPI_Status status;
  int error = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, channels[channel], there, &status);
  *peer = status.MPI_SOURCE;
  return error;
}

static int take(int channel, int peer, void *data, uint64_t bytes) {
  return MPI_Recv(data, (int)bytes, MPI_BYTE, peer, MPI_ANY_TAG, channels[channel],
                  MPI_STATUS_IGNORE);
}

static int finalize(void) { return MPI_Finalize(); }

static void abortAll(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

static void describe(int error, char *text, int capacity) {
  char message[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, message, &length);
  snprintf(text, (size_t)capacity, "%s", message);
}

static const struct DscMpiTable table = {
    DSC_MPI_TABLE_VERSION,
    initialize,
    openChannel,
    send,
    receive,
    test,
    probe,
    take,
    finalize,
    abortAll,
    describe,
};

const struct DscMpiTable *dscMpiTable(void) { return &table; }
