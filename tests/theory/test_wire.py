import numpy as np

from labutils.theory.wire import Wire


def test_all_messages_of_a_round_leave_before_any_of_them_lands():
    """Two ranks that swap the same chunk both add what the other had before, not what it has by now."""
    wire = Wire([np.array([1.0]), np.array([10.0])])
    wire.send(0, 1, slice(0, 1))
    wire.send(1, 0, slice(0, 1))
    wire.add("exchange")
    assert [vector[0] for vector in wire.vectors] == [11.0, 11.0]
    assert [(m.round, m.sender, m.receiver, m.nbytes) for m in wire.messages] == [(0, 0, 1, 8), (0, 1, 0, 8)]
