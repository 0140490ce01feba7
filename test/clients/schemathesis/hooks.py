"""Schemathesis asks for every valid request to be accepted; whether some are depends on more than a schema can say."""

import re

import schemathesis

WHAT_NO_SCHEMA_SAYS = re.compile(
    "|".join(
        [
            # What is stored.
            r"is not in (the )?session",
            r"has nothing to unrevert",
            r"is the session itself",
            r"must be that of the message",
            r"(Draft|Message) .* is (finished|discarded|a draft)",
            r"page_token is not a token",
            # The list of todos answers for any session, so Schemathesis takes its ids for those of sessions, and uses them again.
            r"session_id must not contain control characters",
            r"since is after until",
            r"offset and page_token",
            # Words of a search.
            r"^q holds no letter",
            r"^The prefix",
            # The clock.
            r"ahead of the service's clock",
            # Bytes of UTF-8, where a schema counts characters.
            r"(is|has) \d+ bytes",
            # Numbers anywhere inside of JSON that is the caller's.
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
