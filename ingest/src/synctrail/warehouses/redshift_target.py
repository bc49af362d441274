"""A target of dbt-redshift, as Amazon's connector wants its settings.

Sources: https://docs.getdbt.com/docs/core/connect-data-platform/redshift-setup and
https://docs.aws.amazon.com/redshift/latest/mgmt/python-configuration-options.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from synctrail.errors import UsageError

# As dbt-redshift has them.
_ALIASES = {"dbname": "database", "pass": "password"}
# Each method with what it cannot do without.
_LOGINS: dict[str, tuple[str, ...]] = {"database": ("user", "password"), "iam": ("user",), "iam_role": ()}
_PORT = 5439
# To dbt, every mode but the strictest one is that with a certificate whose host is not looked at.
_SSL_MODES = {
    **dict.fromkeys(("allow", "prefer", "require", "verify-ca"), "verify-ca"),
    "verify-full": "verify-full",
}
_KEEPALIVE = ("tcp_keepalive_idle", "tcp_keepalive_interval", "tcp_keepalive_count")


@dataclass(frozen=True)
class Connection:
    """What a target says of how to connect.

    Args:
        connect: what :func:`redshift_connector.connect` takes.
        role: the role to act as, as ``set role`` takes it; else the user's own.
        query_group: by which the cluster tells queries apart.

    """

    connect: dict[str, Any] = field(repr=False)
    role: str | None = None
    query_group: str | None = None

    @property
    def place(self) -> str:
        """The server and the database."""
        return "{host}:{port}/{database}".format_map(self.connect)

    @property
    def user(self) -> str:
        """Who needs the rights."""
        return str(self.role or self.connect.get("db_user") or self.connect.get("user") or "the user")


def connection_of(name: str, settings: Mapping[str, Any], database: str | None = None) -> Connection:
    """Return how to connect, from the settings of a target.

    Args:
        name: the target's name, for messages.
        settings: of the target, as dbt-redshift names them.
        database: the database of the staging tables, if not the target's own.

    Raises:
        UsageError: a setting is missing, or is not supported; no message has a secret.

    """
    given = {
        _ALIASES.get(key, key): value for key, value in settings.items() if value is not None and value != ""
    }
    method = str(given.get("method", "database"))
    if method not in _LOGINS:
        raise UsageError(
            f"target '{name}' has method {method}, which synctrail load does not support yet; set it to one"
            f" of {', '.join(_LOGINS)} in profiles.yml"
        )
    for setting in ("host", "database", *_LOGINS[method]):
        if setting not in given:
            raise UsageError(f"target '{name}' has no {setting}; set it in profiles.yml")
    connect = {
        "host": str(given["host"]),
        "port": int(given.get("port", _PORT)),
        "database": database or str(given["database"]),
        "region": given.get("region"),
        "timeout": given.get("connect_timeout"),
        "is_serverless": _is_serverless(given),
        "application_name": "synctrail",
        **_ssl(name, given),
        **_keepalive(given),
        **(_with_password(given) if method == "database" else _with_iam(name, given, method)),
    }
    return Connection(connect, given.get("role"), given.get("query_group"))


def _with_password(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"user": str(given["user"]), "password": str(given["password"])}


def _with_iam(name: str, given: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Return the settings of a login by AWS's own credentials, which last for minutes."""
    found: dict[str, Any] = {
        "iam": True,
        "user": "",
        "password": "",
        "auto_create": bool(given.get("autocreate")),
        "db_groups": list(given.get("db_groups", [])),
    }
    if _is_serverless(given):
        found |= {key: given.get(key) for key in ("serverless_work_group", "serverless_acct_id")}
    elif "cluster_id" in given:
        found["cluster_identifier"] = str(given["cluster_id"])
    else:
        raise UsageError(
            f"target '{name}' has method {method} and no cluster_id; set it in profiles.yml, or is_serverless"
        )
    if method == "iam_role":
        found |= {"db_user": None, "group_federation": not _is_serverless(given)}
    else:
        found["db_user"] = str(given["user"])
    keys = [key for key in ("access_key_id", "secret_access_key") if key in given and method == "iam"]
    if len(keys) == 1:
        raise UsageError(f"target '{name}' has {keys[0]} alone; set access_key_id and secret_access_key both")
    if keys:
        found |= {key: str(given[key]) for key in keys}
    elif "iam_profile" in given:
        found["profile"] = str(given["iam_profile"])
    return found


def _is_serverless(given: Mapping[str, Any]) -> bool:
    return bool(given.get("is_serverless")) or "serverless" in str(given["host"])


def _ssl(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    mode = str(given.get("sslmode", "prefer"))
    if mode == "disable":
        return {"ssl": False, "sslmode": None}
    if mode not in _SSL_MODES:
        known = ", ".join(("disable", *_SSL_MODES))
        raise UsageError(
            f"target '{name}' has sslmode {mode}, which is none; set it to one of {known} in profiles.yml"
        )
    return {"ssl": True, "sslmode": _SSL_MODES[mode]}


def _keepalive(given: Mapping[str, Any]) -> dict[str, Any]:
    if not given.get("tcp_keepalive", True):
        return {}
    return {"tcp_keepalive": True, **{key: int(given[key]) for key in _KEEPALIVE if key in given}}
