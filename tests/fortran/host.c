/* A C host: libframe opened with RTLD_LOCAL, and every way in which a Fortran compiler may spell the symbols. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*initialize)(int, int, int, int, int);
typedef int (*finalize)(void);
typedef int (*lasterror)(char *, int);

int main(int argc, char **argv) {
    static const char *const stem[] = {"frame_initialize", "frame_launch", "frame_lasterror",
                                       "frame_castles_populateinputstripe",
                                       "frame_tvproperties_eosthermalandviscousproperties"};
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    char name[100], text[400];
    int i, form, k, status;
    (void)argc;
    if (!library) {
        puts(dlerror());
        return 1;
    }
    for (i = 0; i < 5; i++)
        for (form = 0; form < 4; form++) {
            snprintf(name, sizeof name, "%s%s", stem[i], form == 0 ? "" : form == 1 ? "_" : form == 2 ? "__" : "");
            if (form == 3)
                for (k = 0; name[k]; k++)
                    if (name[k] >= 'a' && name[k] <= 'z') name[k] -= 32;
            if (!dlsym(library, name)) {
                printf("missing %s\n", name);
                return 2;
            }
        }
    status = ((initialize)dlsym(library, "FRAME_INITIALIZE"))(-1, 100, 1, 6, 0);
    printf("initialize %d\n", status);
    if (status) {
        ((lasterror)dlsym(library, "frame_lasterror_"))(text, sizeof text - 1);
        text[sizeof text - 1] = 0;
        puts(text);
        return 3;
    }
    status = ((finalize)dlsym(library, "frame_finalize__"))();
    printf("finalize %d\n", status);
    return status;
}
