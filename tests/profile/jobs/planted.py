"""Jobs with a planted bottleneck, each run and captured in a process of its own: `python planted.py JOB FOLDER`.

Every job is a few lines around one step. What is planted is large, a few times the rest of the step, so that it is
there on a slow machine and on a busy one, too.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

STEPS = 12
LINK = {"bandwidth": 20e6, "latency": 0.001}  # bytes/s and s: the gradients of slow_link take a tenth of a second
WORKERS = 2
PATIENCE = 120  # s for both workers


def _start(replicas=1):
    from labutils.train import devices

    devices.configure(replicas=replicas)
    import tensorflow as tf

    return tf


def _model(tf, width=256, features=64):
    layers = [tf.keras.layers.Dense(width, "relu"), tf.keras.layers.Dense(width, "relu"), tf.keras.layers.Dense(10)]
    return tf.keras.Sequential([tf.keras.Input((features,)), *layers])


def _images(tf, batch, features=64, work=lambda x: x):
    """Batches made in memory; `work` is done to each example in `map`."""
    data = tf.data.Dataset.from_tensors((tf.zeros(features), tf.constant(1))).repeat()
    return data.map(lambda x, y: (work(x), y), num_parallel_calls=2).batch(batch).prefetch(2)


def _mirrored_step(tf, replicas, batch, width=256, extra=None):
    """A distributed step as the course writes it, and its data: a function that fetches a batch and trains on it."""
    from labutils.train import devices

    strategy = devices.mirrored(replicas)
    return strategy, _strategy_step(tf, strategy, batch, width, extra)


def _strategy_step(tf, strategy, batch, width, extra=None):
    with strategy.scope():
        model, optimizer = _model(tf, width), tf.keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")

    def train(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True)) / batch
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value if extra is None else value + extra(x)

    @tf.function
    def step(x, y):
        return strategy.reduce("SUM", strategy.run(train, args=(x, y)), axis=None)

    return step


def _loop(tf, strategy, step, dataset):
    batches = iter(strategy.experimental_distribute_dataset(dataset))
    return lambda: step(*next(batches)).numpy()


def healthy(folder):
    tf = _start(4)
    strategy, step = _mirrored_step(tf, 4, 1024, width=512)
    _capture(_loop(tf, strategy, step, _images(tf, 1024).take(8).cache().repeat().prefetch(2)), folder)


def slow_map(folder):
    tf = _start(4)

    def work(x):  # TensorFlow's own operations, and far too much for one example
        much = tf.fill((128, 128), x[0])
        for _ in range(3):
            much = tf.tanh(much @ much)
        return x + much[0, :64]

    strategy, step = _mirrored_step(tf, 4, 256, width=128)
    _capture(_loop(tf, strategy, step, _images(tf, 256, work=work)), folder)


def py_function(folder):
    tf = _start(4)

    def in_python(x):
        for _ in range(400):
            x = x + 1
        return x

    def work(x):
        return tf.ensure_shape(tf.numpy_function(in_python, [x], tf.float32), (64,))

    strategy, step = _mirrored_step(tf, 4, 256, width=128)
    _capture(_loop(tf, strategy, step, _images(tf, 256, work=work)), folder)


def tiny_operators(folder):
    tf = _start()
    w = tf.Variable(tf.ones((8, 8)))

    def step():
        x = tf.ones((8, 8))
        for _ in range(300):  # one by one, from Python
            x = tf.tanh(tf.add(tf.multiply(x, w), 0.1))
        return x.numpy()

    _capture(step, folder)


def small_batch(folder):
    tf = _start(4)
    strategy, step = _mirrored_step(tf, 4, 8, width=64)
    _capture(_loop(tf, strategy, step, _images(tf, 8)), folder)


def heavy_compute(folder):
    tf = _start()
    model = _model(tf, width=2048, features=1024)
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    batches = _images(tf, 256, features=1024).take(4).cache().repeat()
    _fit(model, batches, folder)


def callback(folder):
    tf = _start()
    model = _model(tf)
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)

    class Slow(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            time.sleep(0.03)  # as one that writes a file after every step

    _fit(model, _images(tf, 256).take(4).cache().repeat(), folder, Slow())


def retracing(folder):
    tf = _start()
    model = _model(tf, width=64)

    @tf.function
    def step(x, scale):
        for layer in model.layers:
            x = layer(x)
        return tf.reduce_sum(x) * scale

    counter = iter(range(10**6))
    x = tf.ones((256, 64))
    _capture(lambda: step(x, next(counter)).numpy(), folder)


def straggler(folder):
    tf = _start(4)

    def extra(x):
        here = tf.distribute.get_replica_context().replica_id_in_sync_group
        much = tf.fill((768, 768) if here == 2 else (8, 8), x[0, 0])
        for _ in range(4):
            much = tf.tanh(much @ much)
        return 0.0 * tf.reduce_sum(much)

    strategy, step = _mirrored_step(tf, 4, 256, width=128, extra=extra)
    _capture(_loop(tf, strategy, step, _images(tf, 256).take(8).cache().repeat().prefetch(2)), folder)


def compiled(folder):
    """A step that XLA made one program of: none of its operators can be seen."""
    tf = _start()
    w = tf.Variable(tf.random.normal((768, 768)) / 30)

    @tf.function(jit_compile=True)
    def step():
        x = w
        for _ in range(6):
            x = tf.tanh(x @ w)
        return tf.reduce_sum(x)

    _capture(lambda: step().numpy(), folder)


def python_in_model(folder):
    tf = _start()
    model = _model(tf)

    def in_python(x):
        time.sleep(0.03)
        return x

    @tf.function
    def step(x):
        x = tf.ensure_shape(tf.numpy_function(in_python, [x], tf.float32), (256, 64))
        return tf.reduce_sum(model(x))

    x = tf.ones((256, 64))
    _capture(lambda: step(x).numpy(), folder)


def checkpoints(folder):
    """Every third step writes something for long; the usual one computes."""
    tf = _start()
    strategy, train = _mirrored_step(tf, 1, 1024, width=512)
    step, numbers = _loop(tf, strategy, train, _images(tf, 1024).take(8).cache().repeat().prefetch(2)), iter(range(99))

    def saving():
        loss = step()
        if next(numbers) % 3 == 0:
            time.sleep(0.5)
        return loss

    _capture(saving, folder)


def slow_link(folder):
    """Two processes that exchange their gradients over a slow link; each captures itself, into one run."""
    from labutils import processes
    from labutils.cluster.relay import HOST, Relay

    ports = [_free_port(HOST) for _ in range(WORKERS)]
    relays = [Relay(port, **LINK) for port in ports]  # what leads to a worker
    children = []
    try:
        for index in range(WORKERS):
            seen = [ports[peer] if peer == index else relays[peer].port for peer in range(WORKERS)]
            cluster = {"worker": [f"{HOST}:{port}" for port in seen]}
            config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
            command = [sys.executable, __file__, "_worker", str(folder)]
            children.append(processes.launch(command, env=os.environ | {"TF_CONFIG": config}))
        deadline = time.monotonic() + PATIENCE
        codes = [processes.wait(child, deadline - time.monotonic()) for child in children]
        if any(codes):
            raise RuntimeError(f"the workers ended with {codes}")
        if None in codes:
            raise subprocess.TimeoutExpired("two workers", PATIENCE)
    finally:
        for child in children:
            processes.stop(child, grace=0)
        for relay in relays:
            relay.close()


def _free_port(host):
    with socket.socket() as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def _worker(folder):
    import tensorflow as tf

    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.RING
    )
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    step = _strategy_step(tf, strategy, 64, width=512)
    x, y = tf.ones((32, 64)), tf.zeros(32, tf.int32)
    _capture(lambda: step(x, y).numpy(), folder, run="both", host=f"worker{index}")
    os._exit(0)  # a worker that ends in order waits for its peer, sometimes for long


def _capture(step, folder, **names):
    from labutils import profile

    profile.capture(step, folder, steps=STEPS, **names)


def _fit(model, batches, folder, *callbacks):
    from labutils.profile.markers import StepMarkers

    marks = StepMarkers(folder, first=6, steps=STEPS)
    model.fit(batches, epochs=1, steps_per_epoch=6 + STEPS + 4, verbose=0, callbacks=[*callbacks, marks])


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
