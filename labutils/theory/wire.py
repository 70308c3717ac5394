"""The wire that collectives run on: it moves copies between ranks and notes every message."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Message:
    """One payload on its way: elements `start` to `stop` of the flattened array, `nbytes` bytes in all.

    Messages of the same `round` (from 0) travel at the same time. `adds` says what the receiver does with the
    payload: add it to its own elements (True) or put it in their place (False).
    """

    round: int
    sender: int
    receiver: int
    nbytes: int
    phase: str
    start: int
    stop: int
    adds: bool


@dataclass(frozen=True)
class Reduced:
    """What an all-reduce gives: `arrays`, the sum as each rank holds it, and `messages`, in order."""

    arrays: list
    messages: list
    algorithm: str

    @property
    def rounds(self):
        """Number of rounds, each as long as its longest message."""
        return self.messages[-1].round + 1 if self.messages else 0

    @property
    def bytes_sent(self):
        """Bytes that each rank sent: a list of one int per rank."""
        sent = [0] * len(self.arrays)
        for message in self.messages:
            sent[message.sender] += message.nbytes
        return sent

    def __repr__(self):
        return (
            f"Reduced({self.algorithm}: {len(self.arrays)} ranks, {self.rounds} rounds, "
            f"{len(self.messages)} messages, {sum(self.bytes_sent)} bytes in all)"
        )


class Wire:
    """Joins the ranks, each of which sees nothing but its own private, flattened copy in `vectors`.

    `send` takes the payload at once; nothing arrives before `add` or `store` ends the round. So all messages
    of a round leave before any of them lands, as on a network where everybody sends and receives at once.
    Raises ValueError where `arrays` cannot be summed element by element.
    """

    def __init__(self, arrays):
        arrays = as_arrays(arrays)
        self.shape = arrays[0].shape
        self.vectors = [np.array(array, order="C").reshape(-1) for array in arrays]
        self.messages = []
        self._round = 0
        self._in_flight = []

    @property
    def ranks(self):
        """Number of ranks on the wire."""
        return len(self.vectors)

    @property
    def elements(self):
        """Number of elements that each rank holds."""
        return self.vectors[0].size

    def send(self, sender, receiver, chunk):
        """Put a copy of the sender's elements `chunk` (a slice) on its way to the receiver."""
        self._in_flight.append((sender, receiver, chunk, self.vectors[sender][chunk].copy()))

    def add(self, phase):
        """End the round: every receiver adds what arrived to its own elements."""
        for receiver, chunk, payload in self._deliver(phase, adds=True):
            self.vectors[receiver][chunk] += payload

    def store(self, phase):
        """End the round: every receiver puts what arrived in the place of its own elements."""
        for receiver, chunk, payload in self._deliver(phase, adds=False):
            self.vectors[receiver][chunk] = payload

    def all_reduce_among(self, members, algorithm):
        """Run a whole all-reduce (a function such as ring_all_reduce) among some of the ranks."""
        reduced = algorithm([self.vectors[member] for member in members])
        for member, vector in zip(members, reduced.arrays, strict=True):
            self.vectors[member] = vector
        for message in reduced.messages:
            self.messages.append(
                replace(
                    message,
                    round=self._round + message.round,
                    sender=members[message.sender],
                    receiver=members[message.receiver],
                )
            )
        self._round += reduced.rounds

    def reduced(self, algorithm):
        """Return what the ranks hold now, in the shape it came in, with every message so far."""
        return Reduced([vector.reshape(self.shape) for vector in self.vectors], self.messages, algorithm)

    def _deliver(self, phase, adds):
        landed, self._in_flight = self._in_flight, []
        for sender, receiver, chunk, payload in landed:
            self.messages.append(
                Message(self._round, sender, receiver, payload.nbytes, phase, chunk.start, chunk.stop, adds)
            )
        self._round += 1
        return [(receiver, chunk, payload) for _, receiver, chunk, payload in landed]


def as_arrays(arrays):
    """Return the ranks' arrays as NumPy arrays; ValueError unless they share a shape and a number type."""
    try:
        arrays = [np.asarray(array) for array in arrays]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the arrays must be a list with one array of numbers for each rank, but they could not be read "
            f"as that ({error}): pass for example [np.ones(8), np.ones(8)]."
        ) from None
    if not arrays:
        raise ValueError("the list of arrays is empty, and an all-reduce needs at least one rank: pass one array each.")
    for rank, array in enumerate(arrays):
        _check_like_rank_0(rank, array, arrays[0])
    return arrays


def _check_like_rank_0(rank, array, first):
    if array.dtype.kind not in "iuf":
        raise ValueError(
            f"rank {rank} holds {array.dtype}, which does not add up as numbers do: "
            f"convert it to an integer or float type first, for example with .astype('float32')."
        )
    if array.shape != first.shape:
        raise ValueError(
            f"rank {rank} holds shape {array.shape} and rank 0 holds {first.shape}: "
            f"an all-reduce adds element by element, so give every rank the same shape."
        )
    if array.dtype != first.dtype:
        raise ValueError(
            f"rank {rank} holds {array.dtype} and rank 0 holds {first.dtype}: "
            f"cast them to one type, as a payload's bytes would be misread otherwise."
        )
