// What a kernel needs: its declaration (kernel.h), and functions on numbers (platform.h).
#pragma once
#include "engine/numbers/kernel.h"
#include "engine/numbers/platform.h"
