"""Symptoms and their remedies: one table, for the command, the chapter's look-up and the tests."""

from labutils.profile.remedies import (
    ANALYSE,
    CACHE,
    COMMUNICATION,
    COMPUTE,
    HOST,
    INPUT,
    LARGER,
    MARK,
    PARALLEL,
    PRECISION,
    UNKNOWN,
    XLA,
    Remedy,
    Symptom,
)

SYMPTOMS = (
    Symptom(
        "input-bound",
        "The step waits for its data",
        INPUT,
        "The device is idle at the beginning of each step. A faster device would change nothing.",
        "While nothing computes, the step's thread is inside of IteratorGetNext.",
        (PARALLEL, CACHE, ANALYSE),
    ),
    Symptom(
        "python-in-input",
        "Python code in the input pipeline",
        INPUT,
        "The step waits for its data, whatever num_parallel_calls says.",
        "A thread of tf.data runs PyFunc: numpy_function or py_function in a map, or from_generator.",
        (
            Remedy(
                "Write the function in TensorFlow operations: only one thread at a time can run Python.",
                "tf.image.random_flip_left_right(image)  # and no tf.numpy_function around it",
                "04",
            ),
            Remedy(
                "Or do that work once, beforehand, and store what comes out.", "dataset.map(slow).save(folder)", "04"
            ),
            PARALLEL,
        ),
    ),
    Symptom(
        "markers-miss-input",
        "The step markers leave out the fetching of data",
        INPUT,
        "TensorBoard's overview says that little time is input, and yet training is slow.",
        "Between two marked steps the program waits in IteratorGetNext.",
        (MARK,),
    ),
    Symptom(
        "retracing",
        "The function is traced again and again",
        HOST,
        "Each step takes far longer than its operators; there may be a warning about retracing.",
        "TensorFlow builds the graph of the same function in most of the steps.",
        (
            Remedy(
                "Pass what changes as a tensor: every new Python number or string is a new graph.",
                "step(x, tf.constant(scale))",
                "05",
            ),
            Remedy(
                "Fix the shapes, or say which may differ.",
                "@tf.function(input_signature=[tf.TensorSpec([None, 28, 28])])  # or batch(n, drop_remainder=True)",
            ),
            Remedy("Make the function once, outside of the loop.", "step = tf.function(train_step)"),
        ),
    ),
    Symptom(
        "recompilation",
        "XLA compiles again and again",
        HOST,
        "Some steps take seconds.",
        "A compilation by XLA goes on in most of the steps.",
        (
            Remedy("Keep shapes fixed: each new one is a new program.", "dataset.batch(n, drop_remainder=True)", "07"),
            Remedy("Compile less of the program, or nothing.", "model.compile(..., jit_compile=False)"),
        ),
    ),
    Symptom(
        "tiny-operators",
        "Very many, very small operators",
        HOST,
        "The processor is busy and the device is not.",
        "Hundreds of operators a step, each over in microseconds, most of the time spent between them.",
        (
            Remedy(
                "Put the whole step into one function, so that Python is not asked for every operator.", "@tf.function"
            ),
            Remedy("Do the same on all elements at once instead of one by one.", "tf.matmul(batch, w)  # and no loop"),
            XLA,
        ),
    ),
    Symptom(
        "host-work",
        "Python works between the operators while the device rests",
        HOST,
        "The step is longer than what its operators and its input take.",
        "In each step there is one long gap in which TensorFlow does nothing: a callback, logging, a metric in NumPy.",
        (
            Remedy("Do it less often.", "if step % 100 == 0: write_summaries()", "05"),
            Remedy(
                "If that Python loads your data: let tf.data do so, while the step before trains.",
                "tf.data.Dataset.from_tensor_slices(files).map(load, num_parallel_calls=tf.data.AUTOTUNE).prefetch(2)",
                "04",
            ),
            Remedy(
                "Do not fetch numbers in every step: each .numpy() waits for the device.", "loss_sum.assign_add(loss)"
            ),
            Remedy("Let Keras return to Python less often.", "model.compile(..., steps_per_execution=16)"),
        ),
    ),
    Symptom(
        "python-in-model",
        "An operator of the model runs Python code",
        HOST,
        "The step is long, though its operators are few.",
        "A thread of the step runs PyFunc: numpy_function or py_function in the model, the loss or a metric.",
        (Remedy("Write it in TensorFlow operations.", "tf.math, tf.linalg, tf.image  # and no tf.numpy_function"),),
    ),
    Symptom(
        "uneven-steps",
        "A few steps cost far more than the others",
        HOST,
        "Most steps are quick, and yet the training is slow.",
        "The mean step is a fifth longer, or more, than the usual one.",
        (
            Remedy("Save and evaluate less often.", "if step % 1000 == 0: manager.save()", "05"),
            Remedy("Save while the training goes on.", "tf.train.CheckpointOptions(enable_async=True)"),
            Remedy("Even out input that comes in bursts.", "dataset.prefetch(tf.data.AUTOTUNE)", "04"),
        ),
    ),
    Symptom(
        "small-batch",
        "Too little work in a step",
        HOST,
        "A step with twice the batch takes nearly the same time.",
        "Operators take a small part of the step; starting them, and handing on the batch, takes the rest.",
        (
            LARGER,
            Remedy("Run several steps in one call.", "model.compile(..., steps_per_execution=16)"),
            Remedy("Use fewer replicas: each one adds its own cost to a step.", "devices.mirrored(1)", "02"),
        ),
    ),
    Symptom(
        "communication-bound",
        "The replicas wait for each other's gradients",
        COMMUNICATION,
        "More devices make the step longer.",
        "While nothing computes, a collective is under way.",
        (
            LARGER,
            Remedy(
                "Exchange gradients less often: add up a few batches first.", "accumulate 4 batches, then apply", "03"
            ),
            Remedy(
                "Send fewer bytes: 16-bit gradients halve them.",
                "gradients = [tf.cast(g, tf.bfloat16) for g in gradients]",
                "01",
            ),
        ),
    ),
    Symptom(
        "straggling-replica",
        "One replica holds up the others",
        COMPUTE,
        "All devices are used, one much longer than the rest.",
        "In most steps the same replica computes far longer than the usual one.",
        (
            Remedy(
                "Give every replica the same number of examples.",
                "dataset.batch(n * replicas, drop_remainder=True)",
                "02",
            ),
            Remedy(
                "Look for work that only one replica does.", "if replica_context.replica_id_in_sync_group == 0: ..."
            ),
            Remedy("Check that device alone: its clock, its temperature, who else uses it.", "nvidia-smi -q -d CLOCK"),
        ),
    ),
    Symptom(
        "straggling-host",
        "One host holds up the others",
        COMMUNICATION,
        "All hosts have the same step time, and most of them spend it in collectives.",
        "One host computes, or waits for its input, far longer than the others, which wait for it.",
        (
            Remedy(
                "Look at that host alone: its input, its cores, who else uses it.", "python -m labutils diagnose LOGDIR"
            ),
            Remedy(
                "Give every worker as many, and as large, files.",
                "options.experimental_distribute.auto_shard_policy",
                "04",
            ),
        ),
    ),
    Symptom(
        "host-to-device-copies",
        "Copies to the device that nothing hides",
        HOST,
        "The device is idle while its data come in.",
        "Copies from host to device take part of the step in which nothing computes.",
        (
            Remedy(
                "Copy the next batch while this one trains.",
                "dataset.apply(tf.data.experimental.prefetch_to_device('/gpu:0'))",
            ),
            Remedy(
                "Send bytes, and make floats of them on the device.", "x = tf.cast(x, tf.float32) / 255  # in the step"
            ),
        ),
    ),
    Symptom(
        "busy-device",
        "The devices are busy: this is how it should be",
        COMPUTE,
        "Operators follow each other closely.",
        "Most of the step is compute.",
        (
            PRECISION,
            XLA,
            Remedy("Use more devices, with a batch for each.", "strategy = tf.distribute.MirroredStrategy()", "02"),
        ),
    ),
    Symptom(
        "full-precision",
        "Matrix products in 32 bits",
        COMPUTE,
        "Most of the compute is a few large operators.",
        "Products and convolutions of float32 take most of the operators' time.",
        (PRECISION,),
    ),
    Symptom(
        "idle-devices",
        "Devices that never ran",
        HOST,
        "You pay for devices that the program does not use.",
        "The capture names devices on which not one operator ran.",
        (
            Remedy(
                "Distribute the training over all of them.", "with tf.distribute.MirroredStrategy().scope(): ...", "02"
            ),
            Remedy("Or hide them from this program, for others to use.", "CUDA_VISIBLE_DEVICES=0 python train.py"),
        ),
    ),
    Symptom(
        "no-step-markers",
        "The steps are not marked",
        UNKNOWN,
        "TensorBoard's overview page is empty: average step time 0.0 ms.",
        "No event of the capture carries a step's number. Keras' TensorBoard callback sets none.",
        (
            Remedy(
                "For fit: mark the steps with our callback.",
                "model.fit(data, callbacks=[profile.StepMarkers(logdir)])",
                "05",
            ),
            MARK,
        ),
    ),
    Symptom(
        "too-short",
        "Too short a capture to judge",
        UNKNOWN,
        "One step or two.",
        "Fewer steps than it takes to tell the usual from the odd one.",
        (
            Remedy(
                "Capture ten steps, after some that are not captured.", "profile.capture(step, logdir, steps=10)", "05"
            ),
        ),
    ),
)

BY_NAME = {symptom.name: symptom for symptom in SYMPTOMS}
