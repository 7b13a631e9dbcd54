/* A C host that sets the constants of its own kernels: constants FILE. Linked with libframe, by its header. */
#include <stdio.h>
#include "frame.h"

int main(int argc, char **argv) {
    double T[4] = {300, 300, 300, 300}, mu[4] = {0}, weight[3] = {1, 10, 100};
    char text[1000];
    (void)argc;
    frame_registerkernel_(argv[1]);
    frame_initialize_(-1, 4, 3, 1, 0);
    frame_setconstant_("MU0", 2.0);
    frame_setconstants_("weight", weight, 3);
    frame_castles_populateinputstripe_("T", T, 4, 1, 1, 1, 4, 1, 1, 1, 1, 1, 1, 1, 4);
    frame_launch_("viscosity", 4);
    frame_castles_populateoutputstripe_("mu", mu, 4, 1, 1, 1, 4, 1, 1, 1, 1, 1, 1, 1, 4);
    printf("mu %g\n", mu[3]);
    printf("status %d\n", frame_setconstants_("weight", weight, 2));
    frame_lasterror_(text, sizeof text - 1);
    text[sizeof text - 1] = 0;
    puts(text);
    return frame_finalize_();
}
