/**
 * A conversation like those that an agent's backend stores, with several languages, tool calls and long outputs. It is
 * the same in every run.
 */

export interface Part {
  readonly id: string;
  readonly type: string;
  readonly text?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface Message {
  readonly info: {
    readonly id: string;
    readonly role: string;
    readonly timestamp: string;
    readonly metadata: Readonly<Record<string, unknown>>;
  };
  readonly parts: readonly Part[];
}

interface Topic {
  readonly language: string;
  readonly question: string;
  readonly plan: string;
  readonly summary: string;
  readonly tool: string;
}

const TOPICS: readonly Topic[] = [
  {
    language: "en",
    question: "The ferry timetable importer drops every crossing after midnight. Can you find out why?",
    plan: "I will look at how the importer turns local times into instants before I change anything.",
    summary: "Times past 24:00 were read modulo a day, so the crossing landed on the day before. Fixed, with a test.",
    tool: "read_file",
  },
  {
    language: "de",
    question:
      "Warum bricht die Übersetzung von „Fährübersetzer“ mitten im Wort ab? Größe und Zeichensatz prüfen, bitte.",
    plan: "Ich zähle zuerst Bytes und Zeichen getrennt; der Verdacht fällt auf das Kürzen nach 16 Bytes.",
    summary: "Gekürzt wurde nach Bytes statt nach Zeichen: „ü“ zählt zwei. Jetzt wird an Zeichengrenzen getrennt.",
    tool: "run_tests",
  },
  {
    language: "ja",
    question: "京都行きの便が検索に出ません。「きょうと」でも「キョウト」でも見つかるようにしてください。",
    plan: "まず正規化の手順を確認し、ひらがなとカタカナを同じ鍵に変換します。",
    summary: "検索鍵を NFKC で正規化し、カタカナに統一しました。全角の「１２３」も一致します。",
    tool: "search",
  },
  {
    language: "ar",
    question: "لماذا تظهر أرقام الرصيف معكوسة في التذكرة المطبوعة؟",
    plan: "سأفحص اتجاه النص عند مزج العربية مع الأرقام اللاتينية.",
    summary: "أضفنا علامات عزل الاتجاه حول رقم الرصيف، فصار «رصيف ١٢ / Gate 12» صحيحًا.",
    tool: "render_ticket",
  },
  {
    language: "hi",
    question: "क्या हम देर से चलने वाली नावों की सूचना यात्रियों को पहले भेज सकते हैं?",
    plan: "पहले देखता हूँ कि सूचना कब बनती है और कतार में कितनी देर रुकती है।",
    summary: "सूचना अब देरी पता चलते ही भेजी जाती है; औसत प्रतीक्षा 90 से घटकर 4 सेकंड रह गई।",
    tool: "query_metrics",
  },
  {
    language: "es",
    question: "¿Puedes añadir el muelle de Cádiz? El año pasado se llamaba «Muelle Reina Victoria».",
    plan: "Busco dónde se definen los muelles y si los nombres antiguos se guardan como alias.",
    summary: "Añadido con su alias. Ningún billete vendido cambia: los identificadores siguen siendo los mismos.",
    tool: "edit_file",
  },
  {
    language: "ru",
    question: "Сборка падает только ночью. Можешь посмотреть журнал и сказать, что происходит?",
    plan: "Сравню журналы дневной и ночной сборки и найду первое расхождение.",
    summary: "Ночью тест попадал на перевод часов: час от 02:00 до 03:00 не существует. Тест теперь задаёт пояс сам.",
    tool: "run_tests",
  },
  {
    language: "zh",
    question: "请把船票价格改成按季节计算，春节期间加价百分之十五，但学生票不变。",
    plan: "先看现有的价格表，再决定是加一列还是单独建一张季节表。",
    summary: "新增了季节表；学生票不参与加价。👩‍🎓🚢 的显示也已确认没有问题。",
    tool: "edit_file",
  },
];

const TURNS = 60;
const START_MS = Date.parse("2026-02-03T08:00:00Z");
const SECONDS_APART = 7;

/** 240 messages. Each turn has a question, a plan with a tool call, the tool's output, and a summary. */
export const CONVERSATION: readonly Message[] = Array.from({ length: TURNS }, (_none, turn) => messagesOf(turn)).flat();

function messagesOf(turn: number): Message[] {
  const topic = TOPICS[turn % TOPICS.length]!;
  const call = `call-${turn}`;
  const input = {
    path: `src/ferry/${topic.language}/step-${turn}.ts`,
    line: turn * 3 + 1,
    dryRun: turn % 2 === 0,
    limit: null,
  };
  const contents: readonly (readonly [string, readonly Part[]])[] = [
    ["user", [{ id: "p1", type: "text", text: topic.question }]],
    [
      "assistant",
      [
        { id: "p1", type: "text", text: topic.plan },
        { id: "p2", type: "tool_call", data: { call, name: topic.tool, input } },
      ],
    ],
    [
      "tool",
      [
        {
          id: "p1",
          type: "tool_result",
          text: outputOf(turn, topic),
          data: { call, exitCode: turn % 9 === 0 ? 1 : 0 },
        },
      ],
    ],
    [
      "assistant",
      [{ id: "p1", type: "text", text: `${topic.summary}\n\n\`\`\`diff\n- step ${turn}\n+ step ${turn + 1}\n\`\`\`` }],
    ],
  ];
  return contents.map(([role, parts], i) => {
    const place = turn * contents.length + i;
    const timestamp = new Date(START_MS + place * SECONDS_APART * 1000).toISOString().replace(".000Z", "Z");
    const metadata = { turn, language: topic.language, tokens: { in: 100 + place, "out.cached": place * 0.5 } };
    return { info: { id: `msg-${String(place).padStart(4, "0")}`, role, timestamp, metadata }, parts };
  });
}

/** Returns the output of a tool: some dozens of lines, or about 100 KB in every tenth turn. */
function outputOf(turn: number, { language, tool, plan }: Topic): string {
  const lines = turn % 10 === 9 ? 900 : 12 + turn;
  const line = (n: number) =>
    `${String(n).padStart(5)}  [${tool}] ${language} ✓ case ${n}: ${plan} \u001b[32mok\u001b[0m\t${n * 7} ms`;
  return Array.from({ length: lines }, (_none, n) => line(n + 1)).join("\n");
}
