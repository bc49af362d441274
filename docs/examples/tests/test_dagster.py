"""The example for Dagster, on an instance of its own in memory."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import dagster as dg
import pytest
from conftest import BIN, TWO_DAYS, Customer

EXAMPLE = Path(__file__).parents[1] / "dagster_synctrail.py"


@pytest.fixture(scope="module")
def example(customer: Customer) -> ModuleType:
    """Import the example as a file, as ``dagster dev -f`` does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNCTRAIL_BIN", str(BIN))
        spec = importlib.util.spec_from_file_location("dagster_synctrail", EXAMPLE)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def test_the_documented_order(example):
    dg.Definitions.validate_loadable(example.defs)
    graph = example.defs.resolve_asset_graph()
    assert graph.get(dg.AssetKey("synctrail_models")).parent_keys == {dg.AssetKey("census_lake")}
    assert {job.name for job in example.defs.jobs} == {"synctrail", "synctrail_lag"}


def test_quarantine_is_a_warning_and_lag_a_failure(example, customer, count, monkeypatch):
    instance = dg.DagsterInstance.ephemeral()
    run = example.defs.resolve_job_def("synctrail").execute_in_process(instance=instance)
    assert run.success
    assert count("sync_log") == 2000
    (check,) = run.get_asset_check_evaluations()
    assert (check.check_name, check.passed, check.severity) == (
        "none_quarantined",
        False,
        dg.AssetCheckSeverity.WARN,
    )
    metadata = run.asset_materializations_for_node("census_lake")[0].metadata
    assert (metadata["rows_loaded"].value, metadata["files_quarantined"].value) == (2000, 1)

    lag = example.defs.resolve_job_def("synctrail_lag")
    failed = lag.execute_in_process(instance=instance, raise_on_error=False)
    told = failed.failure_data_for_node("check_lag").user_failure_data.description
    assert told == f"more than 86400 seconds behind the lake: {customer.late_sync}"
    monkeypatch.setenv("SYNCTRAIL_MAX_LAG_SECONDS", str(2 * TWO_DAYS))
    assert lag.execute_in_process(instance=instance).success


def test_one_run_at_a_time(example, tmp_path):
    job = example.defs.resolve_job_def("synctrail")
    with (
        dg.DagsterInstance.local_temp(str(tmp_path)) as instance,
        dg.build_schedule_context(instance) as context,
    ):
        assert isinstance(example.hourly(context), dg.RunRequest)
        instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
        assert isinstance(example.hourly(context), dg.SkipReason)


def test_what_is_tried_again(example, customer, monkeypatch):
    assert example.census_lake.op.retry_policy.max_retries == 3
    monkeypatch.setenv("SYNCTRAIL_LAKE", str(customer.folder / "no lake"))
    with pytest.raises(dg.Failure, match="there is no lake at") as failed:
        example.census_lake(dg.build_asset_context())
    assert failed.value.allow_retries
    monkeypatch.setenv("DBT_TARGET", "unknown")
    with pytest.raises(dg.Failure, match="target 'unknown' is of type sybase") as failed:
        example.census_lake(dg.build_asset_context())
    assert not failed.value.allow_retries
