import type { Chunks } from "./split-json.js";

/** Text as UTF-8. Windows writes UTF-16 with a mark in front when the output of a program goes to a file. */
export async function* withUtf8(chunks: Chunks): Chunks {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst) decoder = utf16Decoder(chunk);
    isFirst = false;
    yield decoder ? Buffer.from(decoder.decode(chunk, { stream: true })) : chunk;
  }
  if (decoder) yield Buffer.from(decoder.decode());
}

function utf16Decoder([first, second]: Uint8Array): InstanceType<typeof TextDecoder> | undefined {
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le");
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be");
  return undefined;
}
