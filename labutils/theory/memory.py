"""What a training step keeps in a device's memory, in bytes.

Rajbhandari, Rasley, Ruwase & He 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models",
SC20, section 3 "Where Did All the Memory Go?". In data parallelism every device holds all of it: more devices
make the batch larger and leave the model's share on each of them as it was.
"""

from dataclasses import dataclass

from labutils.theory import checks

FLOAT32 = 4  # bytes
HALF = 2  # bytes, of float16 and bfloat16 alike


@dataclass(frozen=True)
class TrainingMemory:
    """Bytes per device by what they hold; `total` is their sum."""

    weights: int
    gradients: int
    master_weights: int
    optimizer_slots: int
    activations: int

    @property
    def model_states(self):
        """Bytes that do not depend on the batch: weights, gradients, master copies, optimizer slots."""
        return self.weights + self.gradients + self.master_weights + self.optimizer_slots

    @property
    def total(self):
        """Bytes in all."""
        return self.model_states + self.activations


def training_memory(
    parameters,
    *,
    optimizer_slots=2,
    mixed_precision=False,
    gradient_itemsize=None,
    per_replica_batch=1,
    activations_per_sample=0,
):
    """Memory of one training step on one device: a TrainingMemory, in bytes.

    `parameters` and `activations_per_sample` count numbers, not bytes. `optimizer_slots` is how many float32
    numbers the optimizer keeps per parameter: SGD 0, momentum 1, Adam 2.

    float32: 4 + 4 + 4 slots bytes per parameter. Mixed precision: 2 (weights) + 2 (gradients) + 4 (master
    copy) + 4 slots, so 16 with Adam (Rajbhandari et al. 2020, section 3.1), and activations of 2 bytes. Keras
    keeps the float32 variables as its master copy and hands float32 gradients to the optimizer: there, pass
    gradient_itemsize=4. ValueError for counts that are negative or not whole.
    """
    parameters = checks.count("parameters", parameters, "count the model's parameters", least=0)
    slots = checks.count("optimizer_slots", optimizer_slots, "SGD has 0, momentum 1, Adam 2", least=0)
    batch = checks.count("per_replica_batch", per_replica_batch, "give the samples that one replica sees")
    per_sample = checks.count(
        "activations_per_sample", activations_per_sample, "add up the layers' outputs for one sample", least=0
    )
    itemsize = HALF if checks.flag("mixed_precision", mixed_precision) else FLOAT32
    if gradient_itemsize is None:
        gradient_itemsize = itemsize
    gradient_itemsize = checks.count("gradient_itemsize", gradient_itemsize, "give the bytes of one gradient")
    return TrainingMemory(
        weights=parameters * itemsize,
        gradients=parameters * gradient_itemsize,
        master_weights=parameters * FLOAT32 if mixed_precision else 0,
        optimizer_slots=parameters * FLOAT32 * slots,
        activations=per_sample * batch * itemsize,
    )
