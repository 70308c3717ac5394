"""What all tests share: the tables that a test measured stand at the end of the output."""

TABLE = "table: "  # a property recorded under this name, and its title, is shown


def pytest_terminal_summary(terminalreporter):
    """Under several workers nothing that a passing test prints is seen; what it records is."""
    for reports in list(terminalreporter.stats.values()):
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name.startswith(TABLE) and report.when == "call":
                    terminalreporter.write_sep("-", name.removeprefix(TABLE))
                    terminalreporter.write_line(value)
