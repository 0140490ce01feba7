import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { ApiError } from "../../../../src/api/api-error.js";
import { DEFAULT_SERVER_LIMITS } from "../../../../src/config/config.js";
import { type Admission, Admissions } from "../../../../src/server/limits/admissions.js";
import { type Compression, inflate } from "../../../../src/server/limits/inflate.js";

const LIMIT = 64 * 1024;
const TEXT = Buffer.from("to be compressed");

const COMPRESS: Record<Compression, (bytes: Buffer) => Buffer> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
};

describe.each(["gzip", "deflate", "br"] as const)("%s", (compression) => {
  const compress = COMPRESS[compression];

  it("is decompressed, and the output counts as buffered until the request ends", async () => {
    const admissions = makeAdmissions();
    const admission = admissions.admit("call", undefined, undefined);
    expect(await run(compress(TEXT), compression, admission)).toEqual(TEXT);
    expect(admissions.bufferedBytes).toBe(TEXT.length);
    admission.end();
    expect(admissions.bufferedBytes).toBe(0);
  });

  it("is accepted up to the limit of the output, and refused beyond it", async () => {
    expect(await run(compress(Buffer.alloc(LIMIT)), compression)).toHaveLength(LIMIT);
    const error = { code: Code.ResourceExhausted, message: expect.stringContaining(`${LIMIT} bytes`) };
    await expect(run(compress(Buffer.alloc(LIMIT + 1)), compression)).rejects.toMatchObject(error);
    await expect(run(compress(Buffer.alloc(500 * LIMIT)), compression)).rejects.toMatchObject(error);
  });

  it.each([
    ["is empty", Buffer.alloc(0)],
    ["is cut off", compress(TEXT).subarray(0, -2)],
    ["is something else", Buffer.from("\xff\xff\xff\xff", "latin1")],
    ["is followed by something else", Buffer.concat([compress(TEXT), Buffer.from("more")])],
  ])("is refused when it %s", async (_what, bytes) => {
    const error = { code: Code.InvalidArgument, message: `The body is not valid ${compression}` };
    await expect(run(bytes, compression)).rejects.toMatchObject(error);
  });
});

it("decompresses gzip in several members, as the format allows", async () => {
  const members = Buffer.concat([gzipSync(TEXT.subarray(0, 5)), gzipSync(""), gzipSync(TEXT.subarray(5))]);
  expect(await run(members, "gzip")).toEqual(TEXT);
});

it("reserves no more room than the output needs, so that small requests do not keep each other out", async () => {
  const admissions = makeAdmissions(4 * TEXT.length);
  const calls = Array.from({ length: 4 }, () => admissions.admit("call", undefined, undefined));
  const texts = await Promise.all(calls.map((call) => run(gzipSync(TEXT), "gzip", call)));
  expect(texts).toEqual(Array(4).fill(TEXT));
});

it("refuses a body when there is no room for its output, and frees the room that it had reserved", async () => {
  const admissions = makeAdmissions(LIMIT / 2);
  const admission = admissions.admit("call", undefined, undefined);
  await expect(run(gzipSync(Buffer.alloc(LIMIT)), "gzip", admission)).rejects.toMatchObject({
    code: Code.ResourceExhausted,
    message: expect.stringContaining("at a time"),
  });
  expect(admissions.bufferedBytes).toBe(0);
});

it("gives up when the request ends, because the output would not be counted any more", async () => {
  const ended = makeAdmissions().admit("call", undefined, undefined);
  const running = run(gzipSync(Buffer.alloc(LIMIT)), "gzip", ended);
  ended.end();
  await expect(running).rejects.toMatchObject({ code: Code.Canceled });
  // After the end of the request nothing is decompressed, so invalid bytes are not noticed.
  await expect(run(Buffer.from("none"), "gzip", ended)).rejects.toMatchObject({ code: Code.Canceled });
});

function run(
  bytes: Buffer,
  compression: Compression,
  admission: Admission = makeAdmissions().admit("call", undefined, undefined),
): Promise<Buffer> {
  const tooLarge = (bytes: number) => new ApiError(Code.ResourceExhausted, `More than ${bytes} bytes`);
  return inflate(bytes, compression, { limitBytes: LIMIT, admission, tooLarge });
}

function makeAdmissions(bufferedBytes = DEFAULT_SERVER_LIMITS.bufferedBytes): Admissions {
  return new Admissions({ ...DEFAULT_SERVER_LIMITS, bufferedBytes }, { perKey: false });
}
