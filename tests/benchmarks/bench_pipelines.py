"""What tuning gains on the course's two input pipelines, and how near that brings them to what this machine can do.

Others' work on the machine takes cores from the tuned side alone: run it where nothing else runs.
"""

NAME = "pipelines"
SECONDS = 20.0  # for each comparison


def run():
    from labutils.train import pipelines  # TensorFlow, which the other benchmarks do not need

    return [*_classic(pipelines), *_photos(pipelines)]


def _classic(pipelines):
    from labutils.bench import compare, format_ratio, format_si

    classic = pipelines.classic
    samples = classic.BATCH * classic.BATCHES
    naive = classic.source().map(classic.resize).batch(classic.BATCH)
    batched = classic.source().batch(classic.BATCH)
    tuned = batched.map(classic.resize, num_parallel_calls=_autotune()).prefetch(_autotune())

    def gain(variant):
        before, after = (pipelines.epoch(pipelines.as_written(dataset)) for dataset in (naive, variant))
        found = compare(before, after, budget=SECONDS)
        low, high = map(format_ratio, found.interval)
        return f"{format_ratio(found.ratio)} (99% {low} to {high})"

    place = pipelines.standing(batched.map(classic.resize), {"tuned": tuned}, samples)
    memory = pipelines.memory_bandwidth() / classic.BYTES_MOVED
    rate = place.rates["tuned"][0]
    return [
        ("classic: naive to tuned", ">= 4x", gain(tuned)),
        ("classic: naive to tuned and cached", ">= 4x", gain(tuned.cache())),
        ("classic: tuned", "", format_si(rate, "samples/s")),
        (f"classic: limit, {place.reason}", "", format_si(place.limit, "samples/s")),
        ("classic: limit, memory bandwidth", "", format_si(memory, "samples/s")),
        ("classic: tuned, share of the limit", "", f"{rate / min(place.limit, memory):.0%}"),
    ]


def _photos(pipelines):
    import tensorflow as tf

    from labutils.bench import format_ratio, format_si

    photos = pipelines.photos
    files = tf.data.Dataset.from_tensor_slices(list(photos.write().files))

    def picture(file):
        return photos.augment(photos.resize(photos.decode(tf.io.read_file(file))))

    work = files.map(picture).batch(photos.BATCH)
    tuned = files.map(picture, num_parallel_calls=_autotune()).batch(photos.BATCH).prefetch(_autotune())
    place = pipelines.standing(work, {"tuned": tuned}, photos.COUNT)
    rate = place.rates["tuned"][0]
    return [
        ("photos: tuned", "", format_si(rate, "samples/s")),
        (f"photos: limit, {place.reason}", "", format_si(place.limit, "samples/s")),
        ("photos: tuned, share of the limit", ">= 85%", f"{place.efficiency('tuned'):.0%}"),
        ("photos: found over what `analyse` expected", "0.6x to 1.7x", format_ratio(_promise(pipelines, work, place))),
    ]


def _promise(pipelines, work, place):
    """The rate found with parallel calls over the rate that the analysis of the plain pipeline expects of them."""
    remedies = pipelines.analyse(work.repeat()).remedies
    expected = next(each.rate for each in remedies if each.name == "parallel")
    return place.rates["tuned"][0] / (expected * pipelines.photos.BATCH)


def _autotune():
    import tensorflow as tf

    return tf.data.AUTOTUNE
