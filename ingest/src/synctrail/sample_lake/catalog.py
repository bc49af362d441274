"""Who and what the sample lake is about: organizations, their syncs, sources and destinations.

The types of source objects, destinations and destination objects are spelled as Census spells them.
Source: https://docs.getcensus.com/syncs/sync-monitoring/sync-tracking (fact tables).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import Enum

HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)
WEEK = dt.timedelta(weeks=1)
LAST_RUN = dt.datetime(2025, 12, 31, 23, 5, tzinfo=dt.UTC)


class Behavior(Enum):
    """What a sync does with its destination."""

    CHANGES = "sends what is new, changed or gone"
    MIRROR = "replaces the destination by each run"
    APPEND = "sends each event once"


class Shape(Enum):
    """What a record's payload looks like."""

    PERSON = "person"
    ACCOUNT = "account"
    EVENT = "event"


class Key(Enum):
    """How the value of the sync key is written."""

    USER_ID = "user_id"
    EMAIL = "email"
    ACCOUNT_ID = "account_id"
    ACCOUNT_CODE = "account_code"
    EVENT_ID = "event_id"


@dataclass(frozen=True)
class Organization:
    """A customer of Census: ids of its runs' metadata and facts are written in one way throughout."""

    org_id: str
    integer_ids: bool
    metadata_spelling: str
    facts_layout: str


@dataclass(frozen=True)
class SourceObject:
    """A row of the fact table source_objects."""

    id: int
    kind: str
    name: str
    reference_id: int | None = None

    @property
    def type(self) -> str:
        """Return the type as Census spells it."""
        return f"DataWarehouse::{self.kind}"


@dataclass(frozen=True)
class Destination:
    """A destination and the one object in it that is written to."""

    id: int
    service: str
    name: str
    object_id: int
    object_kind: str
    object_name: str

    @property
    def type(self) -> str:
        """Return the type of the connection as Census spells it."""
        return f"{self.service}::Connection"

    @property
    def object_type(self) -> str:
        """Return the type of the object as Census spells it."""
        return f"{self.service}::ObjectTypes::{self.object_kind}"


@dataclass(frozen=True, kw_only=True)
class Sync:
    """One sync: what it sends, where to, how often, and what goes wrong in it.

    ``interval`` None means the shortest usual one that reaches back into the oldest era of files.
    ``row_weight`` and ``run_weight`` are its shares of the lake; ``least_runs`` is what its story needs.
    ``failed_runs`` says after which part of its runs one fails; ``closing_failures``, how many fail at the
    end.
    """

    org: Organization
    workspace_id: int
    sync_id: int
    source: SourceObject
    destination: Destination
    behavior: Behavior
    shape: Shape
    key: Key
    operations: tuple[str, str, str | None]
    interval: dt.timedelta | None
    last_run: dt.datetime
    row_weight: float
    run_weight: float
    least_runs: int = 4
    first_number: int = 0
    integer_identifiers: bool = False
    deletes_apart: bool = False
    payload_of_deletes: bool = True
    is_slow: bool = False
    skips_runs: bool = False
    repeats_all: bool = False
    failed_runs: tuple[float, ...] = ()
    closing_failures: int = 0
    untimed_runs: tuple[int, ...] = ()
    unknown_columns: bool = False


_SHOP = Organization("10482", True, "nested", "folders")
_BANK = Organization("2391", False, "camel_case", "unconventional")
_SAAS = Organization("88", False, "snake_case", "files")
ORGANIZATIONS = (_SHOP, _BANK, _SAAS)


def _evening(hour: int, minute: int, *, back: int = 0) -> dt.datetime:
    return LAST_RUN.replace(hour=hour, minute=minute) - back * DAY


