/* A host in C: no Fortran symbols of MPI are in the process. Argument: the mixture. It frees its communicator once the
 * layer has it. A rank with NO_FILE in its environment names a file that is not there. */
#include "frame.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    char text[400];
    MPI_Comm comm;
    int rank, status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);

    status = frame_setcomm_(MPI_Comm_c2f(comm));
    MPI_Comm_free(&comm);
    frame_lasterror_(text, sizeof text);
    printf("rank %d setcomm %d %.150s\n", rank, status, text);
    fflush(stdout);

    status = frame_initialize_(-1, 64, 1, 6, 0);
    if (status == 0) status = frame_tvproperties_loadmixture_(getenv("NO_FILE") ? "nothing.yaml" : argv[1], "");
    printf("rank %d mixture %d\n", rank, status);
    fflush(stdout);

    MPI_Barrier(MPI_COMM_WORLD);
    frame_finalize_();
    MPI_Finalize();
    return 0;
}
