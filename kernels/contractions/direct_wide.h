// The inner loop of direct_packs.h for vectors of 64 bytes, in assembly: a panel of rows meets a panel of columns.
//
// A core multiplies at full pace across the end of a panel if the next panel's beginning gets into the queues behind
// the stores of the sums. Zen 4 queues 64 stores, and one of 64 bytes takes two of these places. So hardly anything but
// the 24 vectors of sums may be stored between two panels. A compiler stores counters and addresses, since it has too
// few registers here: with some 30 of them a panel of 48 terms took 160 clocks beside the 1152 of its multiply-adds,
// now 45.
#pragma once
#include <stddef.h>
#include "contractions/direct_panels.h"

// What the loop reads beside the factors. All but the last three are the same for many panels.
struct Walk {
    const long *row_term, *column_term; // places of the terms
    long terms;
    long step, thrice; // bytes from column to column
    const SCALAR *out;
    const long *out_row, *out_column; // places of the output that are asked for; out_column nullptr: none
    SCALAR *packed;                   // rows are packed there on the way; nullptr: they are not
};

// Bytes from the beginning of a structure, for the text below.
#define WALK_ROW_TERM "0"
#define WALK_COLUMN_TERM "8"
#define WALK_TERMS "16"
#define WALK_STEP "24"
#define WALK_THRICE "32"
#define WALK_OUT "40"
#define WALK_OUT_ROW "48"
#define WALK_OUT_COLUMN "56"
#define WALK_PACKED "64"
static_assert(offsetof(Walk, column_term) == 8 && offsetof(Walk, terms) == 16 && offsetof(Walk, step) == 24 &&
                  offsetof(Walk, thrice) == 32 && offsetof(Walk, out) == 40 && offsetof(Walk, out_row) == 48 &&
                  offsetof(Walk, out_column) == 56 && offsetof(Walk, packed) == 64,
              "the text reads these places");

#define AHEAD_FROM "0"
#define AHEAD_TERM "8"
#define AHEAD_LINE "16"
#define AHEAD_END "24"
#define AHEAD_TERMS "32"
#define AHEAD_TERM_STEP "40"
#define AHEAD_TURN "48"
#define AHEAD_K "64"
#define AHEAD_ASKING "72"
#define AHEAD_FIRST "80"
#define AHEAD_NEXT "88"
static_assert(offsetof(Ahead, term) == 8 && offsetof(Ahead, line) == 16 && offsetof(Ahead, end) == 24 &&
                  offsetof(Ahead, terms) == 32 && offsetof(Ahead, term_step) == 40 && offsetof(Ahead, turn) == 48 &&
                  offsetof(Ahead, k) == 64 && offsetof(Ahead, asking) == 72 && offsetof(Ahead, first) == 80 &&
                  offsetof(Ahead, next) == 88,
              "the text reads these places");
static_assert(PACKS == 3 && COLUMNS == 8 && TERMS == 4, "24 sums; the text has these numbers");

#define LINES(text) text "\n\t"

// rax: the term. rsi, rdi: bytes from column to column, and thrice as many. r8: the next request's line.
// zmm28 to zmm30: the rows, zmm31: a column.
#define NO_SUMS(a, b, c) LINES("vpxorq " a "," a "," a) LINES("vpxorq " b "," b "," b) LINES("vpxorq " c "," c "," c)

#define MEET(kind, column, a, b, c) \
    LINES("vbroadcasts" kind " " column ",%%zmm31") \
    LINES("vfmadd231p" kind " %%zmm31,%%zmm28," a) \
    LINES("vfmadd231p" kind " %%zmm31,%%zmm29," b) \
    LINES("vfmadd231p" kind " %%zmm31,%%zmm30," c)

