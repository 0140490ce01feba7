import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { withoutPiles } from "../../../../parts/piles.js";
import { apiKey } from "../../api/http.js";
import type { UsageSums } from "../../api/types.js";
import { titleOf } from "../../state/actions.js";
import { type Compared, Comparer, type Comparison, isForkIn, leastOf, takenBy } from "../../state/comparison.js";
import { linkTo, sessionLink } from "../../state/route.js";
import {
  amountOf,
  callsLine,
  compact,
  costs,
  hasCalls,
  MODEL_TIME,
  MODEL_TIME_MEANS,
  milliseconds,
  sumsLine,
  tokensOf,
  without,
} from "../../state/usage-sums.js";
import { count, duration, plural, whole } from "../../text/format.js";
import { NoText } from "../no-text.js";
import { PageHead } from "../page-head.js";
import { Problem } from "../problem.js";
import { Said } from "../said.js";
import { useIsCut } from "../use-is-cut.js";

/** Sessions side by side: where they part, and what each has taken since. */
export function Compare({ sessionIds }: { sessionIds: readonly string[] }) {
  const comparer = useMemo(() => new Comparer(), []);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const left = new AbortController();
    void comparer.read(sessionIds, left.signal);
    return () => left.abort();
  }, [comparer, sessionIds.join("\n"), tries, apiKey.value]);
  const comparison = comparer.comparison.value;
  if (comparer.error.value !== undefined) {
    return <Problem error={comparer.error.value} onRetry={() => setTries(tries + 1)} />;
  }
  return (
    <main class="home">
      <PageHead title="Compare" />
      {comparison === undefined ? <Said what="loading" /> : <Table comparison={comparison} />}
    </main>
  );
}

interface Row {
  readonly name: string;
  readonly values: readonly string[];
}

