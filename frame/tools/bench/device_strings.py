"""`bench tensor --strings --backend cuda`: strings of einsum as users write them, beside cupy.einsum and torch.einsum.

Calls are whole calls, einsum(string, arrays), which come again. Two clocks count: the device's, behind other work that
lasts until the host has queued all calls, and that of a caller who queues CALLS calls and waits. Arrays stay in the
second cache if they fit. Values are checked first, by cupy.einsum in double precision; then all run in turns, and
medians count.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np

from kernels import get_backend

from ...errors import BackendError
from .. import tables
from . import report
from .clocks import FAR_OFF, DeviceClock, in_turns
from .string_cases import String
from .strings import TYPES, Call, asked_for, chosen, summary
from .tensor_rivals import torch_module

CALLS = 20  # that a caller queues
BEHIND = 8  # calls behind other work
AHEAD = 12  # turns of that work, of some 0.3 ms each: a rival's call takes the host up to 0.4 ms

STRINGS = (
    # Statistics
    String("statistics", "ni,nj->ij", "n=200000 i=16 j=16"),
    String("statistics", "ni,nj->ij", "n=20000 i=300 j=300"),
    String("statistics", "n,ni,nj->ij", "n=200000 i=8 j=8"),
    String("statistics", "ni,ij,nj->n", "n=200000 i=8 j=8"),
    String("statistics", "ni,ij,nj->n", "n=200000 i=32 j=32"),
    String("statistics", "ni,ni->n", "n=200000 i=16"),
    String("statistics", "ni,ni->n", "n=4000 i=4000"),
    String("statistics", "gi,gj,g->ij", "g=100000 i=60 j=60"),
    String("statistics", "gi,ij,gj->g", "g=100000 i=60 j=60"),
    # Few numbers with long sums
    String("moments", "ni,nj->ij", "n=3000000 i=3 j=3", types="df"),
    String("moments", "ni,nj->ij", "n=1000000 i=5 j=7", types="df"),
    String("moments", "ni,nj->ij", "n=1000000 i=10 j=10", types="df"),
    String("moments", "in,jn->ij", "n=1000000 i=10 j=10", types="df"),
    String("moments", "ixyz,jxyz->ij", "i=5 j=5 x=128 y=128 z=128", types="df"),
    String("moments", "ixyz,jxyz->ijx", "i=3 j=3 x=128 y=128 z=128"),
    String("moments", "n,ni,nj->ij", "n=1000000 i=3 j=3", types="df"),
    String("moments", "ni,nj,nk->ijk", "n=100000 i=3 j=3 k=3"),
    String("moments", "aq,bq,cq,q->abc", "a=6 b=6 c=6 q=100000"),
    String("moments", "bi->i", "b=3000000 i=3", types="df"),
    String("moments", "bi,b->i", "b=1000000 i=7", types="df"),
    String("moments", "bi,bi->i", "b=3000000 i=3"),
    String("moments", "ni,nj->ij", "n=400000 i=6 j=6", types="zc"),
    String("moments", "bi->i", "b=1000000 i=5", types="zc"),
    String("moments", "ji,j->i", "i=20 j=1000000", types="df"),
    String("moments", "abc->b", "a=1000 b=5 c=3000", types="df"),
    String("moments", "in,jn->ij", "n=100000 i=24 j=24", types="df"),
    String("moments", "kij,kjl->il", "k=2000 i=24 j=24 l=24", types="df"),
    String("moments", "n,ni->i", "n=500000 i=30", types="df"),
    String("moments", "nv->v", "n=1000000 v=27", types="df"),
    String("moments", "n,ni->i", "n=100000 i=128"),
    # Sums, moves, scalings
    String("sums", "bij->bj", "b=3000 i=33 j=65", types="f"),
    String("sums", "ij->i", "i=4000 j=4000"),
    String("sums", "ij->j", "i=4000 j=4000"),
    String("sums", "ij->", "i=4000 j=4000"),
    String("sums", "ij->j", "i=890 j=1623"),
    String("sums", "abc->cb", "a=545 b=17 c=167"),
    String("sums", "bi->b", "b=1000 i=10001", types="df"),
    String("sums", "bi->b", "b=1000000 i=7", types="df"),
    String("sums", "ijab,ijab,ijab->", "i=20 j=20 a=60 b=60"),
    String("sums", "ij,ij->", "i=4000 j=4000"),
    String("sums", "ij,ji->", "i=4000 j=4000"),
    String("sums", "i,i->", "i=10000000"),
    String("sums", "ij,j->ij", "i=4000 j=4000"),
    String("sums", "ij,i->ij", "i=4000 j=4000"),
    String("sums", "ij,j->i", "i=4000 j=4000"),
    String("sums", "ij,i->j", "i=4000 j=4000"),
    String("sums", "ij,ij->i", "i=4000 j=4000", types="c"),
    String("sums", "abc,a->bc", "a=3 b=1000 c=1000", types="df"),
    String("sums", "abc,c->ab", "a=1000 b=1000 c=3", types="df"),
    String("sums", "ij,j->i", "i=200 j=1000000", types="f"),
    String("sums", "ij,ij->ij", "i=4000 j=4000", "0C"),
    String("sums", "dcab,a->dcba", "d=122 c=75 a=336 b=5"),
    String("sums", "abcd,cb->cdba", "a=312 b=7 c=47 d=243", types="f"),
    String("sums", "bij,b->bij", "b=50000 i=15 j=15", types="df"),
    String("sums", "ij,j->ij", "i=3000 j=555"),
    String("sums", "abc->ac", "a=300 b=301 c=302", types="df"),
    String("sums", "ij,i->j", "i=3000 j=3000", types="c"),
    String("sums", "ij,i->j", "i=50000 j=200", types="f"),
    String("sums", "xyz->x", "x=200 y=200 z=200", types="f"),
    # Machine learning
    String("learning", "bhqd,bhkd->bhqk", "b=8 h=12 q=512 d=64 k=512", types="f"),
    String("learning", "bqhd,bkhd->bhqk", "b=8 q=512 h=12 d=64 k=512", types="f"),
    String("learning", "bhqk,bkhd->bqhd", "b=8 h=12 q=512 k=512 d=64", types="f"),
    String("learning", "bsd,dhk->bshk", "b=8 s=512 d=768 h=12 k=64", types="f"),
    String("learning", "bnd,bmd->bnm", "b=64 n=200 d=3 m=200"),
    String("learning", "bld,bldn->bln", "b=8 l=500 d=128 n=16", types="f"),
    # Batches of small matrices
    String("tiny", "bij,bjk->bik", "b=10000 i=32 j=32 k=32"),
    String("tiny", "bij,bjk->bik", "b=100000 i=4 j=4 k=4"),
    String("tiny", "bij,bj->bi", "b=500000 i=3 j=3"),
    String("tiny", "bij,bjk,bkl->bil", "b=100000 i=4 j=4 k=4 l=4"),
    String("tiny", "bij,bkj->bik", "b=20000 i=16 j=16 k=16", types="f"),
    String("tiny", "ijb,jkb->ikb", "i=4 j=4 b=100000 k=4"),
    String("tiny", "ijb,jb->ib", "i=3 j=3 b=500000"),
    String("tiny", "bij,bij->b", "b=20000 i=32 j=32"),
    String("tiny", "bij,bjk->bik", "b=2000 i=48 j=48 k=48", types="df"),
    String("tiny", "bij,bjk->bik", "b=1000 i=63 j=65 k=61", types="df"),
    String("tiny", "bij,bjk->bik", "b=500 i=80 j=80 k=80", types="df"),
    String("tiny", "bi,bj->bij", "b=20000 i=32 j=32"),
    String("tiny", "...ij,...jk->...ik", "...=40x40 i=20 j=20 k=20"),
    # Diagonals
    String("diagonals", "bii->b", "b=20000 i=32"),
    String("diagonals", "nii->n", "n=50000 i=16", types="df"),
    String("diagonals", "ii->", "i=4000"),
    String("diagonals", "ii,i->i", "i=5000", types="df"),
    String("diagonals", "ii,ij->j", "i=2000 j=500"),
    # Decompositions of tensors, outer products
    String("decompositions", "ir,jr->ijr", "i=1000 r=16 j=1000"),
    String("decompositions", "ijk,jr,kr->ir", "i=200 j=200 k=200 r=16"),
    String("decompositions", "ijk,ir,kr->jr", "i=200 j=200 k=200 r=16"),
    String("decompositions", "ijk,ia,jb,kc->abc", "i=200 j=200 k=200 a=10 b=10 c=10"),
    String("decompositions", "abc,ia,jb,kc->ijk", "a=10 b=10 c=10 i=200 j=200 k=200"),
    String("decompositions", "ir,jr,kr->ijk", "i=200 r=16 j=200 k=200"),
    String("decompositions", "ia,ib,ic->abc", "i=20000 a=16 b=16 c=16"),
    String("outer", "i,j->ij", "i=5000 j=5000"),
    String("outer", "ij,kl->ikjl", "i=60 j=60 k=60 l=60"),
    # Tensor networks
    String("networks", "aib,bjc->aijc", "a=32 i=4 b=64 j=4 c=32"),
    String("networks", "apb,pqr,rbc,xya->xyqc", "a=64 p=2 b=64 q=2 r=5 c=64 x=3 y=4"),
    String("networks", "lpr,lmk,mpqn,rns->kqs", "l=64 p=2 r=64 m=5 k=64 q=2 n=5 s=64"),
    String("networks", "asb,asc->bc", "a=200 s=2 b=200 c=200"),
    String("networks", "ab,asc,bsd->cd", "a=128 b=128 s=2 c=128 d=128", types="dz"),
    String("networks", "ij,jk,ik->", "i=1500 j=200 k=1000", types="f"),
    String("networks", "ik,jk,k->ij", "i=200 j=200 k=1000", types="f"),
    String("networks", "ij,kj,lj->ikl", "i=60 j=300 k=60 l=60", types="df"),
    String("networks", "abc,ad->dbc", "a=9 b=300 c=300 d=9"),
    String("networks", "pqr,srq->ps", "p=400 q=60 r=60 s=400", types="f"),
    # Quantum chemistry
    String("chemistry", "pqrs,rs->pq", "p=60 q=60 r=60 s=60"),
    String("chemistry", "prqs,rs->pq", "p=60 r=60 q=60 s=60"),
    String("chemistry", "pqP,rsP->pqrs", "p=40 q=40 P=200 r=40 s=40"),
    String("chemistry", "Ppq,rs,Prs->pq", "P=200 p=60 q=60 r=60 s=60"),
    String("chemistry", "pqrs,pi,qa,rj,sb->iajb", "p=30 q=30 r=30 s=30 i=8 a=20 j=8 b=20"),
    String("chemistry", "iajb,iajb->", "i=16 a=40 j=16 b=40"),
    String("chemistry", "iajb,jaib->", "i=16 a=40 j=16 b=40"),
    String("chemistry", "ijab,klij->klab", "i=12 j=12 a=40 b=40 k=12 l=12"),
    String("chemistry", "ijab,abcd->ijcd", "i=10 j=10 a=36 b=36 c=36 d=36"),
    String("chemistry", "ikac,kjcb->ijab", "i=12 k=12 a=40 c=40 j=12 b=40"),
    String("chemistry", "ikab,kjab->ij", "i=20 k=20 a=50 b=50 j=20", types="df"),
    String("chemistry", "kc,ikca->ia", "k=12 c=40 i=12 a=40"),
    String("chemistry", "xij,ij->x", "x=500 i=120 j=120"),
    String("chemistry", "kbcj,ikac->iajb", "k=10 b=30 c=30 j=10 i=10 a=30"),
    String("chemistry", "mbej,aeim->abij", "m=12 b=36 e=36 j=12 a=36 i=12"),
    String("chemistry", "mnef,afmn->ae", "m=14 n=14 e=50 f=50 a=50", types="df"),
    String("chemistry", "klcd,cdal->ka", "k=15 l=15 c=31 d=31 a=31", types="df"),
    String("chemistry", "xgp,gq->xpq", "x=3 g=20000 p=60 q=60"),
    String("chemistry", "menf,mnij->eifj", "m=12 e=30 n=12 f=30 i=12 j=12"),
    String("chemistry", "uvP,P->uv", "u=150 v=150 P=1001", types="f"),
    String("chemistry", "Qpq,qp->Q", "Q=300 p=100 q=100"),
    String("chemistry", "ijk,ia->ajk", "i=300 j=300 k=300 a=20", types="f"),
    # Derivatives, interpolation, geometry on elements; fields
    String("elements", "eijk,li->eljk", "e=8000 i=8 j=8 k=8 l=8"),
    String("elements", "eijk,lj->eilk", "e=8000 i=8 j=8 k=8 l=8"),
    String("elements", "eijk,lk->eijl", "e=8000 i=8 j=8 k=8 l=8"),
    String("elements", "ijke,ai->ajke", "i=8 j=8 k=8 e=8000 a=8"),
    String("elements", "ai,bj,ck,eijk->eabc", "a=10 i=8 b=10 j=8 c=10 k=8 e=8000"),
    String("elements", "ai,bj,eij->eab", "a=6 i=6 b=6 j=6 e=50000"),
    String("elements", "qi,eq,qj->eij", "q=27 i=8 e=40000 j=8"),
    String("elements", "eqd,eqd,q->e", "e=40000 q=27 d=3"),
    String("elements", "edf,eqf->eqd", "e=40000 d=3 f=3 q=27"),
    String("elements", "eqab,eqb->eqa", "e=20011 q=8 a=3 b=3", types="df"),
    String("elements", "qa,ea->eq", "q=14 a=10 e=70001", types="d"),
    String("elements", "qid,eqdf,qjf,eq->eij", "q=8 i=8 d=3 e=5000 f=3 j=8"),
    String("fields", "sxyz,s->xyz", "s=10 x=100 y=100 z=100"),
    String("fields", "sxyz,sr->rxyz", "s=10 x=100 y=100 z=100 r=10"),
    String("fields", "xyzs,s->xyz", "x=100 y=100 z=100 s=10"),
    String("fields", "xyzs->xyz", "x=100 y=100 z=100 s=10", types="f"),
    String("fields", "xyij,xyj->xyi", "x=700 y=700 i=5 j=5", types="df"),
    String("fields", "dxyz,dxyz->xyz", "d=3 x=120 y=120 z=120"),
    String("fields", "ixyz,jxyz->ijxyz", "i=3 x=100 y=100 z=100 j=3"),
    String("fields", "ijxyz,jxyz->ixyz", "i=3 j=3 x=100 y=100 z=100"),
    # Matrices
    String("matrices", "ij,jk->ik", "i=2000 j=2000 k=2000"),
    String("matrices", "ij,kj->ik", "i=300 j=60000 k=300", types="f"),
    String("matrices", "ij,jk->ik", "i=1000 j=1000 k=1000", types="zc"),
    String("matrices", "ij,jk->ik", "i=1000 j=1000 k=1000", "FF"),
    String("matrices", "ij,jk->ik", "i=1000 j=1000 k=1000", "GC"),
    String("matrices", "ijk,kl->ijl", "i=200 j=200 k=200 l=64", "TC"),
    String("matrices", "ij,j,jk->ik", "i=1000 j=1000 k=1000"),
    String("matrices", "bij,bjk->bik", "b=10000 i=16 j=16 k=16", types="z"),
    String("matrices", "ij,jk->ik", "i=64 j=64 k=64"),
    String("matrices", "ni,ij->nj", "n=1000000 i=10 j=10", types="df"),
    String("matrices", "ni,ij->nj", "n=1000000 i=8 j=27"),
    String("matrices", "nd,kd->nk", "n=100000 d=8 k=16", types="df"),
    String("matrices", "in,ij->jn", "n=1000000 i=5 j=7"),
    String("matrices", "ij,jk,kl->il", "i=16 j=16 k=16 l=16"),
)


class DeviceCall(Call):
    """A string on arrays of a device."""

    def rivals(self) -> dict[str, Callable]:
        """CuPy, and torch on the same memory where it is installed and takes such strides."""
        text, operands = self.string.text, self.operands
        found: dict[str, Callable] = {"cupy": functools.partial(self.xp.einsum, text, *operands, optimize=True)}
        try:
            torch = torch_module()
        except BackendError:
            return found
        if any(stride < 0 for a in operands for stride in a.strides):
            return found
        tensors = [torch.as_tensor(a, device="cuda") for a in operands]
        return {**found, "torch": functools.partial(torch.einsum, text, *tensors)}


class DevicesClock(DeviceClock):
    """Seconds of a call for the device."""

    def __call__(self, work) -> float:
        for _ in range(AHEAD):
            self.memory.fill(0)
        work()
        begin = self.backend.mark()
        for _ in range(BEHIND):
            work()
        return self.backend.elapsed(begin, self.backend.mark()) / BEHIND


class CallersClock:
    """Seconds of a call for a caller who queues several and waits for the device."""

    def __init__(self, backend):
        self.backend = backend

    def __call__(self, work) -> float:
        self.backend.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            work()
        self.backend.synchronize()
        return (time.perf_counter() - begin) / CALLS


def measure(call: DeviceCall, clocks, rounds: int) -> dict:
    """A row: ours and the best rival by each clock. Raises FrameError for a wrong value."""
    off = call.check()
    works = {"ours": call.ours, **call.rivals()}
    times = in_turns({name: (work, clocks) for name, work in works.items()}, rounds, FAR_OFF)
    device, caller = ({name: float(np.median(found[:, k])) for name, found in times.items()} for k in (0, 1))
    best, quickest = (min([n for n in works if n != "ours"], key=by.__getitem__) for by in (device, caller))

    return {
        "bench": "tensor",
        "field": call.string.field,
        "case": call.name,
        "extents": call.string.extents,
        "dtype": call.dtype.name,
        "how": chosen(call),
        "seconds": device["ours"],
        "rival": best,
        "rival_seconds": device[best],
        "ratio": device[best] / device["ours"],
        "call_seconds": caller["ours"],
        "call_rival": quickest,
        "call_rival_seconds": caller[quickest],
        "call_ratio": caller[quickest] / caller["ours"],
        "off": off,
    }


def table(rows) -> str:
    """The rows as text."""
    lines = [
        ("string", "type", "by", "us", "best rival", "us", "beside it", "a call, us", "quickest", "us", "beside it")
    ]
    for row in rows:
        keys = ("seconds", "rival_seconds", "call_seconds", "call_rival_seconds")
        ours, rival, call, call_rival = (f"{row[key] * 1e6:.1f}" for key in keys)
        device = (ours, row["rival"], rival, f"{row['ratio']:.2f}x")
        caller = (call, row["call_rival"], call_rival, f"{row['call_ratio']:.2f}x")
        lines.append((row["case"], row["dtype"], row["how"], *device, *caller))

    return "\n".join(tables.to_the_left(lines))


def run(given) -> list[dict]:
    """Rows of the strings that were asked for, on a device. Raises FrameError for usage."""
    backend = get_backend("cuda")
    clocks = (DevicesClock(backend), CallersClock(backend))

    rows = []
    for string in asked_for(STRINGS, given.cases):
        for letter in string.types:
            row = measure(DeviceCall(string, TYPES[letter], backend.arrays), clocks, given.rounds)
            rows.append({**row, "backend": str(backend), "device": backend.product})

    calls = [{**row, "ratio": row["call_ratio"]} for row in rows]
    head = f"strings of einsum, one device: {backend.product}"
    means = ["by the device's clock:", *summary(rows), "", "by a caller's clock:", *summary(calls)]
    report.show([head, "", table(rows), "", *means], rows, given.json)
    return rows
