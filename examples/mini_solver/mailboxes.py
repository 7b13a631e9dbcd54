"""Fringes between devices of one node: each rank packs into memory of its neighbours, which CUDA IPC opens to it.

Messages are numbered. After packing, a kernel of one thread stores the message's number in a word of the neighbour's;
before unpacking, it waits on the device until its own word has that number. So the host never waits. Numbers and slots
live on the device, so that a CUDA graph can repeat them. (With IPC events the hosts would have to agree, at each
message, which record of the event is meant.)
Two slots suffice: a rank that packs message n + 2 has seen n + 1, and its neighbour sent n + 1 after it had unpacked n.
"""

import platform

import numpy as np

from kernels import BackendError

from .errors import NoWay
from .moves import Box, bind_signal

LINE, WORDS = 128, 4096  # bytes: of a line, which holds one word; of all words
PATIENCE = 2**29  # looks at a word, some 0.7 us each: minutes


def node() -> str:
    """A text that is the same for all ranks on a running system."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return platform.node()


class Shared:
    """Memory of this rank that others open, and theirs. base: its address; opened: rank -> address. zeros: so many of
    its first bytes are 0. card: facts that the other ranks need; cards: of all ranks.

    Collective. Raises NoWay, on all ranks, where a rank cannot; the text names it and the reason.
    """

    def __init__(self, ranks, backend, nbytes, zeros, **card):
        self.ranks, self.backend, self.opened, self.base = ranks, backend, {}, 0
        self._peers, self._closed = backend.peers, False
        card = {"node": node(), "handle": b""} | card
        self._together("exporting memory", lambda: self._export(nbytes, zeros, card))
        self.cards = ranks.everyone(card)

    def _export(self, nbytes, zeros, card):
        self.base = self._peers.allocate(nbytes, zeros=zeros)
        card["handle"] = self._peers.handle(self.base)

    def open(self, others):
        """Open the memory of these ranks. Collective."""
        self._together("opening a neighbour's memory", lambda: self._open(others))

    def _open(self, others):
        here = self.cards[self.ranks.rank]["node"]
        for other in others:
            if self.cards[other]["node"] != here:
                raise NoWay(f"rank {other} is on another node")
            self.opened[other] = self._peers.open(self.cards[other]["handle"])

    def _together(self, doing, work):
        text = ""
        try:
            work()
        except (BackendError, NoWay) as error:
            text = f"rank {self.ranks.rank}, {doing}: {error}"

        texts = [t for t in self.ranks.everyone(text) if t]
        if texts:
            self.close()
            raise NoWay(texts[0])

    def close(self):
        """Collective: nobody writes here any more, then nobody has it open, then it is freed."""
        if self._closed:
            return
        self._closed = True
        self.backend.synchronize()
        self.ranks.everyone(None)
        for address in self.opened.values():
            self._peers.close(address)
        self.ranks.everyone(None)
        if self.base:
            self._peers.free(self.base)


class Mailboxes(Shared):
    """Memory that neighbours write into. messages: (direction, side) -> (rank there, shape of the message).

    alarm: device address of a number that becomes NaN when a wait is given up (0: none). sharing: whether two ranks may
    use one device. Without MPS they take turns on it, and a rank that waits uses its turn up.
    Collective. Raises NoWay as Shared does.
    """

    def __init__(self, ranks, backend, messages, alarm=0, sharing=True):
        self._messages, self._at, self._alarm, size = messages, {}, alarm, WORDS
        for key, (_, shape) in messages.items():
            self._at[key] = size
            size += 2 * self._slot(shape)

        super().__init__(ranks, backend, size, WORDS, at=self._at, place=backend.peers.place)

        if not sharing and len({(card["node"], card["place"]) for card in self.cards}) < ranks.size:
            self.close()
            raise NoWay("ranks share a device")

        self.open(sorted({other for other, _ in messages.values()}))
        self.signal = [self._signal(d) for d in range(ranks.dimensions)]

    @staticmethod
    def _slot(shape) -> int:
        return -(-8 * int(np.prod(shape)) // 256) * 256

    def receive(self, d, side) -> Box:
        """The box in which messages of that side arrive. They are unpacked after their number was counted, and packed
        before: the slots of even and odd numbers are the other way round than for `send`."""
        _, shape = self._messages[d, side]
        return Box.packed(self.base + self._at[d, side] + self._slot(shape), shape, -self._slot(shape) // 8)

    def send(self, d, side) -> Box:
        """The box for messages of this side. The neighbour receives them at its opposite side."""
        other, shape = self._messages[d, side]
        return Box.packed(self.opened[other] + self.cards[other]["at"][d, 1 - side], shape, self._slot(shape) // 8)

    def count(self, d) -> int:
        """Address of the number of messages sent in direction d."""
        return self.base + LINE * (8 + d)

    def _signal(self, d):
        theirs, mine = [0, 0], [0, 0]
        for side in (0, 1):
            if (d, side) in self._messages:
                mine[side] = self.base + LINE * (2 * d + side)
                theirs[side] = self.opened[self._messages[d, side][0]] + LINE * (2 * d + 1 - side)

        return (
            bind_signal(self.backend, theirs, mine, self.count(d), self.base + LINE * 12, self._alarm, PATIENCE)
            if any(mine)
            else None
        )

    def complaint(self) -> str:
        """Which message this rank has given up waiting for; "" when none. Waits for a copy of three words."""
        late = self._peers.words(self.base + LINE * 12, 3)
        if not late[0]:
            return ""
        side = int(late[0]) - 1
        others = [self._messages[d, s][0] for d, s in self._messages if s == side]

        return (
            f"rank {self.ranks.rank} waited in vain for message {late[1]} at its {('low', 'high')[side]} side "
            f"(from rank {' or '.join(map(str, others))}); it has seen {late[2]}."
        )
