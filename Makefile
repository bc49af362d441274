# Everything happens in this checkout: environments in .venv and .cache, nothing elsewhere.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first that runs and is new enough: a name on the PATH can be a shim for a version that is not there.
BASE_PYTHON ?= $(shell for name in python3 python3.11 python3.12 python3.13; do \
  $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
WAREHOUSE ?= duckdb
UV_VERSION := 0.13.8

BIN := .venv/bin
PYTHON := $(BIN)/python
BIGQUERY_PYTEST = PYTHONPATH=ingest/src PYSPARK_PYTHON=$(CURDIR)/.cache/bigquery/bin/python \
  .cache/bigquery/bin/python -m pytest -p no:bqemulator
WAREHOUSES_PYTEST = PYTHONPATH=ingest/src PYSPARK_PYTHON=$(CURDIR)/.cache/warehouses/bin/python \
  .cache/warehouses/bin/python -m pytest
FETCH_JARS = $(PYTHON) -m synctrail.jars
THRIFT_PYTEST = PYTHONPATH=ingest/src .cache/thrift/bin/python -m pytest
JAVA = $(shell $(PYTHON) -m synctrail.java 2>/dev/null)
export JAVA_HOME = $(JAVA)
export PYSPARK_PYTHON := $(CURDIR)/$(PYTHON)
export DBT_SEND_ANONYMOUS_USAGE_STATS := false
# What every warehouse is held to.
EVERYWHERE := integration_tests/tests/test_history.py integration_tests/tests/test_one_build.py \
  -m "every_warehouse and not slow"
# The whole way from a lake to the models, and damage that the shipped tests must notice.
LOADS := integration_tests/tests/test_loads.py
DAMAGE := integration_tests/tests/test_shipped_tests.py
# What the other sources hold once vendors prune their tables, add columns and leave some out.
SOURCES := integration_tests/tests/test_census_writeback.py integration_tests/tests/test_hightouch.py \
  integration_tests/tests/test_rudderstack.py
# Where the tests of the package leave what they ran on each warehouse.
TALLY := .cache/tally
export SYNCTRAIL_TEST_TALLY := $(CURDIR)/$(TALLY)
# Where the environment says that Python shall not keep what it compiles, each start of dbt takes seconds more.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode
export UV_CACHE_DIR := $(CURDIR)/.cache/uv
export UV_LINK_MODE := copy
export TMPDIR := $(CURDIR)/.cache/tmp
export SPARK_SUBMIT_OPTS := -Djava.io.tmpdir=$(TMPDIR)

.PHONY: help
help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 24

.PHONY: demo
demo: .cache/demo.ready  ## Sample lake, load, dbt build, findings (WAREHOUSE=duckdb or spark)
	$(PYTHON) demo/demo.py --warehouse $(WAREHOUSE)

.PHONY: test
test: lint-beside-demo test-ingest test-package  ## Everything that must pass: lint, the demo, the loader, the package

# Neither of them needs two cores.
.PHONY: lint-beside-demo
lint-beside-demo:
	$(MAKE) --jobs=2 --output-sync=target lint test-demo

.PHONY: lint
lint: .cache/dev.ready .cache/bouncer.ready  ## ruff, mypy, sqlfluff, dbt's deprecations, dbt-bouncer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=ingest/src:benchmarks:integration_tests $(BIN)/mypy ingest/src benchmarks demo integration_tests/*.py integration_tests/{vendor_examples,warehouses} integration_tests/tests/*.py
	$(PYTHON) integration_tests/lint_package.py
	.cache/bouncer/bin/dbt-bouncer --config-file dbt-bouncer.yml

.PHONY: test-ingest
test-ingest: .cache/dev.ready  ## The loader's tests
	$(PYTHON) -m pytest -n 2 --dist worksteal ingest/tests

# As for test-warehouses.
.PHONY: test-ingest-warehouses
test-ingest-warehouses:  ## The loader's tests into Iceberg, and into stand-ins for Snowflake, Redshift and BigQuery
	$(MAKE) --jobs=2 --output-sync=target test-ingest-stand-ins test-ingest-bigquery test-ingest-iceberg

.PHONY: test-ingest-stand-ins
test-ingest-stand-ins: .cache/dev.ready .cache/warehouses.ready
	$(WAREHOUSES_PYTEST) ingest/tests -k "snowflake or redshift" --ignore ingest/tests/test_object_store.py

.PHONY: test-ingest-bigquery
test-ingest-bigquery: .cache/dev.ready .cache/bigquery.ready
	$(BIGQUERY_PYTEST) ingest/tests -k bigquery --ignore ingest/tests/test_object_store.py

# Delta's session cannot have Iceberg beside it.
.PHONY: test-ingest-iceberg
test-ingest-iceberg: .cache/dev.ready
	$(FETCH_JARS) .cache/iceberg-jars iceberg >/dev/null
	$(PYTHON) -m pytest ingest/tests --iceberg

.PHONY: test-slow
test-slow: .cache/dev.ready .cache/deps.ready .cache/warehouses.ready .cache/bigquery.ready .cache/thrift.ready test-orchestration  ## Long tests: damaged files by the thousand, kills at random, full disks, a cluster, 20 million rows, the whole way on every warehouse, the examples
	$(PYTHON) -m pytest -n 2 --dist worksteal ingest/tests -m slow
	$(FETCH_JARS) .cache/iceberg-jars iceberg >/dev/null
	$(FETCH_JARS) .cache/thrift-jars thrift >/dev/null
	$(PYTHON) -m pytest -n 2 --dist worksteal ingest/tests --iceberg -m slow
	$(WAREHOUSES_PYTEST) ingest/tests/test_snowflake.py ingest/tests/test_redshift.py -m slow
	$(BIGQUERY_PYTEST) ingest/tests/test_bigquery.py -m slow
	$(PYTHON) -m pytest -n 2 integration_tests/tests -m slow
	$(PYTHON) -m pytest $(LOADS) $(DAMAGE) $(SOURCES) --warehouse postgres
	$(PYTHON) -m pytest $(LOADS) --warehouse spark
	$(PYTHON) -m pytest $(LOADS) --warehouse spark_parquet
	$(PYTHON) -m pytest $(LOADS) --warehouse spark_iceberg
	$(PYTHON) -m pytest $(EVERYWHERE) --warehouse spark_iceberg
	$(THRIFT_PYTEST) $(EVERYWHERE) --warehouse spark_thrift
	$(WAREHOUSES_PYTEST) -n 2 $(LOADS) $(DAMAGE) $(SOURCES) --warehouse snowflake --warehouse redshift
	$(BIGQUERY_PYTEST) $(LOADS) --warehouse bigquery

.PHONY: test-orchestration
test-orchestration: .cache/orchestration.ready .cache/demo.ready  ## The examples for Airflow and Dagster, from a sample lake into DuckDB
	SYNCTRAIL_BIN=$(CURDIR)/$(BIN) .cache/orchestration/bin/python -m pytest docs/examples/tests

.PHONY: test-package
test-package: .cache/dev.ready .cache/deps.ready  ## The dbt package on DuckDB; on Spark with Delta and on Postgres what engines may tell differently
	rm -f $(TALLY)/{duckdb,postgres,spark}-*
	$(PYTHON) -m pytest -n 2 integration_tests/tests --warehouse spark --warehouse duckdb --warehouse postgres

# Each of them needs a core, the longest first.
.PHONY: test-warehouses
test-warehouses: test-package  ## The package on every warehouse, with a table of what was run
	$(MAKE) --jobs=2 --output-sync=target test-bigquery test-databricks test-thrift test-stand-ins test-parquet \
	  test-oldest-dbt check-compiled
	$(PYTHON) integration_tests/show_tally.py $(TALLY)

.PHONY: test-databricks
test-databricks: .cache/databricks.ready .cache/deps.ready  ## The latter with the adapter of Databricks before a local Spark with Delta
	rm -f $(TALLY)/databricks-*
	PYTHONPATH=ingest/src PYSPARK_PYTHON=$(CURDIR)/.cache/databricks/bin/python .cache/databricks/bin/python -m pytest \
	  $(EVERYWHERE) --warehouse databricks

.PHONY: test-bigquery
test-bigquery: .cache/bigquery.ready .cache/deps.ready  ## The same on an emulator of BigQuery
	rm -f $(TALLY)/bigquery-*
	$(BIGQUERY_PYTEST) $(EVERYWHERE) --warehouse bigquery

.PHONY: test-thrift
test-thrift: .cache/thrift.ready .cache/deps.ready  ## The same through Spark's Thrift server with Iceberg, as dbt-spark's method thrift reaches it
	rm -f $(TALLY)/spark_thrift*
	$(FETCH_JARS) .cache/iceberg-jars iceberg >/dev/null
	$(FETCH_JARS) .cache/thrift-jars thrift >/dev/null
	$(THRIFT_PYTEST) $(EVERYWHERE) --warehouse spark_thrift_iceberg

.PHONY: test-stand-ins
test-stand-ins: .cache/warehouses.ready .cache/deps.ready  ## The same on stand-ins for Snowflake (fakesnow) and Redshift (Postgres with look-alikes)
	rm -f $(TALLY)/{snowflake,redshift}-*
	$(WAREHOUSES_PYTEST) $(EVERYWHERE) --warehouse snowflake --warehouse redshift

.PHONY: test-parquet
test-parquet: .cache/dev.ready .cache/deps.ready  ## The same on Spark with plain Parquet
	rm -f $(TALLY)/spark_parquet-*
	$(PYTHON) -m pytest $(EVERYWHERE) --warehouse spark_parquet

.PHONY: test-oldest-dbt
test-oldest-dbt: .cache/oldest_dbt.ready .cache/deps.ready  ## The package on DuckDB with the oldest dbt that it supports
	SYNCTRAIL_TEST_TALLY= PYTHONPATH=ingest/src .cache/oldest_dbt/bin/python -m pytest $(EVERYWHERE) --warehouse duckdb

.PHONY: check-compiled
check-compiled: .cache/bigquery.ready .cache/databricks.ready .cache/warehouses.ready  ## What the package compiles to, against what the warehouses document
	.cache/bigquery/bin/python integration_tests/check_compiled_sql.py bigquery
	.cache/databricks/bin/python integration_tests/check_compiled_sql.py databricks
	.cache/warehouses/bin/python integration_tests/check_compiled_sql.py redshift
	.cache/warehouses/bin/python integration_tests/check_compiled_sql.py snowflake

.PHONY: test-demo
test-demo: .cache/demo.ready  ## The demo on both warehouses
	$(PYTHON) demo/demo.py --warehouse duckdb
	$(PYTHON) demo/excerpts.py --check
	$(PYTHON) demo/demo.py --warehouse spark

.PHONY: excerpts
excerpts: .cache/demo.ready  ## Bring the README's excerpts of the marts up to date
	$(PYTHON) demo/demo.py --warehouse duckdb
	$(PYTHON) demo/excerpts.py

.PHONY: bench
bench: .cache/dev.ready  ## Print the figures of every benchmark
	$(PYTHON) benchmarks/ingest.py
	$(PYTHON) benchmarks/ingest.py --only commits --iceberg
	$(PYTHON) benchmarks/models.py --warehouse duckdb
	$(PYTHON) benchmarks/models.py --warehouse spark
	$(PYTHON) benchmarks/error_rules.py

.PHONY: lock
lock: .cache/uv.ready  ## Pin the newest fitting versions of the development dependencies
	for name in demo dev bouncer java warehouses bigquery databricks oldest_dbt thrift orchestration; do \
	  $(BIN)/uv pip compile --quiet --upgrade --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header --no-annotate requirements/$$name.in --output-file requirements/$$name.txt; \
	done

.PHONY: clean
clean:  ## Remove all that set-up, tests and the demo made
	rm -rf .venv .cache {demo,integration_tests}/{target,dbt_packages,logs,package-lock.yml} target logs

# Set-up, each step once.

.cache/uv.ready:
	@[ -n "$(BASE_PYTHON)" ] || { \
	  echo "Python 3.11 or later is needed; none is on the PATH. Name one with BASE_PYTHON=..." >&2; exit 1; }
	mkdir -p .cache $(TMPDIR)
	$(BASE_PYTHON) -m venv .venv
	$(PYTHON) -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	touch $@

.cache/demo.ready: .cache/uv.ready requirements/demo.txt requirements/java.txt ingest/pyproject.toml
	$(BIN)/uv pip install --quiet --python $(PYTHON) --require-hashes -r requirements/demo.txt
	$(BIN)/uv pip install --quiet --python $(PYTHON) --no-deps --no-build-isolation --editable ingest
	$(PYTHON) -m synctrail.java >/dev/null 2>&1 \
	  || $(BIN)/uv pip install --quiet --python $(PYTHON) --require-hashes -r requirements/java.txt
	$(PYTHON) -m synctrail.java >/dev/null
	JAVA_HOME=$$($(PYTHON) -m synctrail.java) $(FETCH_JARS) .cache/jars >/dev/null
	touch $@

.cache/dev.ready: .cache/demo.ready requirements/dev.txt
	$(BIN)/uv pip install --quiet --python $(PYTHON) --require-hashes -r requirements/dev.txt
	JAVA_HOME=$$($(PYTHON) -m synctrail.java) $(FETCH_JARS) .cache/s3-jars s3 >/dev/null
	touch $@

.cache/deps.ready: .cache/demo.ready integration_tests/packages.yml
	SYNCTRAIL_TEST_DIR=.cache $(BIN)/dbt --quiet deps \
	  --project-dir integration_tests --profiles-dir integration_tests --log-path .cache/logs
	touch $@

# Environments of their own: what is in them does not go together with the rest.
.cache/bouncer.ready .cache/warehouses.ready .cache/bigquery.ready .cache/databricks.ready .cache/oldest_dbt.ready \
.cache/thrift.ready .cache/orchestration.ready: \
.cache/%.ready: .cache/uv.ready requirements/%.txt
	$(BASE_PYTHON) -m venv .cache/$*
	$(BIN)/uv pip install --quiet --python .cache/$*/bin/python --require-hashes -r requirements/$*.txt
	touch $@
