import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { TlsPaths } from "../../src/server/tls-files.js";

/** Makes a self-signed certificate for localhost and its key, and overwrites files that are there. */
export function makeCertificate({ certPath, keyPath }: TlsPaths): Buffer {
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", [...args, ...subject, "-keyout", keyPath, "-out", certPath], { stdio: "ignore" });
  return readFileSync(certPath);
}
