"""The audience marts against the rules told in Python, on random histories in any order of arrival."""

from __future__ import annotations

from analysis_answers import answer
from dbt_project_runner import Project
from staging_rows import Attempt, Lake, Run, at
from warehouses import Warehouse

MODELS = "+audience_memberships +audience_events +audience_daily"
SOURCE_OBJECT: dict[str, object] = {
    "id": "30",
    "type": "DataWarehouse::FilterSegmentSource",
    "name": "Big spenders",
    "org_id": "1",
}


DAY = 24 * 60


def three_days() -> Lake:
    """Return an audience that `early` leaves on the second day, when `late` comes and `gone` shows it was in.

    On the third day, `early` comes back.
    """
    attempts = [
        Attempt(
            log_id=f"{day}-{identifier}",
            sync_run_id=str(100 + day),
            record_identifier=identifier,
            operation=operation,
            status=status,
            batch_started_at=at(day * DAY),
        )
        for day, identifier, operation, status in (
            (0, "early", "upsert", "succeeded"),
            (1, "early", "delete", "succeeded"),
            (1, "gone", "delete", "succeeded"),
            (1, "late", "upsert", "rejected"),
            (2, "early", "upsert", "succeeded"),
        )
    ]
    lake = Lake(facts={"source_objects": [SOURCE_OBJECT]})
    lake.load(
        "load-0",
        [*attempts, Attempt(log_id="1", record_identifier="other", sync_id="2")],
        [Run(sync_run_id="102"), Run(sync_id="2", source_object_id="31")],
    )
    return lake


def test_members_at_tells_who_was_in_at_a_moment(project: Project, warehouse: Warehouse) -> None:
    answers: dict[tuple[object, str], list[str]] = {
        (1, "2025-11-30"): ["gone"],
        (1, "2025-12-01"): ["early", "gone"],
        (1, "2025-12-01 23:59:59.999999"): ["early", "gone"],
        (1, "2025-12-02T00:59:59+01:00"): ["early", "gone"],
        (1, "2025-12-02T00:00:00Z"): ["late"],
        (1, "2025-12-02 01:00:00+01:00"): ["late"],
        (1, "cast('2025-12-03 00:00:00' as timestamp)"): ["early", "late"],
        ("2", "2025-12-01"): ["other"],
    }
    warehouse.write_staging(three_days().tables())
    project.run("run", "--select", "+members_at_a_moment", variables={"asked_members": list(answers)})
    rows = warehouse.query("select * from members_at_a_moment order by record_identifier")
    for number, (asked, members) in enumerate(answers.items()):
        assert [row["record_identifier"] for row in rows if row["question"] == number] == members, asked


def test_analyses_tell_who_was_in_a_segment_and_who_came_and_went(
    project: Project, warehouse: Warehouse
) -> None:
    warehouse.write_staging(three_days().tables())
    project.run("run", "--select", *MODELS.split())
    moment = {"synctrail_audience_name": "Big spenders", "synctrail_moment": "2025-12-01 12:00:00"}
    rows = answer(project, warehouse, "who_was_in_this_segment", moment)
    assert [(row["record_identifier"], row["entered_at"], row["exited_at"]) for row in rows] == [
        ("early", at(0), at(DAY)),
        ("gone", None, at(DAY)),
    ]
    moments = {"synctrail_sync_id": 1, "synctrail_earlier": "2025-12-01", "synctrail_moment": "2025-12-02"}
    rows = answer(project, warehouse, "who_joined_and_who_left_between_two_moments", moments)
    assert [(row["change"], row["record_identifier"]) for row in rows] == [
        ("joined", "late"),
        ("left", "early"),
        ("left", "gone"),
    ]