function Table({ comparison }: { comparison: Comparison }) {
  const { columns, common } = comparison;
  const [isShort, setShort] = useState(false);
  const table = useRef<HTMLElement>(null);
  const isCut = useIsCut(table);
  if (columns.length === 0) return <Said what="empty">To compare forks, open a session and choose “Forks”.</Said>;
  const rows = rowsOf(comparison);
  const differs = ({ values }: Row) => new Set(values).size > 1;
  return (
    <>
      <p class="muted">
        {common === 0
          ? "They have no message in common."
          : `They have the first ${plural(common, "message")} in common, and part after #${common - 1}.`}
      </p>
      <Cards comparison={comparison} />
      <label class="check-line">
        <input type="checkbox" checked={isShort} onChange={() => setShort(!isShort)} /> Only what differs
        {isCut && <span class="muted">· more to the side</span>}
      </label>
      <section class={`table-scroll ${isCut ? "is-cut" : ""}`} ref={table} aria-label="Comparison" tabindex={0}>
        <table class="data compare">
          <thead>
            <tr>
              <th scope="col">
                <span class="unseen">What</span>
              </th>
              {columns.map(({ session }) => (
                <th key={session.sessionId} scope="col">
                  <a
                    href={linkTo({ view: "session", sessionId: session.sessionId, at: Math.max(0, common - 1) })}
                    title={session.sessionId}
                  >
                    {titleOf(session)}
                  </a>
                  {session.title && <div class="muted">{session.sessionId}</div>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows
              .filter((row) => !isShort || differs(row))
              .map(({ name, values }) => (
                <tr key={name} class={differs({ name, values }) ? "differs" : ""}>
                  <th scope="row">{name}</th>
                  {values.map((value, i) => (
                    <td key={columns[i]?.session.sessionId}>{value || <span class="muted">none</span>}</td>
                  ))}
                </tr>
              ))}
            <tr class="differs">
              <th scope="row">{common === 0 ? "Begins with" : "Goes on with"}</th>
              {columns.map(({ session, next }) => (
                <td key={session.sessionId} dir="auto">
                  {next ? (
                    <>
                      <span class="muted">{next.speaker}: </span>
                      {next.text || <NoText />}
                    </>
                  ) : (
                    <span class="muted">nothing</span>
                  )}
                </td>
              ))}
            </tr>
          </tbody>
        </table>
      </section>
    </>
  );
}

/** What each session took since they part, side by side on a wide screen and below each other on a narrow one. */
function Cards({ comparison }: { comparison: Comparison }) {
  const { columns } = comparison;
  const { isSince, sums, isRival, rivals } = takenBy(comparison);
  if (!sums.some(hasCalls)) return null;
  const compared = sums.filter((_, i) => isRival[i]);
  const among = `of ${compared.length} ${rivals}`;
  const rivalCosts = compared.flatMap((one) => one.costs ?? []);
  const currencies = new Set(rivalCosts.map(({ currency }) => currency));
  const [currency = ""] = currencies;
  const timeOf = (one: UsageSums) => milliseconds(one.duration) ?? 0;
  // Amounts of different currencies cannot be compared.
  const amounts = sums.map((one) => (currencies.size === 1 ? amountOf(one, currency) : 0));
  const isTwo = compared.length === 2;
  /** By how much one of two has less of something. */
  const by = (numberOf: (one: UsageSums) => number) =>
    Math.abs(numberOf(compared[0] as UsageSums) - numberOf(compared[1] as UsageSums));
  const figures = [
    {
      name: "Cost",
      texts: sums.map((one) => costs(one.costs)),
      least: leastOf(amounts, isRival),
      said: isTwo ? `cheaper ${among}, by ${costBetween(compared, currency)}` : `cheapest ${among}`,
    },
    {
      name: "Tokens",
      texts: sums.map((one) => compact(tokensOf(one))),
      least: leastOf(sums.map(tokensOf), isRival),
      said: isTwo ? `fewer ${among}, by ${compact(by(tokensOf))}` : `fewest ${among}`,
    },
    {
      name: MODEL_TIME,
      texts: sums.map(tookOf),
      least: leastOf(sums.map(timeOf), isRival),
      said: isTwo ? `shorter ${among}, by ${duration(by(timeOf))}` : `shortest ${among}`,
    },
  ];
  return (
    <section aria-label="What each took">
      <h2 class="compared-title">{isSince ? "What each took since they part" : "What each took"}</h2>
      <ul class="compared">
        {columns.map((column, i) => (
          <li key={column.session.sessionId} class="card">
            <p>
              <a href={sessionLink(column.session.sessionId)}>{withoutPiles(titleOf(column.session))}</a>{" "}
              <span class="muted">{kindOf(columns, column)}</span>
            </p>
            <dl class="compared-figures">
              {figures.map(({ name, texts, least, said }) => (
                <div key={name} title={name === MODEL_TIME ? MODEL_TIME_MEANS : undefined}>
                  <dt>{name}</dt>
                  <dd>
                    <strong>{texts[i] || "–"}</strong>
                    {least[i] && <span class="chip chip-good">{said}</span>}
                  </dd>
                </div>
              ))}
            </dl>
            {isSince && <Before column={column} isFork={isForkIn(columns, column)} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What lies between the costs of two, exactly. */
function costBetween([one, other]: readonly UsageSums[], currency: string): string {
  const difference = without(one, other).costs?.filter((cost) => cost.currency === currency) ?? [];
  return costs(difference.map((cost) => ({ ...cost, amount: cost.amount.replace("-", "") })));
}

/** What a session is to the others. */
function kindOf(columns: readonly Compared[], column: Compared): string {
  const { sessionId } = column.session;
  const isParent = columns.some(({ session }) => session.parentId === sessionId);
  const kinds = [isForkIn(columns, column) && "fork", isParent && "parent"].filter(Boolean);
  return [...kinds, column.session.title && sessionId].filter(Boolean).join(" · ");
}

/** What the messages in common took, which a fork has inherited and not paid again. */
function Before({ column, isFork }: { column: Compared; isFork: boolean }) {
  const before = without(column.total, column.since);
  if (!hasCalls(before)) return null;
  return (
    <p class="muted">
      {isFork ? "Inherited and not counted: " : "Before they part: "}
      {sumsLine(before)}
    </p>
  );
}

function rowsOf({ columns, common }: Comparison): readonly Row[] {
  const row = (name: string, value: (column: Compared) => string): Row => ({ name, values: columns.map(value) });
  const sinceRow = (name: string, value: (sums: UsageSums) => string): readonly Row[] =>
    columns.some(({ since }) => since === undefined) ? [] : [row(name, ({ since }) => value(since as UsageSums))];
  return [
    ...(common > 0 ? sinceRow("Calls of models since they part", callsLine) : []),
    row("Calls of models in all", ({ total }) => callsLine(total)),
    row("Cost in all", ({ total }) => costs(total.costs)),
    row("Tokens in all", ({ total }) => count(tokensOf(total))),
    row(`${MODEL_TIME} in all`, ({ total }) => tookOf(total)),
    row("Messages in all", (column) => count(column.count)),
    ...(common > 0 ? [row("Messages since they part", (column) => count(column.count - common))] : []),
    row("Newest model", ({ session }) => session.lastMessage?.usage?.model ?? ""),
    row("Labels", ({ session }) => labelsOf(session.labels)),
    row("Owner", ({ session }) => withoutPiles(session.owner ?? "")),
    row("Created", ({ session }) => whole(session.createTime)),
    row("Last change", ({ session }) => whole(session.updateTime)),
  ].filter(({ values }) => values.some((value) => value !== ""));
}

function tookOf(sums: UsageSums): string {
  const took = milliseconds(sums.duration) ?? 0;
  return took > 0 ? duration(took) : "";
}

function labelsOf(labels: Readonly<Record<string, string>> = {}): string {
  return Object.entries(labels)
    .map(([name, value]) => withoutPiles(value ? `${name}: ${value}` : name))
    .join(", ");
}
