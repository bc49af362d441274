"""The destination, found where and as dbt finds it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from warehouses.spark_catalog import ICEBERG_SETTINGS

from synctrail.dbt_target import read_target
from synctrail.errors import UsageError
from synctrail.warehouses.choose import open_warehouse

PROFILES = """
shop:
  target: dev
  outputs:
    dev:
      type: duckdb
      path: "{{ env_var('SHOP_PATH', 'shop.duckdb') }}"
      threads: "{{ env_var('SHOP_THREADS', '4') | as_number }}"
    lake: {type: spark, method: session, server_side_parameters: {spark.sql.warehouse.dir: w, spark.x: 1}}
    thrift: {type: spark, method: thrift}
    memory: {type: duckdb}
    cloud: {type: duckdb, path: "md:shop"}
    server: {type: postgres, host: db, port: 5432, user: ann, pass: hidden, dbname: shop, schema: x,
      search_path: "a, b", keepalives_idle: 0, sslmode: require, role: loader}
    nobody: {type: postgres, host: db, port: 5432, user: ann, password: "", database: shop, schema: x}
    old: {type: sybase}
    secret: {type: duckdb, path: "{{ env_var('SHOP_NOT_SET') }}"}
other: {outputs: {default: {type: duckdb, path: other.duckdb}}}
"""
PROJECT = "name: mine\nprofile: shop\n"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Work in an empty folder, in a home that is empty too."""
    for name in ("DBT_PROFILES_DIR", "SHOP_PATH", "SHOP_THREADS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def project(tmp_path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "dbt_project.yml").write_text(PROJECT)
    (folder / "profiles.yml").write_text(PROFILES)
    return folder


def test_the_projects_profile_and_its_target(project):
    target = read_target(project_dir=project)
    assert (target.profile, target.name, target.adapter) == ("shop", "dev", "duckdb")
    assert target.settings == {"type": "duckdb", "path": "shop.duckdb", "threads": 4}
    assert target.schema == "census_lake"


def test_profile_and_target_by_name(project):
    assert read_target(project_dir=project, target="lake").adapter == "spark"
    assert read_target(project_dir=project, profile="other").settings["path"] == "other.duckdb"


def test_environment_variables(project, monkeypatch):
    monkeypatch.setenv("SHOP_PATH", "007")
    monkeypatch.setenv("SHOP_THREADS", "8")
    settings = read_target(project_dir=project).settings
    assert (settings["path"], settings["threads"]) == ("007", 8)


@pytest.mark.parametrize(
    ("variables", "schema"),
    [
        ("", "census_lake"),
        ("vars: {synctrail_census_lake_schema: raw}", "raw"),
        ("vars: {synctrail: {synctrail_census_lake_schema: raw}}", "raw"),
        ("vars: {mine: {synctrail_census_lake_schema: own}, synctrail_census_lake_schema: raw}", "own"),
        ("vars: {other: {synctrail_census_lake_schema: raw}}", "census_lake"),
        ("vars: {synctrail_census_lake_schema: [raw]}", "raw"),
    ],
)
def test_the_schema_is_the_projects_variable(project, variables, schema):
    (project / "dbt_project.yml").write_text(PROJECT + variables)
    assert read_target(project_dir=project).schema == schema
    assert read_target(project_dir=project, schema="given").schema == "given"


def test_of_several_schemas_a_load_wants_one_named(project):
    (project / "dbt_project.yml").write_text(PROJECT + "vars: {synctrail_census_lake_schema: [eu, us]}")
    with pytest.raises(UsageError, match=r"lists eu, us, and a load goes to one.*--schema"):
        read_target(project_dir=project)
    assert read_target(project_dir=project, schema="us").schema == "us"


def test_of_several_databases_a_load_wants_one_named(project):
    (project / "dbt_project.yml").write_text(PROJECT + "vars: {synctrail_census_lake_database: [eu, us]}")
    with pytest.raises(UsageError, match=r"_database .* lists eu, us, .*; give --project-dir "):
        read_target(project_dir=project)


def test_where_profiles_are_looked_for(project, tmp_path, monkeypatch):
    """The option, the variable, the project, the working directory, the home: the first that has it."""

    def named(folder: Path, name: str) -> Path:
        folder.mkdir(exist_ok=True, parents=True)
        text = f"shop: {{target: {name}, outputs: {{{name}: {{type: duckdb, path: x}}}}}}"
        (folder / "profiles.yml").write_text(text)
        return folder

    def found(**options: Path) -> str:
        return read_target(project_dir=project, **options).name

    named(tmp_path / "home" / ".dbt", "home")
    (project / "profiles.yml").unlink()
    assert found() == "home"
    named(tmp_path / "here", "here")
    assert found() == "here"
    named(project, "project")
    assert found() == "project"
    monkeypatch.setenv("DBT_PROFILES_DIR", str(named(tmp_path / "variable", "variable")))
    assert found() == "variable"
    assert found(profiles_dir=named(tmp_path / "option", "option")) == "option"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"profile": "nobody"}, r"no profile named 'nobody' in .*profiles.yml; there is: shop, other"),
        ({"target": "prod"}, r"no target of profile shop named 'prod' .*there is: dev, lake"),
        ({"target": "secret"}, "SHOP_NOT_SET is not set"),
        ({"profiles_dir": Path("nowhere")}, "no profiles.yml in nowhere; give --profiles-dir"),
    ],
)
def test_what_is_not_there_is_told(project, options, told):
    with pytest.raises(UsageError, match=told):
        read_target(project_dir=project, **options)


