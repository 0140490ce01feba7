import { useEffect, useMemo, useState } from "preact/hooks";
import { withoutPiles } from "../../../../parts/piles.js";
import { apiKey } from "../../api/http.js";
import type { UsageSums } from "../../api/types.js";
import { titleOf } from "../../state/actions.js";
import { type Compared, Comparer, type Comparison } from "../../state/comparison.js";
import { linkTo } from "../../state/route.js";
import { amountOf, callsLine, costs, milliseconds, tokensOf } from "../../state/usage-sums.js";
import { count, duration, plural, whole } from "../../text/format.js";
import { NoText } from "../no-text.js";
import { PageHead } from "../page-head.js";
import { Problem } from "../problem.js";
import { Said } from "../said.js";

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
  /** The columns that are best in this row. */
  readonly best?: readonly boolean[];
}

function Table({ comparison }: { comparison: Comparison }) {
  const { columns, common } = comparison;
  const [isShort, setShort] = useState(false);
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
      <label class="check-line">
        <input type="checkbox" checked={isShort} onChange={() => setShort(!isShort)} /> Only what differs
      </label>
      <section class="table-scroll" aria-label="Comparison" tabindex={0}>
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
              .map(({ name, values, best }) => (
                <tr key={name} class={differs({ name, values }) ? "differs" : ""}>
                  <th scope="row">{name}</th>
                  {values.map((value, i) => (
                    <td key={columns[i]?.session.sessionId}>
                      {value || <span class="muted">none</span>}{" "}
                      {best?.[i] && <span class="chip chip-good">least</span>}
                    </td>
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

function rowsOf({ columns, common }: Comparison): readonly Row[] {
  const row = (name: string, value: (column: Compared) => string): Row => ({ name, values: columns.map(value) });
  const sums = (name: string, of: (column: Compared) => UsageSums | undefined): readonly Row[] => {
    const known = columns.map(of);
    if (known.some((one) => one === undefined)) return [];
    const all = known as readonly UsageSums[];
    // A session that called no model is not cheaper than those that did.
    const least = (numbers: readonly number[]) => {
      const compared = numbers.filter((number) => number > 0);
      return numbers.map((number) => new Set(compared).size > 1 && number === Math.min(...compared));
    };
    const currencies = new Set(all.flatMap((one) => (one.costs ?? []).map(({ currency }) => currency)));
    const [currency] = currencies;
    return [
      {
        name: `Cost${name}`,
        values: all.map((one) => costs(one.costs)),
        // Amounts of different currencies cannot be compared.
        ...(currencies.size === 1 && { best: least(all.map((one) => amountOf(one, currency as string))) }),
      },
      { name: `Tokens${name}`, values: all.map((one) => count(tokensOf(one))), best: least(all.map(tokensOf)) },
      { name: `Calls of models${name}`, values: all.map(callsLine) },
      { name: `Time of models${name}`, values: all.map((one) => tookOf(one)) },
    ];
  };
  return [
    ...(common > 0 ? sums(" since they part", ({ since }) => since) : []),
    ...sums(common > 0 ? " in all" : "", ({ total }) => total),
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
