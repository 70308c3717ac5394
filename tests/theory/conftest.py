from hypothesis import HealthCheck, settings

# The same examples in every run, however busy the machine: a red test is a fault of the code, not of the hour.
settings.register_profile(
    "theory", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("theory")
