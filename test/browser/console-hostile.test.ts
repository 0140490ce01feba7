import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { builtPages } from "../support/console-pages.js";
import { GrpcClient } from "../support/grpc-client.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser } from "./browser.js";
import { ConsolePage } from "./console-page.js";

const ELSEWHERE = "https://attacker.example";
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="hit()"><script>hit()</script></svg>';
const BASE64_SVG = Buffer.from(SVG).toString("base64");

/**
 * Makes a session id of a payload. A slash is replaced because REST allows none in an id, and a line break because no
 * id may hold control characters.
 */
const idOf = (i: number, text: string) => `s${i}${[...text].slice(0, 40).join("")}`.replace(/[/\n]/g, "|");

/** Content that runs scripts in pages that do not escape, sanitise or refuse it. */
const PAYLOADS = [
  "<script>hit()</script>",
  '"><script>hit()</script>',
  "'\"--></style></script><img src=x onerror=hit()>",
  "<img src=x onerror=hit()>",
  `<img src="${ELSEWHERE}/pixel.gif">`,
  SVG,
  "<svg><animate onbegin=hit() attributeName=x dur=1s>",
  `<iframe srcdoc="<script>parent.hit()</script>"></iframe><object data="${ELSEWHERE}/o"></object><embed src="${ELSEWHERE}/e">`,
  `<link rel=stylesheet href="${ELSEWHERE}/a.css"><style>@import "${ELSEWHERE}/b.css"; body { display: none }</style>`,
  `<form action="${ELSEWHERE}"><input name=x autofocus onfocus=hit()></form>`,
  "<details open ontoggle=hit()><summary>x</summary></details>",
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=hit()&gt;">',
  `<base href="${ELSEWHERE}/"><meta http-equiv=refresh content="0;url=${ELSEWHERE}">`,
  "[link](javascript:hit())",
  "[link](JaVaScRiPt&colon;hit())",
  "[link](data:text/html;base64,PHNjcmlwdD5oaXQoKTwvc2NyaXB0Pg==)",
  "[link](vbscript:hit())",
  '[x](https://example.com "title\\" onmouseover=hit() x=\\"")',
  `![picture](${ELSEWHERE}/pixel.png)`,
  `![x](${ELSEWHERE}/a.png"onerror="hit())`,
  `![svg](data:image/svg+xml;base64,${BASE64_SVG})`,
  '![x](data:image/png;base64,AAAA"onerror="hit())',
  '```html"><img src=x onerror=hit()>\n<script>hit()</script>\n```',
  "$<img src=x onerror=hit()>$ and \\(<script>hit()</script>\\)",
  `<a href="#" onclick=hit()>x</a> <div style="position:fixed;inset:0;background:url(${ELSEWHERE}/bg)">over all</div>`,
  "| <img src=x onerror=hit()> | b |\n|---|---|\n| [x](javascript:hit()) | <script>hit()</script> |",
  "constructor __proto__ {{constructor.constructor('hit()')()}}",
];

