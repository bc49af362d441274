"""A target of dbt-snowflake, as Snowflake's connector wants its settings.

Sources: https://docs.getdbt.com/docs/core/connect-data-platform/snowflake-setup and
https://docs.snowflake.com/en/developer-guide/python-connector/python-connector-api#functions
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization

from synctrail.errors import UsageError

_SAME = ("user", "password", "warehouse", "role", "host", "port", "proxy_host", "proxy_port", "protocol")
_TOKEN_AUTHENTICATORS = ("oauth", "jwt", "programmatic_access_token", "workload_identity")
_PARAMETERS = {"query_tag": "QUERY_TAG", "s3_stage_vpce_dns_name": "S3_STAGE_VPCE_DNS_NAME"}
_LOGIN_SECONDS = 60


def connector_settings(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what :func:`snowflake.connector.connect` takes, from the settings of a target.

    Args:
        name: the target's name, for messages.
        settings: of the target, as dbt-snowflake names them.

    Raises:
        UsageError: a setting is missing, is not supported, or cannot be read; no message has a secret.

    """
    given = {key: value for key, value in settings.items() if value not in {None, ""}}
    authenticator = str(given.get("authenticator", "snowflake")).lower()
    _check(name, given, authenticator)
    found = {key: given[key] for key in _SAME if key in given}
    # As dbt does: an underscore is in the names of accounts, and cannot be in those of hosts.
    found["account"] = str(given["account"]).replace("_", "-")
    found["login_timeout"] = int(given.get("connect_timeout", _LOGIN_SECONDS))
    found["client_session_keep_alive"] = bool(given.get("client_session_keep_alive"))
    if given.get("insecure_mode"):
        found["disable_ocsp_checks"] = True
    if "authenticator" in given:
        # To dbt, a token of OAuth that is used as it is.
        found["authenticator"] = "oauth" if authenticator == "jwt" else given["authenticator"]
        found["client_store_temporary_credential"] = True
        found["client_request_mfa_token"] = True
    if authenticator in _TOKEN_AUTHENTICATORS:
        found |= {key: given[key] for key in ("token", "workload_identity_provider") if key in given}
        if "workload_identity_entra_resource" in given:
            found["workload_identity_entra_resource"] = given["workload_identity_entra_resource"]
    if "private_key" in given or "private_key_path" in given:
        found["private_key"] = _private_key(name, given)
    found["session_parameters"] = {
        parameter: given[key] for key, parameter in _PARAMETERS.items() if key in given
    }
    return found


def _check(name: str, given: Mapping[str, Any], authenticator: str) -> None:
    required = ["account", "database"]
    if authenticator not in _TOKEN_AUTHENTICATORS:
        required.append("user")
    has_key = "private_key" in given or "private_key_path" in given
    if authenticator in {"snowflake", "username_password_mfa"} and not has_key:
        required.append("password")
    if authenticator in {"oauth", "jwt", "programmatic_access_token"}:
        required.append("token")
    for setting in required:
        if setting not in given:
            others = ", or private_key_path, or another authenticator" if setting == "password" else ""
            raise UsageError(f"target '{name}' has no {setting}; set it in profiles.yml{others}")
    if "oauth_client_id" in given or "oauth_client_secret" in given:
        raise UsageError(
            f"target '{name}' has oauth_client_id, with which synctrail load does not support OAuth yet; use"
            " a key pair (private_key_path), a programmatic access token, or an access token as token"
        )


def _private_key(name: str, given: Mapping[str, Any]) -> bytes:
    """Return the key, out of a file or the text itself, PEM or base64 of DER, as the connector wants it."""
    passphrase = given.get("private_key_passphrase")
    password = str(passphrase).encode() if passphrase else None
    try:
        if "private_key_path" in given:
            content = Path(str(given["private_key_path"])).expanduser().read_bytes()
        else:
            content = str(given["private_key"]).strip().encode()
        if content.startswith(b"-"):
            key = serialization.load_pem_private_key(content, password)
        else:
            key = serialization.load_der_private_key(base64.b64decode(content), password)
        return key.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    except OSError as error:
        raise UsageError(
            f"target '{name}': {error.filename} cannot be read: {error.strerror}; correct private_key_path in"
            " profiles.yml"
        ) from error
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"target '{name}': its private key cannot be read; give one in PEM (PKCS #8), and its"
            " private_key_passphrase if it is encrypted, in profiles.yml"
        ) from error
