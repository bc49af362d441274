"""A target of dbt-bigquery, as BigQuery's client wants its settings.

Sources: https://docs.getdbt.com/docs/core/connect-data-platform/bigquery-setup and
https://cloud.google.com/python/docs/reference/bigquery/latest/google.cloud.bigquery.client.Client
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import google.auth
from google.api_core.client_info import ClientInfo
from google.api_core.client_options import ClientOptions
from google.auth import impersonated_credentials
from google.auth.exceptions import GoogleAuthError
from google.oauth2 import credentials as user_credentials
from google.oauth2 import service_account

from synctrail import __version__
from synctrail.errors import UsageError

# As dbt-bigquery has them.
_ALIASES = {"project": "database", "timeout_seconds": "job_execution_timeout_seconds"}
_SCOPES = ("https://www.googleapis.com/auth/bigquery", "https://www.googleapis.com/auth/cloud-platform")
_METHODS = ("oauth", "oauth-secrets", "service-account", "service-account-json")
_REFRESHED = ("refresh_token", "client_id", "client_secret", "token_uri")


@dataclass(frozen=True)
class Connection:
    """What a target says of how to connect.

    Args:
        project: the project of the staging tables.
        client: what :class:`google.cloud.bigquery.Client` takes. Without credentials, it finds the
            application default ones itself.
        jobs: what :class:`google.cloud.bigquery.QueryJobConfig` takes.

    """

    project: str
    client: dict[str, Any] = field(repr=False)
    jobs: dict[str, Any]


def connection_of(name: str, settings: Mapping[str, Any], project: str | None = None) -> Connection:
    """Return how to connect, from the settings of a target.

    Args:
        name: the target's name, for messages.
        settings: of the target, as dbt-bigquery names them.
        project: the project of the staging tables, if not the target's own, in which the jobs run.

    Raises:
        UsageError: a setting is missing, is not supported, or cannot be read; no message has a secret.

    """
    given = {_ALIASES.get(key, key): value for key, value in settings.items() if value or value == 0}
    client: dict[str, Any] = {
        "client_info": ClientInfo(user_agent=f"synctrail/{__version__}"),
        "client_options": ClientOptions(
            api_endpoint=given.get("api_endpoint"), quota_project_id=given.get("quota_project")
        ),
    }
    credentials, own_project = _credentials(name, given), given.get("database")
    if own_project is None and given["method"] == "oauth":
        own_project = _default(name, _SCOPES)[1]
    if own_project is None:
        raise UsageError(f"target '{name}' has no project; set it in profiles.yml")
    if credentials is not None:
        client["credentials"] = credentials
    client["project"] = str(given.get("execution_project") or own_project)
    if "location" in given:
        client["location"] = str(given["location"])
    jobs: dict[str, Any] = {}
    if "maximum_bytes_billed" in given:
        jobs["maximum_bytes_billed"] = int(given["maximum_bytes_billed"])
    if "job_execution_timeout_seconds" in given:
        jobs["job_timeout_ms"] = int(float(given["job_execution_timeout_seconds"]) * 1000)
    return Connection(str(project or own_project), client, jobs)


def _credentials(name: str, given: Mapping[str, Any]) -> Any:
    """Return the credentials of a target; none for the application default ones."""
    method = given.get("method")
    if method not in _METHODS:
        what = f"method {method}, which synctrail load does not support yet" if method else "no method"
        raise UsageError(
            f"target '{name}' has {what}; set it to one of {', '.join(_METHODS)} in profiles.yml"
        )
    scopes = list(given.get("scopes") or _SCOPES)
    found = None
    if method == "service-account":
        found = _of_service_account(name, _keyfile(name, given), "keyfile", scopes)
    elif method == "service-account-json":
        found = _of_service_account(name, _keyfile_json(name, given), "keyfile_json", scopes)
    elif method == "oauth-secrets":
        found = _of_secrets(name, given, scopes)
    impersonated = given.get("impersonate_service_account")
    if not impersonated:
        return found
    return impersonated_credentials.Credentials(
        source_credentials=found or _default(name, scopes)[0],
        target_principal=str(impersonated),
        target_scopes=scopes,
    )


def _default(name: str, scopes: Sequence[str]) -> tuple[Any, str | None]:
    """Return the application default credentials, and their project."""
    try:
        credentials, project = google.auth.default(scopes=scopes)
    except GoogleAuthError as error:
        raise UsageError(
            f"target '{name}': there are no application default credentials; run: gcloud auth"
            " application-default login"
        ) from error
    return credentials, project


def _of_secrets(name: str, given: Mapping[str, Any], scopes: list[str]) -> Any:
    missing = [setting for setting in _REFRESHED if setting not in given]
    if "token" not in given and missing:
        raise UsageError(
            f"target '{name}' has neither token nor {missing[0]}; set a token, or {', '.join(_REFRESHED)}, in"
            " profiles.yml"
        )
    refreshed = {setting: given[setting] for setting in _REFRESHED if setting in given}
    return user_credentials.Credentials(given.get("token"), scopes=scopes, **refreshed)


def _of_service_account(name: str, key: Any, setting: str, scopes: list[str]) -> Any:
    try:
        return service_account.Credentials.from_service_account_info(key, scopes=scopes)
    except (GoogleAuthError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"target '{name}': its {setting} is no key of a service account; give the JSON that Google Cloud"
            " made for it, in profiles.yml"
        ) from error


def _keyfile(name: str, given: Mapping[str, Any]) -> Any:
    if "keyfile" not in given:
        raise UsageError(f"target '{name}' has no keyfile; set it in profiles.yml, or another method")
    try:
        return json.loads(Path(str(given["keyfile"])).expanduser().read_bytes())
    except OSError as error:
        raise UsageError(
            f"target '{name}': {error.filename} cannot be read: {error.strerror}; correct keyfile in"
            " profiles.yml"
        ) from error
    except ValueError:
        return None


def _keyfile_json(name: str, given: Mapping[str, Any]) -> Any:
    """Return the key as it stands in the profile: a mapping, or JSON or base64 of it."""
    if "keyfile_json" not in given:
        raise UsageError(f"target '{name}' has no keyfile_json; set it in profiles.yml, or another method")
    key = given["keyfile_json"]
    try:
        if isinstance(key, str):
            text = key if key.lstrip().startswith("{") else base64.b64decode(key)
            key = json.loads(text)
        # In YAML without quotes, and in variables of the environment, the lines' ends may be escaped.
        return {**key, "private_key": key["private_key"].replace("\\n", "\n")}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
