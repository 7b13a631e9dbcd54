// The tile of a block of direct.h, and its shared memory.
#pragma once
#include "engine/numbers/launch.h"
#include "engine/numbers/multiply_add.h"

extern __shared__ double shared_memory[];

static_assert(STAGES > 1, "a step is copied while another one is multiplied");
static_assert(HOLDS == HOLDS_NOTHING || PARTS == 1, "a block that holds a factor has whole sums");
static_assert(!STRAIGHT || (PARTS == 1 && !OUT_ROWS), "sums that go straight to the output are whole, in its order");

constexpr int WARPS = WARPS_M * WARPS_N;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS = 16 * TILES_M * WARPS_M;
constexpr int COLUMNS = 8 * TILES_N * WARPS_N;
constexpr int SIZE = sizeof(scalar);
constexpr int APART = 16 / SIZE; // between lines: quarters of a warp then meet different banks
constexpr int GROUP = 8;         // tiles of rows that share a tile of columns in the cache

template <bool ALONG, int LINES> constexpr int STAGE = ALONG ? LINES * DEPTH : DEPTH * (LINES + APART);
constexpr int LEFT_STAGE = STAGE<LEFT_ALONG, ROWS>, RIGHT_STAGE = STAGE<RIGHT_ALONG, COLUMNS>;

constexpr int FAST = OUT_ROWS ? ROWS : COLUMNS;
constexpr int SLOW = OUT_ROWS ? COLUMNS : ROWS;
constexpr int PITCH = FAST + APART;
constexpr int TILE = STRAIGHT ? 0 : SLOW * PITCH;

// Shared memory: the copies, then the finished tile, which takes the place of the copies where a block has one tile.
constexpr bool HOLDS_ANY = HOLDS != HOLDS_NOTHING;
constexpr int HELD = HOLDS == HOLDS_LEFT ? LEFT_STAGE : RIGHT_STAGE;
constexpr int PASSING = LEFT_STAGE + RIGHT_STAGE - HELD;
constexpr int COPIES = HOLDS_ANY ? HELD + 2 * PASSING : STAGES * (LEFT_STAGE + RIGHT_STAGE);
constexpr int FINISHED = HOLDS_ANY ? COPIES : 0;
constexpr int NUMBERS = FINISHED + (!HOLDS_ANY && COPIES > TILE ? COPIES : TILE); // before the tables
constexpr int SETS = HOLDS_ANY ? 3 : 1; // of tables: of the tile whose last numbers leave, of this and of the next one

constexpr int MOST_DIGITS = 8;
constexpr int OUTSIDE = -1; // the place of a line beyond the edge
