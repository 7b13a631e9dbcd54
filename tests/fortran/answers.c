/* A C host that asks for a version, numbers and names: answers FILE NS. Linked with libframe, by its header. */
#include <stdio.h>
#include <stdlib.h>
#include "frame.h"

int main(int argc, char **argv) {
    char text[60];
    int ns, value = -1;
    if (argc < 3) return 2;
    ns = atoi(argv[2]);

    if (frame_version_(text, sizeof text)) return 3;
    printf("version [%.60s]\n", text);

    frame_initialize_(-1, 16, ns, ns + 5, 0);
    frame_tvproperties_loadmixture_(argv[1], "");
    if (frame_getnumber_("nr", &value)) return 4;
    printf("nr %d\n", value);
    if (frame_getname_("species", ns, text, sizeof text)) return 5;
    printf("last species [%.60s]\n", text);

    printf("unknown: %d\n", frame_getnumber_("nx", &value));
    printf("after a failure %d\n", value);
    return frame_finalize_();
}
