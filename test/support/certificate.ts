import { writeFile } from "node:fs/promises";
import { generate } from "selfsigned";
import type { TlsPaths } from "../../src/server/tls-files.js";

/** The types of names in a certificate (RFC 5280, GeneralName). */
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** Makes a self-signed certificate for localhost and its key, and overwrites files that are there. */
export async function makeCertificate({ certPath, keyPath }: TlsPaths): Promise<Buffer> {
  const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    curve: "P-256",
    notAfterDate: new Date(Date.now() + 2 * 86_400_000),
    extensions: [
      {
        name: "subjectAltName",
        altNames: [
          { type: DNS_NAME, value: "localhost" },
          { type: IP_ADDRESS, ip: "127.0.0.1" },
        ],
      },
    ],
  });
  await Promise.all([writeFile(certPath, cert), writeFile(keyPath, key)]);
  return Buffer.from(cert);
}
