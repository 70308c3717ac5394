"""What happens where there is no browser to drive."""

import pytest


@pytest.mark.parametrize("environment", [{}, {"CI": ""}, {"CI": "false"}, {"CI": "0"}])
def test_on_a_laptop_the_tests_are_skipped_with_a_reason(without_browser, environment):
    with pytest.raises(pytest.skip.Exception, match="install `chromium`"):
        without_browser(environment)


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"CI": "1"}])
def test_in_continuous_integration_they_fail(without_browser, environment):
    with pytest.raises(pytest.fail.Exception, match="No Chromium was found"):
        without_browser(environment)
