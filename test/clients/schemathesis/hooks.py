"""Replaces Schemathesis's check that every valid request is accepted.

Some valid requests may be refused, for reasons that a schema cannot express.
"""

import re

import schemathesis

WHAT_NO_SCHEMA_SAYS = re.compile(
    "|".join(
        [
            # The reason is in the stored data.
            r"is not in (the )?session",
            r"has nothing to unrevert",
            r"is the session itself",
            r"must be that of the (message|annotation)",
            r"(Draft|Message) .* is (finished|discarded|a draft)",
            r"page_token is not a token",
            # Listing todos succeeds for any session id, so Schemathesis takes such ids for existing sessions and uses
            # them in other requests.
            r"session_id must not contain control characters",
            r"since is after (updated_)?until",
            r"first_token_time is before start_time",
            r"^group_by (names \w+ twice|has \d+ names)",
            r"offset and page_token",
            r"owner and no_owner",
            r"^deleted and \w+ exclude each other",
            # The query and a header name it differently.
            r"a header says otherwise",
            # The reason is in the words of a search.
            r"^(q|title) holds no letter",
            r"^The prefix",
            # `update_mask` names what the message, or the annotation, then lacks.
            r"^message.info.role is required",
            r"^annotation needs a thumb or a text",
            # The names are those of the IANA database that the service has.
            r"^time_zone is ",
            # The reason is the clock.
            r"ahead of the service's clock",
            r"^expire_time must be in the future, and at most 30 days ahead",
            # The limit counts bytes of UTF-8, and a schema counts characters.
            r"(is|has) \d+ bytes",
            # The reason is in the bytes of an attachment, or in what the session has.
            r"[Aa]ttachment",
            r"SHA-256",
            # The number may be anywhere in JSON of the caller's own.
            r"is not exact as a double",
        ]
    )
)


@schemathesis.check
def valid_requests_are_accepted(_context, response, case):
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code != 400:
        return
    message = response.json()["message"]
    assert WHAT_NO_SCHEMA_SAYS.search(message), f"A valid request is refused: {message}"
