"""Whatever is sent by the schema, or against it, the service does not break: no 500, and answers as the schema says."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from small_services import Echo, started

from regard.serve.guard import Guard
from regard.serve.limits import ServiceLimits
from regard.serve.service import ServiceApp
from tiers import tries

service = started(ServiceLimits(window=0.0), echo=Echo(), pair=Echo(2, searches=False))
app = Guard(ServiceApp(service), service.room, service.metrics)
schema = schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.filterwarnings("ignore:Do not use the `random` module")  # which schemathesis does
@schema.parametrize()
@settings(max_examples=tries(25), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_nothing_breaks_it(case: schemathesis.Case) -> None:
    if "name" in case.path_parameters and case.method == "POST":
        case.path_parameters["name"] = "pair" if len(str(case.body)) % 2 else "echo"
    response = case.call()
    assert response.status_code < 500
    case.validate_response(response, checks=[schemathesis.checks.not_a_server_error])
