"""The example for Airflow, in a process with a metadata database of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import BIN, Customer

EXAMPLE = Path(__file__).parents[1] / "airflow_synctrail.py"


@pytest.fixture(scope="module")
def dag(customer: Customer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Import the example as Airflow does, from its folder of DAGs."""
    home = tmp_path_factory.mktemp("airflow")
    (home / "dags").mkdir()
    shutil.copy(EXAMPLE, home / "dags")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_HOME", str(home))
        patch.setenv("AIRFLOW__CORE__LOAD_EXAMPLES", "false")
        patch.setenv("SYNCTRAIL_BIN", str(BIN))
        subprocess.run([Path(sys.executable).with_name("airflow"), "db", "migrate"], check=True)
        # Airflow reads its settings when it is imported.
        from airflow.dag_processing.dagbag import DagBag  # noqa: PLC0415

        bag = DagBag()
        assert bag.import_errors == {}
        yield bag.dags["synctrail"]


def test_one_run_at_a_time_in_the_documented_order(dag):
    edges = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert edges == {"load": {"dbt_build", "check_lag"}, "dbt_build": set(), "check_lag": set()}
    assert (dag.max_active_runs, dag.max_active_tasks, dag.catchup) == (1, 1, False)
    assert dag.get_task("check_lag").trigger_rule == "all_done"


def test_quarantine_is_a_warning_and_lag_a_failure(dag, customer, count, capfd):
    run = dag.test()
    states = {instance.task_id: instance.state for instance in run.get_task_instances()}
    assert states == {"load": "success", "dbt_build": "success", "check_lag": "failed"}
    assert count("sync_log") == 2000
    told = "".join(capfd.readouterr())
    assert "files of the lake are quarantined" in told
    assert f"more than 86400 seconds behind the lake: {customer.late_sync}" in told


def test_what_is_tried_again(dag, customer, monkeypatch):
    from airflow.sdk.exceptions import AirflowException, AirflowFailException  # noqa: PLC0415

    load = dag.get_task("load")
    assert load.retries == 3
    monkeypatch.setenv("SYNCTRAIL_LAKE", str(customer.folder / "no lake"))
    with pytest.raises(AirflowException, match="there is no lake at") as failed:
        load.execute({})
    assert not isinstance(failed.value, AirflowFailException)
    monkeypatch.setenv("DBT_TARGET", "unknown")
    with pytest.raises(AirflowFailException, match="target 'unknown' is of type sybase"):
        load.execute({})
