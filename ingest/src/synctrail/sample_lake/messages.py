"""What destinations answer when they refuse a record, in their own wording, with the record's own values."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template


@dataclass(frozen=True)
class Refusals:
    """A destination's messages.

    ``lasting`` ones come back until the record is changed; ``passing`` ones are gone at the next try;
    ``outage`` refuses a whole run.
    """

    lasting: tuple[str, ...]
    passing: tuple[str, ...]
    outage: str


REFUSALS = {
    "Braze": Refusals(
        lasting=(
            "The value provided for the 'email' field is not a valid email: $email",
            "'external_id', 'braze_id', 'user_alias', 'email' or 'phone' is required",
            '{"message":"success","errors":[{"type":"\'phone\' is not '
            'valid","input_array":"attributes","index":$index}]}',
        ),
        passing=('{"message": "Rate limited"}', "Request timed out after 30000 ms"),
        outage='{"message":"Invalid API key"}',
    ),
    "Facebook": Refusals(
        lasting=(
            "Invalid parameter: the hashed value for $email is not a SHA-256 hash",
            '{"error":{"message":"Invalid '
            'parameter","type":"OAuthException","code":100,"fbtrace_id":"$request"}}',
        ),
        passing=(
            "There have been too many calls to this ad-account. Facebook responded with error code: 80003",
            '{"error":{"message":"User request limit reached","type":"OAuthException","code":17,'
            '"fbtrace_id":"$request"}}',
        ),
        outage="Error validating access token: The session has been invalidated. error code: 190",
    ),
    "GoogleSheets": Refusals(
        lasting=(
            "Your input contains more than the maximum of 50000 characters in a single cell.",
            "Invalid data[$index]: Unable to parse range: 'Revenue 2025'!A$index",
        ),
        passing=(
            "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per "
            "minute' of service "
            "'sheets.googleapis.com' for consumer 'project_number:498586711441'.",
        ),
        outage="Google::Apis::RateLimitError: rateLimitExceeded: Insufficient tokens for quota "
        "'WriteGroup' and limit "
        "'USER-100s' of service 'sheets.googleapis.com' for consumer 'project_number:498586711441'.",
    ),
    "GoogleAds": Refusals(
        lasting=(
            "EXPIRED_EVENT: The imported event can't be recorded because its click occurred "
            "before this conversion's "
            "click-through window. Make sure you import the most recent data.",
            "The imported gclid could not be decoded., at conversions[$index].gclid",
            "Duplicate order id '$identifier'., at conversions[$index]",
        ),
        passing=(
            "TRANSIENT_ERROR: Google Ads API encountered an unexpected transient error. The "
            "user should retry their "
            "request in these cases.",
            "DEADLINE_EXCEEDED: The request took longer than a deadline.",
        ),
        outage='{"error":{"code":503,"message":"The service is currently '
        'unavailable.","status":"UNAVAILABLE"}}',
    ),
    "Salesforce": Refusals(
        lasting=(
            "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST:Industry: bad value for restricted picklist field: "
            "$word:Industry --",
            "INVALID_FIELD:Foreign key external ID: $identifier not found for field "
            "Account_Id__c in entity Account",
            "DUPLICATE_VALUE: duplicate value found: Account_Id__c duplicates value on "
            "record with id: $salesforce_id",
            "REQUIRED_FIELD_MISSING: Required fields are missing: [Name]",
            "STRING_TOO_LONG: Billing City: data value too large: $word (max length=40)",
        ),
        passing=(
            "UNABLE_TO_LOCK_ROW: unable to obtain exclusive access to this record or 1 "
            "records: $salesforce_id",
            "SERVER_UNAVAILABLE: server too busy",
        ),
        outage="REQUEST_LIMIT_EXCEEDED: TotalRequests Limit exceeded.",
    ),
    "HubSpot": Refusals(
        lasting=(
            "Email address $email is invalid",
            '{"status":"error","message":"Contact already exists. Existing ID: '
            '$number","correlationId":"$request",'
            '"category":"CONFLICT"}',
            'Property value "$word" was not one of the allowed options: [free, basic, pro, enterprise]',
        ),
        passing=(
            '{"status":"error","message":"You have reached your secondly limit.","errorType":"RATE_LIMIT",'
            '"correlationId":"$request"}',
            "Request failed with status code 502 Bad Gateway",
        ),
        outage='{"status":"error","message":"The OAuth token used to make this call expired 3 hour(s) ago.",'
        '"category":"EXPIRED_AUTHENTICATION"}',
    ),
    "Marketo": Refusals(
        lasting=(
            '{"status":"skipped","reasons":[{"code":"1007","message":"Multiple lead match '
            'lookup criteria"}]}',
            '{"status":"skipped","reasons":[{"code":"1001","message":"Invalid value \'$word\'. '
            "Required of type 'integer'\"}]}",
        ),
        passing=(
            "Max rate limit '100' exceeded with in '20' secs",
            '{"code":"604","message":"Request time-out"}',
        ),
        outage='{"requestId":"$request","success":false,"errors":[{"code":"601",'
        '"message":"Access token invalid"}]}',
    ),
    "Klaviyo": Refusals(
        lasting=(
            '{"errors":[{"id":"$uuid","status":400,"code":"invalid","title":"Invalid '
            'input.","detail":"Invalid email '
            'address","source":{"pointer":"/data/attributes/profiles/data/$index/attributes/email"}}]}',
            "$number is not a valid phone number and cannot be converted to E.164 format.",
        ),
        passing=("Request was throttled. Expected available in 1 second.",),
        outage='{"errors":[{"id":"$uuid","status":401,"code":"not_authenticated","title":"Authentication '
        'credentials were not provided."}]}',
    ),
    "Intercom": Refusals(
        lasting=(
            '{"type":"error.list","request_id":"$request",'
            '"errors":[{"code":"company_not_found","message":"Company '
            'Not Found"}]}',
            "A company matching those details already exists with company_id=$identifier",
        ),
        passing=(
            '{"type":"error.list","request_id":"$request",'
            '"errors":[{"code":"rate_limit_exceeded","message":"The rate '
            'limit for the App has been exceeded"}]}',
        ),
        outage='{"type":"error.list","request_id":"$request","errors":[{"code":"unauthorized",'
        '"message":"Access '
        'Token Invalid"}]}',
    ),
    "Mailchimp": Refusals(
        lasting=(
            "$email looks fake or invalid, please enter a real email address.",
            "$email was permanently deleted and cannot be re-imported. The contact must "
            "re-subscribe to get back "
            "on the list",
            '{"title":"Invalid Resource","status":400,"detail":"Your merge fields were '
            'invalid.","instance":"$uuid",'
            '"errors":[{"field":"LNAME","message":"Please enter a value"}]}',
        ),
        passing=("You have exceeded the limit of 10 simultaneous connections.",),
        outage='{"title":"API Key Invalid","status":401,"detail":"Your API key may be invalid, '
        "or you've attempted to "
        'access the wrong datacenter.","instance":"$uuid"}',
    ),
}

_WORDS = ("n/a", "unknown", "Sonstiges", "twelve", "tbd", "Gewerbe & Handel", "premium+", "São Paulo/SP")


@dataclass(frozen=True)
class Refused:
    """The record that a message is about: ``index`` is its place in the request, ``salt`` differs."""

    identifier: str
    email: str
    number: int
    index: int
    salt: int


def render(message: str, refused: Refused) -> str:
    """Return a message with the record's own values in it."""
    if "$" not in message:
        return message
    salt = f"{refused.salt % 2**64:016x}"
    digits = f"{refused.number % 10**8:08d}"
    return Template(message).substitute(
        identifier=refused.identifier,
        email=refused.email,
        number=1_948_000_000 + refused.number,
        index=refused.index,
        word=_WORDS[refused.number % len(_WORDS)],
        salesforce_id=f"001Dn00000{digits[:5]}{digits[5:]}AAE"[:18],
        request=salt,
        uuid=f"{salt[:8]}-{salt[8:12]}-4{salt[12:15]}-a{salt[1:4]}-{digits}{salt[4:8]}",
    )
