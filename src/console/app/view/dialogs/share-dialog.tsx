import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { createTicket } from "../../api/calls.js";
import { ApiError, CODE } from "../../api/http.js";
import type { TicketScope } from "../../api/ticket.js";
import type { Session } from "../../api/types.js";
import { endLinks, shareCopy } from "../../state/actions.js";
import { linkByTicket } from "../../state/route.js";
import { reasonOf } from "../../state/toasts.js";
import { untilMinute } from "../../text/format.js";
import { closeDialog, DialogEnd, Modal } from "./modal.js";

const HOUR_MS = 3_600_000;
const TERMS: readonly { label: string; ms: number }[] = [
  { label: "1 hour", ms: HOUR_MS },
  { label: "1 day", ms: 24 * HOUR_MS },
  { label: "7 days", ms: 7 * 24 * HOUR_MS },
  // The service refuses more than 30 days by its own clock, of which the clock here may be a little ahead.
  { label: "30 days", ms: 30 * 24 * HOUR_MS - 300_000 },
];

interface Made {
  readonly link: string;
  readonly scope: TicketScope;
  readonly expireTime: string;
}

/** Shares a session: by a link that opens it and nothing else, or as a copy. */
export function ShareDialog({ session }: { session: Session }) {
  const [problem, setProblem] = useState("");
  const [isRunning, setRunning] = useState(false);

  async function run(action: () => Promise<void>): Promise<void> {
    setRunning(true);
    setProblem("");
    try {
      await action();
    } catch (error) {
      setProblem(reasonOf(error));
    } finally {
      setRunning(false);
    }
  }

  return (
    <Modal title="Share">
      <LinkPart session={session} isRunning={isRunning} run={run} />
      <section class="share-part" aria-label="Copy">
        <h3>A copy</h3>
        <p>
          A new session gets a copy of all messages. Keys that open this session open the copy, too. Messages that are
          added here later are not copied.
        </p>
        <button
          type="button"
          class="button"
          disabled={isRunning}
          onClick={() => void run(() => shareCopy(session).then(closeDialog))}
        >
          Make a copy
        </button>
      </section>
      <DialogEnd problem={problem} close="Close" />
    </Modal>
  );
}

interface PartProps {
  readonly session: Session;
  readonly isRunning: boolean;
  readonly run: (action: () => Promise<void>) => Promise<void>;
}

function LinkPart({ session, isRunning, run }: PartProps) {
  const [scope, setScope] = useState<TicketScope>("read");
  const [term, setTerm] = useState(HOUR_MS);
  const [made, setMade] = useState<Made | undefined>(undefined);
  const [missing, setMissing] = useState("");

  async function make(): Promise<void> {
    try {
      const wanted = { scope, expireTime: new Date(Date.now() + term).toISOString() };
      const { ticket, expireTime } = await createTicket(session.sessionId, wanted);
      setMade({ link: linkByTicket(ticket), scope, expireTime });
    } catch (error) {
      const why = missingFor(error);
      if (why === undefined) throw error;
      setMissing(why);
    }
  }

  if (missing !== "") {
    return (
      <section class="share-part" aria-label="Link">
        <h3>A link</h3>
        <p role="status">{missing}</p>
      </section>
    );
  }
  return (
    <section class="share-part" aria-label="Link">
      <h3>A link</h3>
      {made ? (
        <MadeLink session={session} made={made} />
      ) : (
        <>
          <div class="share-choices">
            <fieldset>
              <legend>What it permits</legend>
              <ScopeChoice label="Read" value="read" chosen={scope} onChoose={setScope} />
              <ScopeChoice label="Read and write" value="write" chosen={scope} onChoose={setScope} />
            </fieldset>
            <label>
              How long
              <select
                class="field"
                value={String(term)}
                onChange={(event) => setTerm(Number(event.currentTarget.value))}
              >
                {TERMS.map(({ label, ms }) => (
                  <option key={ms} value={String(ms)}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <p>{promiseOf(session, scope, new Date(Date.now() + term).toISOString())}</p>
        </>
      )}
      <p class="choices">
        {!made && (
          <button type="button" class="button primary" disabled={isRunning} onClick={() => void run(make)}>
            Create a link
          </button>
        )}
        <button type="button" class="button" onClick={() => endLinks(session)}>
          End all links of this session
        </button>
      </p>
    </section>
  );
}

/** What a link opens, in plain words, and until when: the session may end first. */
function promiseOf(session: Session, scope: TicketScope, linkEnd: string): string {
  const end = session.expireTime && Date.parse(session.expireTime) < Date.parse(linkEnd) ? session.expireTime : linkEnd;
  const more = scope === "read" ? "" : ", add messages, edit all of them and stop drafts,";
  return `Whoever has this link can read this session and what is added to it${more} until ${untilMinute(end)}. It opens nothing else, and needs no key.`;
}

/** What the server or the caller lacks for making links; undefined when something else went wrong. */
function missingFor(error: unknown): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.code === CODE.failedPrecondition) {
    return "This server makes no links, because it was started without --ticket-secret-file.";
  }
  return error.code === CODE.permissionDenied ? "Making a link needs a key with the scope write." : undefined;
}

function ScopeChoice(props: {
  label: string;
  value: TicketScope;
  chosen: TicketScope;
  onChoose: (value: TicketScope) => void;
}) {
  const { label, value, chosen, onChoose } = props;
  return (
    <label>
      <input type="radio" name="scope" value={value} checked={chosen === value} onChange={() => onChoose(value)} />{" "}
      {label}
    </label>
  );
}

function MadeLink({ session, made: { link, scope, expireTime } }: { session: Session; made: Made }) {
  const field = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // The button that made the link had the focus, and is gone.
  useLayoutEffect(() => button.current?.focus(), []);
  const [copied, setCopied] = useState("");

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(link);
      setCopied("The link is copied.");
    } catch {
      // Browsers offer no clipboard over plain HTTP from another host.
      field.current?.select();
      setCopied("The browser does not let this page copy. The link is selected: copy it with Ctrl+C.");
    }
  }

  return (
    <>
      <p>{promiseOf(session, scope, expireTime)} It is not shown again.</p>
      <p class="link-line">
        <input
          ref={field}
          class="field"
          readOnly
          aria-label="Link"
          value={link}
          onFocus={(event) => event.currentTarget.select()}
        />
        <button type="button" class="button primary" ref={button} onClick={() => void copy()}>
          Copy
        </button>
      </p>
      <p class="muted" role="status">
        {copied}
      </p>
    </>
  );
}
