import { FileX, Hourglass, type IconNode, Link2Off } from "lucide";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type ApiError, apiKey, CODE } from "../api/http.js";
import { ticket } from "../api/ticket.js";
import { unsent } from "../state/composer.js";
import { untilMinute } from "../text/format.js";
import { Icon } from "./icon.js";

/** What is shown in place of the session when its link opens nothing, or nothing any more: why, and what to do. */
export function LinkOver({ error }: { error?: unknown }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Screen readers say what has happened to the session that was open.
  useLayoutEffect(() => heading.current?.focus(), []);
  const [node, title, text] = reasonOf(error);
  return (
    <main class="home problem">
      <Icon node={node} size={40} />
      <h1 ref={heading} tabindex={-1}>
        {title}
      </h1>
      <p>{text}</p>
      {unsent.value.trim() !== "" && (
        <label class="labelled unsent">
          What you had written was not sent
          <textarea class="field" rows={4} dir="auto" readOnly value={unsent.value} />
        </label>
      )}
      {apiKey.value !== "" && (
        <p class="actions">
          <a class="button" href="#/">
            All sessions, with your key
          </a>
        </p>
      )}
    </main>
  );
}

function reasonOf(error: unknown): readonly [node: IconNode, title: string, text: string] {
  if (ticket === undefined) {
    const text =
      "Something in it is missing or was changed on its way. Copy it once more, from its first character to its last, or ask whoever sent it to you for a new one.";
    return [Link2Off, "This link is not complete", text];
  }
  const { code, message } = error as ApiError;
  if (code === CODE.notFound) {
    const text = "It was deleted, or its time has run out. Ask whoever sent you the link what has become of it.";
    return [FileX, "This session is gone", text];
  }
  if (code !== CODE.unauthenticated) {
    return [Link2Off, "This link does not open the session", `${message}. Ask whoever sent it to you for a new one.`];
  }
  if (Date.now() >= Date.parse(ticket.expireTime)) {
    const until = untilMinute(ticket.expireTime);
    return [
      Hourglass,
      "This link has expired",
      `It was valid until ${until}. Ask whoever sent it to you for a new one.`,
    ];
  }
  const text =
    "Somebody has ended it, the session was deleted or given to somebody else, or the link was not copied whole. Ask whoever sent it to you for a new one.";
  return [Link2Off, "This link is no longer valid", text];
}
