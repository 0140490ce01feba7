/** Makes the bytes of HTTP/2 frames, for clients that break the protocol's rules. */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
  /** An undefined type. HTTP/2 requires that frames of unknown types are ignored. */
  unknown: 0xfa,
} as const;

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** Encodes headers as HPACK literals that are not added to the dynamic table. */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const text = (value: string): Buffer => Buffer.concat([lengthOf(Buffer.byteLength(value)), Buffer.from(value)]);
  return Buffer.concat(
    Object.entries(headers).map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)])),
  );
}

/** Encodes an HPACK integer with a prefix of 7 bits. */
function lengthOf(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  for (let left = value - 127; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 0x80);
  }
}
