"""One local Spark session for all tests that share a process, and the warehouses that loads go to."""

from __future__ import annotations

import atexit
import io
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from commands import SMALL_SPARK, catalog_target, write_profile
from lakes import Lake
from pyspark.sql import SparkSession
from rich.console import Console

from synctrail.jars import s3_jars
from synctrail.load import LoadResult, load
from synctrail.progress import Reporter
from synctrail.spark_session import spark_session
from synctrail.warehouses.base import Warehouse
from synctrail.warehouses.duckdb import DuckDbWarehouse
from synctrail.warehouses.postgres import PostgresWarehouse
from synctrail.warehouses.spark import SparkWarehouse

CACHE = Path(__file__).parents[2] / ".cache"
_POSTGRES_PORT = "SYNCTRAIL_TEST_POSTGRES_PORT"
# Each stand-in has an environment of its own, and all else is tested in another.
STAND_INS = {"snowflake": "fakesnow", "redshift": "redshift_connector", "bigquery": "bqemulator"}
OWN_WAREHOUSES = ("duckdb", "postgres", "delta", "parquet", "iceberg")
WAREHOUSES = tuple(kind for kind, package in STAND_INS.items() if find_spec(package)) or OWN_WAREHOUSES


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --iceberg."""
    parser.addoption("--iceberg", action="store_true", help="the tests with Iceberg tables, and no others")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Part the tests with Iceberg tables from the rest: one session cannot have both Iceberg and Delta."""

    def has_iceberg(item: pytest.Item) -> bool:
        return "iceberg" in getattr(getattr(item, "callspec", None), "id", "").split("-")

    chosen = [item for item in items if has_iceberg(item) == bool(config.getoption("--iceberg"))]
    # The longest begin: at the end, none of the processes waits for another.
    chosen.sort(key=lambda item: item.path.name != "test_killed_loads.py")
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.fixture(scope="session")
def iceberg_settings() -> dict[str, str]:
    """Give the settings under which a Spark session has Iceberg, for which its tests ask."""
    from warehouses import spark_catalog  # noqa: PLC0415 - as below

    return spark_catalog.iceberg_settings()


@pytest.fixture(scope="session")
def delta_settings() -> dict[str, str]:
    """Give the settings under which a Spark session has Delta; none where its jars cannot be had."""
    from warehouses import spark_catalog  # noqa: PLC0415 - as below

    return spark_catalog.delta_settings()


@pytest.fixture(scope="session")
def s3_settings() -> Iterator[dict[str, str]]:
    """Give the settings under which a Spark session reads S3; none where the jars cannot be had.

    Credentials are in the environment, where Java takes them from: so it has to be there before Spark starts.
    """
    jars = s3_jars(CACHE / "s3-jars")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "the-key-id")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "the-secret-key")
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
            patch.delenv(name, raising=False)
        yield {"spark.jars": ",".join(map(str, jars))} if jars else {}


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, s3_settings: dict[str, str]
) -> Iterator[SparkSession]:
    """Start a local session as the command line starts it, with Hive's catalog in a folder of its own."""
    kind = "iceberg" if request.config.getoption("--iceberg") else "delta"
    table_settings = request.getfixturevalue(f"{kind}_settings")
    home = tmp_path_factory.mktemp("spark")
    settings = {
        **SMALL_SPARK,
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
        **table_settings,
        "spark.jars": ",".join(
            filter(None, (each.get("spark.jars") for each in (table_settings, s3_settings)))
        ),
    }
    session = spark_session(settings, hive=True)
    yield session
    session.stop()


@dataclass
class Loader:
    """Loads a lake into one warehouse and reads the tables, whatever the warehouse is."""

    warehouse: Warehouse
    spark: SparkSession
    select: Callable[[str], list[dict[str, Any]]]
    told: io.StringIO = field(default_factory=io.StringIO)

    def load(self, lake: Lake | str, **options: Any) -> LoadResult:
        """Load what is new in a lake; ``options`` are those of :func:`synctrail.load.load`."""
        root = str(lake.root) if isinstance(lake, Lake) else lake
        reporter = Reporter(Console(file=self.told, width=500))
        return load(self.spark, self.warehouse, root, reporter, **options)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return a table of the contract's, sorted."""
        return sorted(self.select(table), key=repr)

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return all tables of the contract's but the history, without what differs from load to load."""
        names = (
            "sync_tracking_records",
            "sync_tracking_runs",
            "source_objects",
            "destinations",
            "destination_objects",
            "load_files",
        )
        volatile = {"_load_id", "_loaded_at", "load_id", "loaded_at"}
        return {
            name: sorted(
                (
                    {key: value for key, value in row.items() if key not in volatile}
                    for row in self.rows(name)
                ),
                key=repr,
            )
            for name in names
        }


