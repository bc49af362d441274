"""The loader's commands, as users run them, with a stand-in for Redshift behind the connector."""

from __future__ import annotations

from synctrail.cli import main
from warehouses.redshift_connection import behave_as_redshift

behave_as_redshift()
main()
