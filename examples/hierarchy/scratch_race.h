// Exercise 8 without its barrier
#include "scratch_field.h"
