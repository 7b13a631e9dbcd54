"""The PTX that NVRTC makes of a point program, run on the CPU one thread at a time: it shows what a compiler made of a
source, without a GPU. A million instructions take some seconds: it is for a few points. What it does not know is an
error."""

import bisect
import ctypes
import math
import operator
import re
import struct

import numpy as np

from kernels.backend import cuda, nvrtc
from kernels.backend.base import DOUBLE
from kernels.codegen import threads
from kernels.codegen.plan import filled_structure

CONSTANTS, ARRAYS, SYMBOLS, SHARED = 1 << 43, 1 << 44, 1 << 40, 4096  # addresses
fma = ctypes.CDLL("libm.so.6").fma
fma.restype, fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
FORMATS = {"f64": "<d", "f32": "<f"}
COMPARE = {name: getattr(operator, name) for name in ("gt", "lt", "ge", "le", "eq", "ne")}
MERGE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
WHOLE = MERGE | {name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")}
WHOLE |= {"shr": operator.rshift, "not": operator.invert}
REAL = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg", "abs")},
    "fma": fma,
    "rcp": lambda x: 1 / x if x else math.inf,
    "rsqrt": lambda x: x**-0.5 if x else math.inf,
    "lg2": lambda x: math.log2(x) if x > 0 else -math.inf,
    "ex2": lambda x: 2.0**x,
}


def signed(bits: int, size: int) -> int:
    return bits - (bits >> (size - 1) << size)


def immediate(word: str) -> int:
    return int(word[2:], 16) if word[:2] in ("0d", "0f") else int(word)


def ptx(source, arch="compute_90") -> str:
    """What NVRTC makes of a CUDA source."""
    lib, program = nvrtc.library(), ctypes.c_void_p()
    lib.nvrtcCreateProgram(ctypes.byref(program), source.text.encode(), b"ptx.cu", 0, None, None)
    options = (*cuda.OPTIONS, *(f"--include-path={folder}" for folder in (cuda.HERE, *source.folders)))
    flags = [f"--gpu-architecture={arch}".encode(), *(o.encode() for o in options if o != nvrtc.REPORT)]
    code = lib.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*flags))
    assert not code, nvrtc._fetch(lib.nvrtcGetProgramLogSize, lib.nvrtcGetProgramLog, program).decode()
    return nvrtc._fetch(lib.nvrtcGetPTXSize, lib.nvrtcGetPTX, program).rstrip(b"\0").decode()


