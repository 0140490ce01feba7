import type { ComponentChildren } from "preact";
import type { Content, Operation, Schema } from "./openapi.js";

export function OperationBox({ operation }: { operation: Operation }) {
  const { method, path, summary, description, parameters = [], requestBody, responses = {} } = operation;
  return (
    <details class="box">
      <summary>
        <code class={`method method-${method}`}>{method.toUpperCase()}</code> <code>{path}</code>{" "}
        <WithCode text={summary} />
      </summary>
      <Paragraphs text={description} />
      {parameters.length > 0 && (
        <Table heads={["Parameter", "In", "Type", "Meaning"]}>
          {parameters.map(({ name, in: place, required, schema, description: meaning }) => (
            <Row
              key={name}
              cells={[required ? `${name} *` : name, place, <TypeOf schema={schema} />, <WithCode text={meaning} />]}
            />
          ))}
        </Table>
      )}
      {requestBody && (
        <p>
          Body: <TypeOfContent content={requestBody.content} />
        </p>
      )}
      <Table heads={["Answer", "Type", "Meaning"]}>
        {Object.entries(responses).map(([status, { content, description: meaning }]) => (
          <Row key={status} cells={[status, <TypeOfContent content={content} />, <WithCode text={meaning} />]} />
        ))}
      </Table>
    </details>
  );
}

export function SchemaBox({ name, schema }: { name: string; schema: Schema }) {
  const fields = Object.entries(schema.properties ?? {});
  return (
    <details class="box" id={`schema-${name}`}>
      <summary>
        <code>{name}</code>
      </summary>
      <Paragraphs text={schema.description} />
      {fields.length === 0 ? (
        <p>
          <TypeOf schema={schema} />
        </p>
      ) : (
        <Table heads={["Field", "Type", "Meaning"]}>
          {fields.map(([field, value]) => (
            <Row key={field} cells={[field, <TypeOf schema={value} />, <WithCode text={value.description} />]} />
          ))}
        </Table>
      )}
    </details>
  );
}

function Table({ heads, children }: { heads: readonly string[]; children: ComponentChildren }) {
  return (
    <table>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

function Row({ cells }: { cells: readonly ComponentChildren[] }) {
  return (
    <tr>
      {cells.map((cell, i) => (
        <td key={i}>{cell}</td>
      ))}
    </tr>
  );
}

function TypeOfContent({ content = {} }: { content?: Content | undefined }) {
  return (
    <>
      {Object.entries(content).map(([media, { schema }], i) => (
        <span key={media}>
          {i > 0 && ", "}
          <TypeOf schema={schema} /> ({media})
        </span>
      ))}
    </>
  );
}

function TypeOf({ schema }: { schema?: Schema | undefined }): ComponentChildren {
  if (schema === undefined) return null;
  const { $ref, type, items, format, oneOf, anyOf, allOf, additionalProperties } = schema;
  if ($ref !== undefined) {
    const name = $ref.split("/").at(-1) ?? $ref;
    return <a href={`#schema-${name}`}>{name}</a>;
  }
  if (type === "array") {
    return (
      <>
        list of <TypeOf schema={items} />
      </>
    );
  }
  const choices = oneOf ?? anyOf ?? allOf;
  if (choices !== undefined) {
    return choices.map((choice, i) => (
      <span key={i}>
        {i > 0 && " or "}
        <TypeOf schema={choice} />
      </span>
    ));
  }
  if (schema.enum) return schema.enum.join(" or ");
  if (typeof additionalProperties === "object") {
    return (
      <>
        map of <TypeOf schema={additionalProperties} />
      </>
    );
  }
  return [type, format && `(${format})`].flat().filter(Boolean).join(" ") || "any";
}

export function Paragraphs({ text = "" }: { text?: string | undefined }) {
  return (
    <>
      {text.split(/\n\n+/).map((part, i) => (
        <p key={i}>
          <WithCode text={part} />
        </p>
      ))}
    </>
  );
}

/** What stands between backticks, as code. */
function WithCode({ text = "" }: { text?: string | undefined }) {
  return <>{text.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>;
}