SYNCS = (
    Sync(
        org=_SHOP,
        workspace_id=501,
        sync_id=31001,
        source=SourceObject(7101, "FilterSegmentSource", "Lapsed customers", 9101),
        destination=Destination(611, "Braze", "Braze EU", 8101, "User", "User"),
        behavior=Behavior.CHANGES,
        shape=Shape.PERSON,
        key=Key.USER_ID,
        operations=("upsert", "upsert", "delete"),
        interval=DAY,
        last_run=_evening(6, 10),
        row_weight=12,
        run_weight=1,
        deletes_apart=True,
    ),
    Sync(
        org=_SHOP,
        workspace_id=501,
        sync_id=31002,
        source=SourceObject(7102, "FilterSegmentSource", "High-value shoppers", 9102),
        destination=Destination(612, "Facebook", "Meta ads", 8102, "CustomAudience", "VIP Käufer 2025"),
        behavior=Behavior.CHANGES,
        shape=Shape.PERSON,
        key=Key.EMAIL,
        operations=("upsert", "upsert", "delete"),
        interval=HOUR,
        last_run=LAST_RUN,
        row_weight=10,
        run_weight=2.5,
        least_runs=6,
        first_number=40,
        payload_of_deletes=False,
        skips_runs=True,
    ),
    Sync(
        org=_SHOP,
        workspace_id=502,
        sync_id=31007,
        source=SourceObject(7103, "Query", "Revenue by account", 9103),
        destination=Destination(613, "GoogleSheets", "Finance sheets", 8103, "Worksheet", "Revenue 2025!A1"),
        behavior=Behavior.MIRROR,
        shape=Shape.ACCOUNT,
        key=Key.ACCOUNT_CODE,
        operations=("mirror", "mirror", None),
        interval=DAY,
        last_run=_evening(7, 30),
        row_weight=15,
        run_weight=1,
        failed_runs=(0.75,),
    ),
    Sync(
        org=_BANK,
        workspace_id=77,
        sync_id=2040,
        source=SourceObject(310, "Query", "Product events", 4410),
        destination=Destination(21, "GoogleAds", "Google Ads", 3310, "OfflineConversion", "Card activated"),
        behavior=Behavior.APPEND,
        shape=Shape.EVENT,
        key=Key.EVENT_ID,
        operations=("append", "append", None),
        interval=HOUR,
        last_run=LAST_RUN - dt.timedelta(minutes=25),
        row_weight=18,
        run_weight=2,
        skips_runs=True,
    ),
    Sync(
        org=_BANK,
        workspace_id=77,
        sync_id=2041,
        source=SourceObject(311, "BusinessObjectSource", "Accounts", 4411),
        destination=Destination(22, "Salesforce", "Salesforce", 3311, "Account", "Account"),
        behavior=Behavior.CHANGES,
        shape=Shape.ACCOUNT,
        key=Key.ACCOUNT_ID,
        operations=("update", "update", None),
        interval=None,
        last_run=_evening(4, 0),
        row_weight=10,
        run_weight=1,
        least_runs=12,
        integer_identifiers=True,
        untimed_runs=(0,),
    ),
    Sync(
        org=_BANK,
        workspace_id=78,
        sync_id=2050,
        source=SourceObject(312, "Query", "Leads with score", 4412),
        destination=Destination(23, "HubSpot", "HubSpot", 3312, "Contact", "Contact"),
        behavior=Behavior.CHANGES,
        shape=Shape.PERSON,
        key=Key.EMAIL,
        operations=("create", "update", None),
        interval=6 * HOUR,
        last_run=_evening(18, 0),
        row_weight=14,
        run_weight=1.5,
        least_runs=6,
        first_number=200,
        repeats_all=True,
        failed_runs=(0.5,),
        unknown_columns=True,
    ),
    Sync(
        org=_SAAS,
        workspace_id=9,
        sync_id=402,
        source=SourceObject(51, "Table", "public.trial_users"),
        destination=Destination(31, "Marketo", "Marketo", 61, "Lead", "Lead"),
        behavior=Behavior.CHANGES,
        shape=Shape.PERSON,
        key=Key.USER_ID,
        operations=("upsert", "upsert", None),
        interval=DAY,
        last_run=_evening(3, 15, back=40),
        row_weight=6,
        run_weight=0.8,
        least_runs=6,
        closing_failures=2,
    ),
    Sync(
        org=_SAAS,
        workspace_id=9,
        sync_id=403,
        source=SourceObject(52, "CohortSource", "Win-back test: variant B", 71),
        destination=Destination(32, "Klaviyo", "Klaviyo", 62, "Profile", "Profile"),
        behavior=Behavior.CHANGES,
        shape=Shape.PERSON,
        key=Key.EMAIL,
        operations=("upsert", "upsert", "delete"),
        interval=DAY,
        last_run=_evening(1, 45),
        row_weight=5,
        run_weight=0.8,
        is_slow=True,
    ),
    Sync(
        org=_SAAS,
        workspace_id=10,
        sync_id=410,
        source=SourceObject(53, "Query", "Company health", 72),
        destination=Destination(33, "Intercom", "Intercom", 63, "Company", "Company"),
        behavior=Behavior.CHANGES,
        shape=Shape.ACCOUNT,
        key=Key.ACCOUNT_ID,
        operations=("upsert", "upsert", None),
        interval=DAY,
        last_run=_evening(5, 20),
        row_weight=4,
        run_weight=0.8,
        integer_identifiers=True,
        untimed_runs=(2,),
    ),
    Sync(
        org=_SAAS,
        workspace_id=10,
        sync_id=411,
        source=SourceObject(54, "FilterSegmentSource", "Newsletter: engagé", 73),
        destination=Destination(34, "Mailchimp", "Mailchimp", 64, "Member", "Subscriber"),
        behavior=Behavior.CHANGES,
        shape=Shape.PERSON,
        key=Key.EMAIL,
        operations=("upsert", "upsert", "delete"),
        interval=None,
        last_run=_evening(2, 0),
        row_weight=8,
        run_weight=1,
        least_runs=12,
        first_number=15,
    ),
)