class Thread:
    """One thread of block 0, which starts when that before it has ended. memory: address -> bytearray. parameters: of
    the kernel. constants: of a mixture in constant memory."""

    def __init__(self, text: str, number: int, memory: dict, parameters: list[bytes], constants: bytes):
        body = text[text.index(".entry frame_run") :]
        self.registers = {"%tid.x": number, "%ctaid.x": 0, "%ntid.x": 1}
        self.parameters, self.memory = parameters, dict(memory)
        declared = r"\.(?:global|const|local) \.align \d+ \.[a-z](\d+)\s+(\w+)(?:\[(\d+)\])?(?: = (.*))?;"
        for size, name, count, values in re.findall(declared, text):
            width, at = int(size) // 8, SYMBOLS + (len(self.memory) << 20)
            self.memory[at] = bytearray(width * int(count or 1))
            for i, word in enumerate(re.findall(r"[\w-]+", values)):
                bits = immediate(word) % (1 << 8 * width)
                self.memory[at][width * i : width * (i + 1)] = bits.to_bytes(width, "little")
            self.registers[name] = at
        self.registers["shared_memory"] = SHARED
        if "mixture" in self.registers:
            self.memory[self.registers["mixture"]][: len(constants)] = constants
        self.bases, self.code, self.labels = sorted(self.memory), [], {}
        for line in body.splitlines():
            line = re.sub(
                r"^{ \.reg \.pred p; setp\.ne\.s32 p, (%r\d+), 0; @p (.*) }$", r"@\1 \2", line.split("//")[0].strip()
            )
            if label := re.match(r"(\$\w+):$", line):
                self.labels[label[1]] = len(self.code)
            elif found := re.match(r"(?:@(!?)(%\w+)\s+)?([a-z][\w.]*)\b\s*(.*);$", line):
                words = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", found[4])
                self.code.append((found[2], bool(found[1]), found[3].split("."), words))

    def bits(self, word: str) -> int:
        if word[0] in "%_" or word in self.registers:
            return self.registers[word]
        return immediate(word)

    def value(self, word: str, kind: str):
        size, bits = int(kind[1:]), self.bits(word)
        if kind in FORMATS:
            return struct.unpack(FORMATS[kind], (bits % (1 << size)).to_bytes(size // 8, "little"))[0]
        return signed(bits % (1 << size), size) if kind[0] == "s" else bits % (1 << size)

    def set(self, word: str, kind: str, value) -> None:
        if kind in FORMATS:
            try:
                value = int.from_bytes(struct.pack(FORMATS[kind], value), "little")
            except OverflowError:
                value = int.from_bytes(struct.pack(FORMATS[kind], math.copysign(math.inf, value)), "little")
        self.registers[word] = int(value) % (1 << int(kind[1:]))

    def place(self, word: str, offset: int = 0):
        name, more = re.match(r"\[([%\w]+)\+?(-?\d+)?\]", word).groups()
        address = self.bits(name) + int(more or 0) + offset
        base = self.bases[bisect.bisect_right(self.bases, address) - 1]
        assert 0 <= address - base < len(self.memory[base]), f"{word}: {address:#x} is no address"
        return self.memory[base], address - base

    def run(self) -> None:
        at = 0
        while True:
            condition, inverted, (name, *kinds), words = self.code[at]
            at += 1
            if condition and bool(self.registers[condition]) == inverted:
                continue
            if name == "ret":
                return
            if name == "bra":
                at = self.labels[words[0]]
            elif name not in ("pragma", "bar"):
                self.one(name, kinds, words)

    def one(self, name: str, kinds: list[str], words: list[str]) -> None:
        kind = kinds[-1]
        size = int(re.sub(r"\D", "", kind) or 8)
        if name in ("ld", "st"):
            to, address = words if name == "ld" else words[::-1]
            for i, register in enumerate(re.findall(r"[^{},\s]+", to)):
                if kinds[0] == "param":
                    which, offset = re.match(r"\[\w+_param_(\d)\+?(\d+)?\]", address).groups()
                    where, offset = self.parameters[int(which)], int(offset or 0)
                else:
                    where, offset = self.place(address, i * size // 8)
                if name == "ld":
                    self.registers[register] = int.from_bytes(where[offset : offset + size // 8], "little")
                else:
                    bits = self.bits(register) % (1 << size)
                    where[offset : offset + size // 8] = bits.to_bytes(size // 8, "little")
        elif name == "cp":  # to shared memory; its waits have no operands
            if words:
                (to, start), (where, offset), count = self.place(words[0]), self.place(words[1]), int(words[2])
                to[start : start + count] = where[offset : offset + count]
        elif name in ("mov", "cvta"):
            to, given = (re.findall(r"[^{},\s]+", word) for word in words)
            halves = (self.bits(word) % (1 << 32) << 32 * i for i, word in enumerate(given))
            whole = sum(halves) if given[1:] else self.bits(given[0])
            for i, register in enumerate(to):
                self.registers[register] = whole >> 32 * i
        elif name == "selp":
            self.registers[words[0]] = self.bits(words[1] if self.registers[words[3]] else words[2])
        elif name == "setp":
            a, b = (self.value(word, kind) for word in words[1:])
            unordered = kind in FORMATS and (math.isnan(a) or math.isnan(b))
            how = kinds[0]
            if how in ("nan", "num"):
                self.registers[words[0]] = unordered == (how == "nan")
            else:
                self.registers[words[0]] = len(how) == 3 if unordered else COMPARE[how[:2]](a, b)
        elif kind == "pred":
            operands = [self.registers[word] for word in words[1:]]
            self.registers[words[0]] = MERGE[name](*operands) if operands[1:] else not operands[0]
        elif name == "cvt":
            value = self.value(words[1], kind)
            if kind in FORMATS and kinds[-2] not in FORMATS:
                value = {"rzi": math.trunc, "rmi": math.floor, "rni": round}[kinds[0]](value)
            self.set(words[0], kinds[-2], value)
        elif kind in FORMATS:
            self.set(words[0], kind, REAL[name](*(self.value(word, kind) for word in words[1:])))
        elif name == "shl":
            self.set(words[0], kind, self.bits(words[1]) << self.bits(words[2]))
        else:
            operands = [self.value(word, kind) for word in words[1:]]
            wide = f"{kind[0]}{2 * size}" if kinds[0] == "wide" else kind
            result = operands[0] * operands[1] if name == "mad" else WHOLE[name](*operands[:2])
            self.set(words[0], wide, result + (self.value(words[3], wide) if name == "mad" else 0))


def run(mixture, outputs, **given) -> dict:
    """Outputs of a mixture's program at a few points, by what NVRTC made of it for sm_90."""
    target = cuda.CudaTarget("sm_90")
    plan = mixture.program(outputs=outputs, given=tuple(given), backend=target).plan
    constants, keep = filled_structure(plan, target)
    n = given["T"].size
    memory = {CONSTANTS: bytearray(constants.tobytes()), SHARED: bytearray(1 << 17)}
    arrays, record = {}, struct.pack("<q", CONSTANTS)
    for i, name in enumerate(plan.arguments):
        data = bytearray(8 * n * plan.rows(name))
        arrays[name] = np.frombuffer(data, DOUBLE).reshape(-1, n)
        if name in given:
            arrays[name][:] = given[name]
        memory[ARRAYS + (i << 30)] = data
        record += struct.pack("<qq", ARRAYS + (i << 30), n)
    text = ptx(threads.render(plan))
    for number in range(n):
        Thread(text, number, memory, [record, struct.pack("<q", n)], constants.tobytes()).run()
    return {name: arrays[name] for name in outputs}