// clang-format off
#define PANEL_LOOP(kind, size, second, third)                                                                          \
    NO_SUMS("%0", "%1", "%2") NO_SUMS("%3", "%4", "%5") NO_SUMS("%6", "%7", "%8") NO_SUMS("%9", "%10", "%11")          \
    NO_SUMS("%12", "%13", "%14") NO_SUMS("%15", "%16", "%17") NO_SUMS("%18", "%19", "%20")                             \
    NO_SUMS("%21", "%22", "%23")                                                                                       \
    LINES("movq " AHEAD_NEXT "(%[ahead]),%%r8")                                                                        \
    LINES("movq " WALK_STEP "(%[walk]),%%rsi")                                                                         \
    LINES("movq " WALK_THRICE "(%[walk]),%%rdi")                                                                       \
    LINES("xorl %%eax,%%eax")                                                                                          \
    LINES("cmpq $0," WALK_TERMS "(%[walk])")                                                                           \
    LINES("jle 9f")                                                                                                    \
                                                                                                                       \
    /* At each turn of four terms some requests for what is read next. */                                              \
    LINES("1: testb $3,%%al")                                                                                          \
    LINES("jne 5f")                                                                                                    \
    LINES("cmpq " AHEAD_ASKING "(%[ahead]),%%rax")                                                                     \
    LINES("jge 5f")                                                                                                    \
    LINES("movq " AHEAD_TURN "(%[ahead]),%%rcx")                                                                       \
    LINES("movq " AHEAD_FIRST "(%[ahead]),%%rdx")                                                                      \
    LINES("2: movq (%%r8),%%r9")                                                                                       \
    LINES("prefetcht1 (%%rdx,%%r9," size ")")                                                                          \
    LINES("addq $8,%%r8")                                                                                              \
    LINES("cmpq " AHEAD_END "(%[ahead]),%%r8")                                                                         \
    LINES("je 8f")                                                                                                     \
    LINES("3: decq %%rcx")                                                                                             \
    LINES("jne 2b")                                                                                                    \
                                                                                                                       \
    /* At each of the first terms, requests for a column of the output. */                                             \
    LINES("5: cmpq $8,%%rax")                                                                                          \
    LINES("jge 6f")                                                                                                    \
    LINES("movq " WALK_OUT_COLUMN "(%[walk]),%%rcx")                                                                   \
    LINES("testq %%rcx,%%rcx")                                                                                         \
    LINES("je 6f")                                                                                                     \
    LINES("movq (%%rcx,%%rax,8),%%rcx")                                                                                \
    LINES("movq " WALK_OUT "(%[walk]),%%rdx")                                                                          \
    LINES("leaq (%%rdx,%%rcx," size "),%%rcx")                                                                         \
    LINES("movq " WALK_OUT_ROW "(%[walk]),%%rdx")                                                                      \
    LINES("movq (%%rdx),%%r9")                                                                                         \
    LINES("prefetchw (%%rcx,%%r9," size ")")                                                                           \
    LINES("movq " second "(%%rdx),%%r9")                                                                               \
    LINES("prefetchw (%%rcx,%%r9," size ")")                                                                           \
    LINES("movq " third "(%%rdx),%%r9")                                                                                \
    LINES("prefetchw (%%rcx,%%r9," size ")")                                                                           \
                                                                                                                       \
    /* The rows of a term. */                                                                                          \
    LINES("6: movq " WALK_ROW_TERM "(%[walk]),%%rcx")                                                                  \
    LINES("movq (%%rcx,%%rax,8),%%rcx")                                                                                \
    LINES("vmovups (%[row0],%%rcx," size "),%%zmm28")                                                                  \
    LINES("vmovups (%[row1],%%rcx," size "),%%zmm29")                                                                  \
    LINES("vmovups (%[row2],%%rcx," size "),%%zmm30")                                                                  \
    LINES("movq " WALK_PACKED "(%[walk]),%%rcx")                                                                       \
    LINES("testq %%rcx,%%rcx")                                                                                         \
    LINES("je 7f")                                                                                                     \
    LINES("leaq (%%rax,%%rax,2),%%rdx")                                                                                \
    LINES("shlq $6,%%rdx")                                                                                             \
    LINES("vmovups %%zmm28,(%%rcx,%%rdx)")                                                                             \
    LINES("vmovups %%zmm29,64(%%rcx,%%rdx)")                                                                           \
    LINES("vmovups %%zmm30,128(%%rcx,%%rdx)")                                                                          \
                                                                                                                       \
    /* They meet its columns. */                                                                                       \
    LINES("7: movq " WALK_COLUMN_TERM "(%[walk]),%%rcx")                                                               \
    LINES("movq (%%rcx,%%rax,8),%%rcx")                                                                                \
    LINES("leaq (%[column],%%rcx," size "),%%rdx")                                                                     \
    LINES("leaq (%%rdx,%%rsi,4),%%rcx")                                                                                \
    MEET(kind, "(%%rdx)", "%0", "%1", "%2")                                                                            \
    MEET(kind, "(%%rdx,%%rsi)", "%3", "%4", "%5")                                                                      \
    MEET(kind, "(%%rdx,%%rsi,2)", "%6", "%7", "%8")                                                                    \
    MEET(kind, "(%%rdx,%%rdi)", "%9", "%10", "%11")                                                                    \
    MEET(kind, "(%%rcx)", "%12", "%13", "%14")                                                                         \
    MEET(kind, "(%%rcx,%%rsi)", "%15", "%16", "%17")                                                                   \
    MEET(kind, "(%%rcx,%%rsi,2)", "%18", "%19", "%20")                                                                 \
    MEET(kind, "(%%rcx,%%rdi)", "%21", "%22", "%23")                                                                   \
    LINES("incq %%rax")                                                                                                \
    LINES("cmpq " WALK_TERMS "(%[walk]),%%rax")                                                                        \
    LINES("jl 1b")                                                                                                     \
    LINES("jmp 9f")                                                                                                    \
                                                                                                                       \
    /* The next request is of the first line again, some terms on; there is none behind the last term. */              \
    LINES("8: movq " AHEAD_LINE "(%[ahead]),%%r8")                                                                     \
    LINES("movq " AHEAD_K "(%[ahead]),%%rdx")                                                                          \
    LINES("addq " AHEAD_TERM_STEP "(%[ahead]),%%rdx")                                                                  \
    LINES("movq %%rdx," AHEAD_K "(%[ahead])")                                                                          \
    LINES("cmpq " AHEAD_TERMS "(%[ahead]),%%rdx")                                                                      \
    LINES("jge 4f")                                                                                                    \
    LINES("movq " AHEAD_TERM "(%[ahead]),%%r9")                                                                        \
    LINES("movq (%%r9,%%rdx,8),%%r9")                                                                                  \
    LINES("movq " AHEAD_FROM "(%[ahead]),%%rdx")                                                                       \
    LINES("leaq (%%rdx,%%r9," size "),%%rdx")                                                                          \
    LINES("movq %%rdx," AHEAD_FIRST "(%[ahead])")                                                                      \
    LINES("jmp 3b")                                                                                                    \
    LINES("4: movq $0," AHEAD_ASKING "(%[ahead])")                                                                     \
    LINES("jmp 5b")                                                                                                    \
    LINES("9: movq %%r8," AHEAD_NEXT "(%[ahead])")