await describeWith("hostile content in the console", findBrowser, (browserPath) => {
  let server: TestServer;
  let open: ConsolePage;
  let page: Page;
  const hits: string[] = [];
  const foreign: string[] = [];
  const errors: string[] = [];

  beforeAll(async () => {
    server = await startTestServer({}, undefined, await builtPages());
    open = await ConsolePage.open(browserPath, server.httpUrl, DESKTOP);
    page = open.page;
    await page.exposeFunction("hit", () => hits.push(page.url()));
    page.on("dialog", (dialog) => {
      hits.push(dialog.message());
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(server.httpUrl))
        foreign.push(request.url());
    });
    page.on("pageerror", (error) => errors.push(String(error)));
  });

  afterAll(async () => {
    await open.close();
    await server.stop();
  });

  async function post(path: string, body: JsonValue): Promise<void> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(server.httpUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 200, text: expect.any(String) });
  }

  /** Opens every view of a session: every message, every panel, the raw view and a search. */
  async function lookAtAll(sessionId: string, count: number): Promise<void> {
    await open.showSession(sessionId);
    await page.keyboard.press("g");
    for (let position = 0; position < count; position++) {
      await page.locator(`article[data-position="${position}"][aria-current]`).waitFor();
      await page.keyboard.press("e");
      await page.keyboard.press("r");
      await page.locator(`article[data-position="${position}"] > .message-body > .json`).waitFor();
      await page.keyboard.press("r");
      await page.keyboard.press("j");
    }
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.getByRole("searchbox", { name: "Search in this session" }).fill("hit");
    await page.getByText(/in the whole session|older ones need a longer text/).waitFor();
    for (const name of ["Forks", "Details", "Outline"]) {
      await page.locator(".session-tools").getByRole("button", { name, exact: true }).click();
      await page.getByRole("complementary", { name }).waitFor();
    }
  }

  function expectNothingRan(): void {
    expect({ hits, foreign, errors }).toEqual({ hits: [], foreign: [], errors: [] });
  }

  it("runs no script and contacts no other host, from any field of a session or message", async () => {
    for (const [i, text] of PAYLOADS.entries()) {
      const short = [...text].slice(0, 60).join("").replaceAll("\n", " ");
      const data = { id: text, name: text, input: { [short]: text }, [short]: [text, { [short]: text }] };
      await post("/session", {
        sessionId: idOf(i, text),
        title: text,
        metadata: { [short]: text },
        owner: short,
        labels: { [`l${i}`]: text.slice(0, 200).replaceAll("\n", " ") },
      });
      const sessionId = encodeURIComponent(idOf(i, text));
      const parts: JsonObject[] = [
        { type: "text", text },
        { type: text, text, data },
        { type: "reasoning", text },
        { type: "tool_use", data },
        { type: "tool_result", data: { tool_use_id: text, content: text, is_error: true } },
        { type: "tool", data: { tool: text, state: { status: "error", input: data, error: text } } },
        { type: "error", text },
        { type: "file", data: { filename: text, mime: text, url: text } },
        { type: "source-url", data: { title: text, url: text } },
      ];
      await post(`/session/${sessionId}/message`, {
        info: { id: short, role: text, metadata: { [short]: text } },
        parts,
      });
      await post(`/session/${sessionId}/message`, { info: { role: "user" }, parts: [{ type: "text", text }] });
      await post(`/session/${sessionId}/fork`, { title: text });
    }
    for (const [i, text] of PAYLOADS.entries()) {
      await lookAtAll(idOf(i, text), 2);
      expectNothingRan();
    }
    await open.goTo("/");
    await page.getByRole("heading", { name: "Since yesterday" }).waitFor();
    expectNothingRan();
  });

  it("runs no script from drafts, todos, dialogs and notes", async () => {
    const grpc = new GrpcClient(server.grpcAddress);
    const todos = PAYLOADS.map((content, i) => ({ id: `t${i}`, content, status: "pending", priority: "high" }));
    expect(await grpc.call(TodoTrackerService, "ReplaceTodos", { todos })).toHaveProperty("answer");
    grpc.close();
    await open.goTo("/todos");
    await page
      .locator(".todo")
      .nth(PAYLOADS.length - 1)
      .waitFor();
    for (const [i, text] of PAYLOADS.entries()) {
      const id = `talk${i}`;
      await post("/session", { sessionId: id, title: text });
      await post(`/session/${id}/message`, { info: { role: "user" }, parts: [{ type: "text", text }] });
      const parts = [
        { type: "text", text },
        { type: "reasoning", text },
      ];
      await post(`/session/${id}/draft`, { message: { info: { id: "d", role: text }, parts } });
      await open.show(`/session/${id}`);
      await page.locator('article[data-draft="d"]').waitFor();
      for (const name of ["Rename", "Fork", "Delete"]) {
        await page.getByRole("button", { name: "Actions", exact: true }).click();
        await page.getByRole("menuitem", { name, exact: true }).click();
        await page.getByRole("dialog").waitFor();
        if (name === "Delete") await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
        else await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
      await page.locator(".toast").first().waitFor();
    }
    expectNothingRan();
  });

  it("shows only pictures of a safe type that the message itself holds", async () => {
    const pictures = [
      { type: "image", data: { source: { type: "url", url: `${ELSEWHERE}/a.png` } } },
      { type: "image", data: { source: { type: "base64", media_type: "image/svg+xml", data: BASE64_SVG } } },
      { type: "image_url", data: { image_url: { url: `data:image/svg+xml;base64,${BASE64_SVG}` } } },
      { type: "image_url", data: { image_url: { url: "javascript:hit()" } } },
      { type: "file", data: { mediaType: "image/png", url: `${ELSEWHERE}/b.png` } },
      { type: "file", data: { mediaType: "image/svg+xml", data: BASE64_SVG } },
      { type: "text", text: "end of pictures" },
    ];
    await post("/session", { sessionId: "pictures" });
    await post("/session/pictures/message", { info: { role: "user" }, parts: pictures });
    await lookAtAll("pictures", 1);
    await page.getByText("end of pictures").first().waitFor();
    expect(await page.locator("article img").count()).toBe(0);
    expectNothingRan();
  });

  it("stays usable with huge tables, deep nesting and endless lines", async () => {
    const rows = Array.from(
      { length: 400 },
      (_, i) => `| ${Array.from({ length: 40 }, (_, k) => `${i}.${k}`).join(" | ")} |`,
    );
    let nested: JsonValue = "deepest";
    for (let i = 0; i < 20; i++) nested = { in: nested };
    const texts = [
      `|${" a |".repeat(40)}\n|${"---|".repeat(40)}\n${rows.join("\n")}`,
      "> ".repeat(500),
      `${"- ".repeat(300)}x`,
      "*".repeat(5000),
      `${"[".repeat(3000)}x${"](y)".repeat(3000)}`,
      "x".repeat(1_000_000),
      `\`\`\`json\n${"[".repeat(30_000)}\n\`\`\``,
      "‮ right to left ‭ and \u0000".replace("\u0000", "�"),
    ];
    await post("/session", { sessionId: "huge" });
    for (const text of texts)
      await post("/session/huge/message", { info: { role: "assistant" }, parts: [{ type: "text", text }] });
    await post("/session/huge/message", { info: { role: "tool" }, parts: [{ type: "x", data: { nested } }] });
    await lookAtAll("huge", texts.length + 1);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expectNothingRan();
  });

  /** Makes a session of a message with these parts between two harmless ones, opens it, and sees the harmless ones. */
  async function showBetween(sessionId: string, parts: JsonObject[]): Promise<void> {
    await post("/session", { sessionId });
    for (const one of [[{ type: "text", text: "BEFORE" }], parts, [{ type: "text", text: "AFTER" }]])
      await post(`/session/${sessionId}/message`, { info: { role: "tool" }, parts: one });
    await open.showSession(sessionId);
    for (const word of ["BEFORE", "AFTER"]) await page.locator("article").getByText(word, { exact: true }).waitFor();
  }

  // Each of these either hid the whole conversation, or stopped the page for up to a minute.
  it("shows a session in which one message would cost very much", async () => {
    let tree: JsonValue = 1;
    for (let depth = 0; depth < 6; depth++) tree = Array(8).fill(tree);
    const contents = [
      ...[`${"[".repeat(400)}${"]".repeat(400)}`, `${"[".repeat(24)}${"]".repeat(24)}`, JSON.stringify(tree)],
      ...[`[${"1,".repeat(500_000)}1]`, `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ];
    for (const [i, content] of contents.entries()) {
      await showBetween(`tree${i}`, [
        { type: "tool_result", data: { tool_use_id: "unknown", is_error: true, content } },
      ]);
      expect(await page.locator("article *").count()).toBeLessThan(2000);
    }
    const texts = [
      ...[`a${"\n".repeat(50_000)}b`, `# ${"_a_".repeat(33_000)}`, `# a${" ".repeat(98_000)}b`],
      `|${"a|".repeat(1990)}\n|${"-|".repeat(1990)}\n${"|\n".repeat(2900)}`,
      `[a]: http://${"b".repeat(48_000)}\n\n${`${"[a] ".repeat(200)}\n\n`.repeat(60)}`,
    ];
    for (const [i, text] of texts.entries()) await showBetween(`costly${i}`, [{ type: "text", text }]);
    expectNothingRan();
  });

  it("cuts characters with thousands of marks, wherever they stand", async () => {
    const pile = `Z${"\u0300".repeat(30_000)}`;
    await showBetween("piles", [
      { type: "text", text: `${pile} \`${pile}\`\n\n\`\`\`\n${pile}\n\`\`\`` },
      { type: "reasoning", text: pile },
      { type: "tool_use", data: { id: "c", name: "n", input: { argument: pile } } },
      { type: "tool_result", text: pile, data: { tool_use_id: "c", is_error: true } },
      { type: "x", data: { [pile]: pile } },
    ]);
    for (const closed of await page.locator("article .call-head, article .json .fold").all()) await closed.click();
    const texts = (await page.evaluate("document.body.textContent")) as string;
    expect(texts).toContain(`Z${"\u0300".repeat(32)}…`);
    expect(texts).not.toContain("\u0300".repeat(33));
    expectNothingRan();
  });

  it("shows the first of ten thousand parts, and more on demand", async () => {
    const parts = Array.from({ length: 10_000 }, (_none, i) => ({ type: `type-${i % 7}`, data: { i } }));
    await showBetween("parts", parts);
    expect(await page.locator("article .data-part").count()).toBe(200);
    await page.getByRole("button", { name: "9,800 more parts" }).click();
    await page.getByRole("button", { name: "9,600 more parts" }).waitFor();
    expect(await page.locator("article .data-part").count()).toBe(400);
    expectNothingRan();
  });

  it("opens a deep JSON tree as far as the reader wants", async () => {
    const content = `${"[".repeat(16)}"deepest"${"]".repeat(16)}`;
    await showBetween("deep", [{ type: "tool_result", data: { tool_use_id: "unknown", content } }]);
    const deepest = page.getByText("deepest");
    // A level is drawn only after the event of the one above it, so for a moment there is neither.
    const next = page.locator(".json details:not([open]) > summary").or(deepest).first();
    for (let level = 0; level < 16 && !(await deepest.isVisible()); level++) await next.click();
    await deepest.waitFor();
    expectNothingRan();
  });

  it("shows a message that cannot be rendered as JSON, and the others as always", async () => {
    await page.evaluate(`(() => {
      const { replaceChildren } = Element.prototype;
      Element.prototype.replaceChildren = function (...nodes) {
        if (nodes[0].textContent.includes("UNRENDERABLE")) throw new Error("Cannot be rendered");
        replaceChildren.apply(this, nodes);
      };
    })()`);
    await showBetween("broken", [{ type: "text", text: "UNRENDERABLE" }]);
    await page.getByText("This message cannot be shown").waitFor();
    await open.message(1).locator("summary").first().click();
    await page.getByText('"UNRENDERABLE"').waitFor();
    expectNothingRan();
  });
});