@cache
def postgres_settings() -> dict[str, Any]:
    """Start a Postgres server, which ends with this process; return how to connect to it.

    In a process that a test has started, it is the test's.
    """
    if _POSTGRES_PORT not in os.environ:
        # Not every process that imports this module has the integration tests on its path.
        from warehouses.postgres_server import PostgresServer  # noqa: PLC0415

        server = PostgresServer()
        atexit.register(server.stop)
        os.environ[_POSTGRES_PORT] = str(server.port)
    return {
        "host": "127.0.0.1",
        "port": int(os.environ[_POSTGRES_PORT]),
        "user": "postgres",
        "password": "none",
        "dbname": "postgres",
    }


@cache
def snowflake_settings() -> dict[str, Any]:
    """Start a stand-in for Snowflake, which ends with this process; return a target that leads there."""
    from warehouses.snowflake_process import SnowflakeProcess  # noqa: PLC0415 - as above

    folder = tempfile.TemporaryDirectory(prefix="synctrail-fakesnow-")
    server = SnowflakeProcess(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(server.stop)
    return {
        "type": "snowflake",
        "account": "fakesnow",
        "host": "127.0.0.1",
        "port": server.port,
        "protocol": "http",
        "user": "ann",
        "password": "none",
        "database": "shop",
        "schema": "models",
    }


@cache
def bigquery_emulator() -> Any:
    """Start an emulator of BigQuery, which ends with this process."""
    from warehouses.bigquery_process import BigQueryProcess  # noqa: PLC0415 - as above

    folder = tempfile.TemporaryDirectory(prefix="synctrail-bqemulator-")
    server = BigQueryProcess(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(server.stop)
    return server


def bigquery_settings() -> dict[str, Any]:
    """Return a target that leads to an emulator of BigQuery."""
    return {
        "type": "bigquery",
        "method": "oauth-secrets",
        "token": "none",
        "api_endpoint": f"http://127.0.0.1:{bigquery_emulator().port}",
        "project": "synctrail",
        "schema": "models",
    }


@cache
def redshift_settings() -> dict[str, Any]:
    """Start a stand-in for Redshift, which ends with this process; return a target that leads there."""
    from warehouses.postgres_server import PostgresServer  # noqa: PLC0415 - as above
    from warehouses.redshift_connection import LOOK_ALIKES, behave_as_redshift  # noqa: PLC0415

    server = PostgresServer()
    atexit.register(server.stop)
    behave_as_redshift()
    settings = {
        "type": "redshift",
        "host": "127.0.0.1",
        "port": server.port,
        "user": "postgres",
        "password": "none",
        "dbname": "postgres",
        "schema": "models",
        "sslmode": "disable",
    }
    with psycopg.connect(**postgres_of(settings), autocommit=True) as connection:
        connection.execute(LOOK_ALIKES)
    return settings


def postgres_of(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return how to connect to the Postgres that a target leads to."""
    return {name: target[name] for name in ("host", "port", "user", "password", "dbname")}


DUCKDB_FILE = "it's [a] warehouse.duckdb"


def new_target(kind: str, folder: Path, settings: Mapping[str, str]) -> dict[str, Any]:
    """Return a target of a kind in which nothing is yet, for commands that load into ``census_lake``.

    Args:
        kind: of the warehouse.
        folder: below which its files are; a database is in it, where :func:`make_loader` finds it.
        settings: under which a Spark session has tables of the kind.

    """
    if kind == "duckdb":
        return {"type": "duckdb", "path": str(folder / DUCKDB_FILE)}
    if kind == "postgres":
        with psycopg.connect(**postgres_settings()) as connection:
            connection.execute("drop schema if exists census_lake cascade")
        return {"type": "postgres", **postgres_settings(), "schema": "models"}
    return catalog_target(folder, settings)


_schemas = (f"census_lake_{number}" for number in itertools.count())


def make_loader(kind: str, folder: Path, spark: SparkSession, *, schema: str | None = None) -> Loader:
    """Return a loader into a warehouse of a kind: a new, empty one unless its schema is given."""
    if kind == "duckdb":
        database = folder / DUCKDB_FILE

        def select_duckdb(table: str) -> list[dict[str, Any]]:
            with duckdb.connect(database, read_only=True) as connection:
                return connection.sql(f"select * from census_lake.{table}").to_arrow_table().to_pylist()

        return Loader(DuckDbWarehouse(database, "census_lake", busy_seconds=1), spark, select_duckdb)
    schema = schema or next(_schemas)
    if kind == "postgres":
        warehouse = PostgresWarehouse(postgres_settings(), schema)
        return Loader(warehouse, spark, lambda table: _select_postgres(postgres_settings(), schema, table))
    if kind == "redshift":
        # Only the environment of the stand-ins has Amazon's connector.
        from redshift_look import open_redshift  # noqa: PLC0415

        server = postgres_of(redshift_settings())
        warehouse = open_redshift(redshift_settings(), schema, spark)
        return Loader(warehouse, spark, lambda table: _select_postgres(server, schema, table))
    if kind == "snowflake":
        # Only the environment of the stand-ins has Snowflake's connector.
        from snowflake_look import open_snowflake, select_snowflake  # noqa: PLC0415

        warehouse = open_snowflake(snowflake_settings(), schema)
        return Loader(warehouse, spark, lambda table: select_snowflake(snowflake_settings(), schema, table))

    if kind == "bigquery":
        # As above: the client of BigQuery is in the environment of the emulator alone.
        from bigquery_look import open_bigquery, select_bigquery  # noqa: PLC0415

        warehouse = open_bigquery(bigquery_settings(), schema)
        return Loader(warehouse, spark, lambda table: select_bigquery(bigquery_settings(), schema, table))

    def select_spark(table: str) -> list[dict[str, Any]]:
        rows = spark.table(f"{schema}.{table}").toArrow().to_pylist()
        return [{name: _naive(value) for name, value in row.items()} for row in rows]

    return Loader(SparkWarehouse(schema, {}, provider=kind), spark, select_spark)


def _select_postgres(settings: Mapping[str, Any], schema: str, table: str) -> list[dict[str, Any]]:
    with psycopg.connect(**settings, row_factory=psycopg.rows.dict_row) as connection:
        connection.execute("set timezone = 'UTC'")
        rows = connection.execute(f'select * from "{schema}".{table}').fetchall()
    return [{name: _naive(value) for name, value in row.items()} for row in rows]


def _naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


@pytest.fixture(scope="session", params=WAREHOUSES)
def warehouse_kind(request: pytest.FixtureRequest, delta_settings: dict[str, str]) -> str:
    """Go through each kind of warehouse that there is."""
    kind = str(request.param)
    if kind == "delta" and not delta_settings:
        pytest.skip("Delta's jars cannot be had")
    return kind


@pytest.fixture(scope="session")
def table_settings(request: pytest.FixtureRequest, warehouse_kind: str) -> dict[str, str]:
    """Give the settings under which a Spark session of its own has tables of the kind."""
    has_jars = warehouse_kind in {"delta", "iceberg"}
    return dict(request.getfixturevalue(f"{warehouse_kind}_settings")) if has_jars else {}


@pytest.fixture
def loader(warehouse_kind: str, tmp_path: Path, spark: SparkSession) -> Loader:
    """Give a loader into a new, empty warehouse of each kind."""
    return make_loader(warehouse_kind, tmp_path, spark)


@pytest.fixture
def duckdb_loader(tmp_path: Path, spark: SparkSession) -> Loader:
    """Give a loader into a new DuckDB database, for what no warehouse has a part in."""
    return make_loader("duckdb", tmp_path, spark)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a dbt project with a DuckDB target, and others that lead nowhere."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    outputs: dict[str, Any] = {
        "dev": {"type": "duckdb", "path": str(tmp_path / "shop.duckdb")},
        "nowhere": {"type": "duckdb", "path": str(tmp_path / "no" / "such" / "shop.duckdb")},
        "old": {"type": "sybase"},
    }
    write_profile(folder, outputs)
    return folder


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Make an empty lake."""
    root = tmp_path / "lake"
    root.mkdir()
    return Lake(root)