#define SUM(n) "=v"(a##n), "=v"(b##n), "=v"(c##n)
#define OPERANDS                                                                                                       \
    : SUM(0), SUM(1), SUM(2), SUM(3), SUM(4), SUM(5), SUM(6), SUM(7)                                                   \
    : [walk] "r"(&walk), [ahead] "r"(&ahead), [row0] "r"(row[0]), [row1] "r"(row[1]), [row2] "r"(row[2]),              \
      [column] "r"(column)                                                                                             \
    : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30",    \
      "xmm31", "cc", "memory"
// clang-format on

// The sums of a panel. row: the packs of its rows. column: its first column.
POINT_FN Sums multiply(const Walk &walk, Ahead &ahead, const SCALAR *const (&row)[PACKS], const SCALAR *column) {
    Pack a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5, c6, c7;
    if constexpr (SIZE == 4) __asm__ volatile(PANEL_LOOP("s", "4", "128", "256") OPERANDS);
    else __asm__ volatile(PANEL_LOOP("d", "8", "64", "128") OPERANDS);
    return {{{a0, b0, c0},
             {a1, b1, c1},
             {a2, b2, c2},
             {a3, b3, c3},
             {a4, b4, c4},
             {a5, b5, c5},
             {a6, b6, c6},
             {a7, b7, c7}}};
}

// The same for rows and columns that lie anyhow.
POINT_FN Sums multiply(const LyingRows &rows, const EvenColumns &columns, long terms, Requests &requests) {
    const Walk walk = {rows.term,
                       columns.term,
                       terms,
                       columns.step,
                       columns.thrice,
                       requests.expected.out,
                       requests.expected.row,
                       requests.expected.column,
                       rows.packed};
    return multiply(walk, *requests.ahead, rows.pack, (const SCALAR *)columns.first);
}
