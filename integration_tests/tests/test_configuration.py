"""A wrong variable stops a run before any model, and names itself, its value and what is allowed."""

from __future__ import annotations

import pytest
from dbt_project_runner import Project
from staging_rows import Lake
from warehouses import Warehouse

WRONG = [
    ("synctrail_stale_factor", True, "a number of at least 0"),
    ("synctrail_alert_failed_records", 75, "a number from 0 to 1"),
    ("synctrail_alert_deviation_runs", 2.5, "a whole number of at least 1"),
    ("synctrail_allow_full_refresh", "yes", "true or false"),
    ("synctrail_spark_file_format", "orc", '"delta" or "iceberg" or "parquet"'),
    ("synctrail_as_of", "2025-13", "null, or a date and time"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), WRONG)
def test_a_wrong_variable_stops_the_run_by_name(
    project: Project, warehouse: Warehouse, name: str, value: object, allowed: str
) -> None:
    warehouse.write_staging(Lake().tables())
    with pytest.raises(AssertionError) as failure:
        project.run("run", "--select", "destinations", variables={name: value})
    message = str(failure.value)
    assert f"The variable {name} is " in message
    assert f"Allowed: {allowed}" in message


def test_what_is_allowed_runs(project: Project, warehouse: Warehouse) -> None:
    """Every variable at a value that is not its default."""
    warehouse.write_staging(Lake().tables())
    project.run(
        "run",
        "--select",
        "+destinations",
        variables={
            "synctrail_stale_factor": 1.5,
            "synctrail_alert_failed_records": 1,
            "synctrail_alert_full_sync_members": 0,
            "synctrail_allow_full_refresh": True,
            "synctrail_spark_file_format": "parquet",
            "synctrail_as_of": "2025-12-31T18:00:00.5+01:00",
        },
    )
