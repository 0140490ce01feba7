// Messages of the demo store, in the formats that agents write.

export function say(role, text) {
  return { role, parts: [{ id: "", type: "text", text }] };
}

/** A text, if there is one, and a tool call in the form of Anthropic's API. */
export function call(text, id, name, input) {
  const parts = [{ id: "", type: "tool_use", text: "", data: { id, name, input } }];
  if (text) parts.unshift({ id: "", type: "text", text });
  return { role: "assistant", parts };
}

export function result(id, content, isError = false) {
  return {
    role: "tool",
    parts: [{ id: "", type: "tool_result", text: content, data: { tool_use_id: id, is_error: isError } }],
  };
}

export function dialogue(messages) {
  return messages.flat();
}

const TABLES = ["invoices", "payments", "customers", "refunds", "taxes", "currencies", "dunning", "credit_notes"];

/** Makes `count` steps of an agent at work, with three messages each. Every 31st call fails. */
export function codingSteps(count) {
  return Array.from({ length: count }, (_, i) => stepOf(i)).flat();
}

function stepOf(i) {
  const table = TABLES[i % TABLES.length];
  const batch = Math.floor(i / TABLES.length);
  const hasFailed = i % 31 === 30;
  const output = hasFailed
    ? `copying ${table}, batch ${batch}\nERROR: duplicate key value violates unique constraint "${table}_pkey"\nDETAIL: Key (id)=(${4000 + i}) already exists.`
    : `copying ${table}, batch ${batch}\n5,000 rows copied, 0 differences`;
  return [
    {
      role: "assistant",
      parts: [
        { id: "", type: "reasoning", text: `Batch ${batch} of ${table} comes next. I compare the counts after it.` },
        {
          id: "",
          type: "tool_use",
          text: "",
          data: { id: `b${i}`, name: "bash", input: { command: `copy-batch ${table} ${batch}` } },
        },
      ],
    },
    result(`b${i}`, output, hasFailed),
    say(
      "assistant",
      hasFailed
        ? `A row of ${table} was there already. I take it out and copy again.`
        : `Batch ${batch} of \`${table}\` is equal in both stores.`,
    ),
  ];
}