def test_a_folder_that_is_no_project(project, tmp_path):
    with pytest.raises(UsageError, match=r"no profile named.*--profile, or --project-dir"):
        read_target(project_dir=tmp_path, profiles_dir=project)


@pytest.mark.parametrize("text", ["shop: [", "- a list", ""])
def test_a_broken_file_is_told_in_one_line(project, text):
    (project / "profiles.yml").write_text(text)
    with pytest.raises(UsageError) as error:
        read_target(project_dir=project)
    assert "profiles.yml" in str(error.value)
    assert "\n" not in str(error.value)


def test_supported_targets(project):
    assert open_warehouse(read_target(project_dir=project)).name == "DuckDB shop.duckdb, schema census_lake"
    spark = open_warehouse(read_target(project_dir=project, target="lake", schema="raw"))
    assert spark.name == "the Spark catalog, schema raw"
    assert spark.spark_config() == {"spark.sql.warehouse.dir": "w", "spark.x": "1"}


def test_a_postgres_target_is_read_as_dbt_reads_it(project):
    warehouse = open_warehouse(read_target(project_dir=project, target="server"))
    assert warehouse.name == "Postgres db:5432/shop, schema census_lake"
    assert (warehouse._settings, warehouse._role) == (
        {
            "host": "db",
            "port": 5432,
            "user": "ann",
            "password": "hidden",
            "dbname": "shop",
            "connect_timeout": 10,
            "sslmode": "require",
            "options": "-c search_path=a,\\ b",
        },
        "loader",
    )


@pytest.mark.parametrize(("target", "package"), [("dev", "duckdb"), ("server", "psycopg")])
def test_a_missing_driver_is_told(project, monkeypatch, target, package):
    found = read_target(project_dir=project, target=target)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"synctrail.warehouses.{found.adapter}", raising=False)
    told = rf"the package {package} is missing; run: pip install 'synctrail\[{found.adapter}\]'"
    with pytest.raises(UsageError, match=told):
        open_warehouse(found)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("old", "type sybase.*not support yet.* duckdb or postgres or redshift or snowflake or spark"),
        ("nobody", "target 'nobody' has no password; set it in profiles.yml"),
        ("thrift", "method thrift.*not support yet.*method: session"),
        ("memory", "in memory.*set path in profiles.yml"),
        ("cloud", "path md:shop.*not support yet.*database file"),
    ],
)
def test_targets_that_are_not_supported(project, target, told):
    with pytest.raises(UsageError, match=told):
        open_warehouse(read_target(project_dir=project, target=target))


def test_the_documented_settings_for_iceberg_are_those_of_the_tests(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "warehouses.md").read_text()
    block = re.search("## Iceberg.*?```yaml\n(# profiles.yml\n.*?)```", page, re.DOTALL)
    (tmp_path / "profiles.yml").write_text(block[1])
    target = read_target(project_dir=tmp_path, profiles_dir=tmp_path, profile="shop")
    settings = open_warehouse(target).spark_config()
    assert "iceberg-spark-runtime" in settings.pop("spark.jars")
    assert settings == ICEBERG_SETTINGS
