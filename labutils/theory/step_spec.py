"""The description of a data-parallel step that the timeline is predicted from."""

from dataclasses import dataclass, replace

from labutils.theory import checks, traffic
from labutils.theory.cost import Link, check_links

_SECONDS = ("forward_time", "backward_time", "input_time", "split_time", "update_time")


@dataclass(frozen=True, kw_only=True)
class StepSpec:
    """One step of data-parallel training, as every replica does it.

    Times are seconds for one replica's own batch: `forward_time`, `backward_time`, `input_time` (until its
    batch is ready), `split_time` (to hand the global batch out), `update_time`.
    Communication: `gradient_bytes` bytes per replica, in `buckets` equal buckets, over `link` by `algorithm`
    (hierarchical: with `group_size` and `inner_link`).
    `overlap`: a bucket leaves as soon as its gradients are there, while the backward pass goes on (Li et al.
    2020, "PyTorch Distributed", VLDB 13(12), section 3.2); otherwise all wait for its end.
    `prefetch`: the next step's input is made ready during this step (tf.data's prefetch).
    ValueError for negative or unreadable values, and for several replicas without a link.
    """

    replicas: int
    forward_time: float
    backward_time: float
    gradient_bytes: float = 0.0
    link: Link | None = None
    per_replica_batch: int = 1
    buckets: int = 1
    overlap: bool = False
    algorithm: str = "ring"
    group_size: int | None = None
    inner_link: Link | None = None
    input_time: float = 0.0
    prefetch: bool = False
    split_time: float = 0.0
    update_time: float = 0.0

    def __post_init__(self):
        checks.count("replicas", self.replicas, "count the devices that share the batch, at least 1")
        for name in _SECONDS:
            checks.number(name, getattr(self, name), "give seconds, 0 where the step has none of it")
        checks.number("gradient_bytes", self.gradient_bytes, "give 4 bytes per float32 parameter")
        checks.count("per_replica_batch", self.per_replica_batch, "give the samples that one replica sees")
        checks.count("buckets", self.buckets, "1 sends all gradients at once")
        checks.flag("overlap", self.overlap)
        checks.flag("prefetch", self.prefetch)
        traffic.check_ranks(self.replicas, self.algorithm, self.group_size)
        if self.replicas > 1 and self.link is None:
            raise ValueError(
                f"{self.replicas} replicas must exchange gradients, but link is None: "
                f"write for example link=Link(bandwidth=1.25e9, latency=50e-6)."
            )
        if self.link is not None:
            check_links(self.link, self.inner_link, self.algorithm)

    @classmethod
    def from_sample_time(cls, *, compute_time_per_sample, per_replica_batch, **rest):
        """A step whose compute takes `compute_time_per_sample` seconds a sample, one third of it forward.

        The backward pass does two matrix products for each one of the forward pass: once for the gradient of
        the weights, once for that of the inputs (Kaplan et al. 2020, "Scaling Laws for Neural Language
        Models", section 2.1). ValueError as for StepSpec.
        """
        hint = "give the seconds that forward and backward take for one sample"
        per_sample = checks.number("compute_time_per_sample", compute_time_per_sample, hint)
        hint = "give the samples that one replica sees"
        compute = per_sample * checks.count("per_replica_batch", per_replica_batch, hint)
        return cls(
            forward_time=compute / 3,
            backward_time=compute * 2 / 3,
            per_replica_batch=per_replica_batch,
            **rest,
        )

    @property
    def global_batch(self):
        """Samples that all replicas together see in one step."""
        return self.replicas * self.per_replica_batch

    @property
    def compute_time(self):
        """Seconds of forward and backward."""
        return self.forward_time + self.backward_time

    def with_batch(self, per_replica_batch):
        """The same step with another batch per replica; forward, backward, input and split grow with it.

        ValueError unless it is a whole number from 1.
        """
        hint = "give the samples that one replica sees"
        batch = checks.count("per_replica_batch", per_replica_batch, hint)
        growing = ("forward_time", "backward_time", "input_time", "split_time")
        times = {name: getattr(self, name) * batch / self.per_replica_batch for name in growing}
        return replace(self, per_replica_batch=batch, **times)
