// Stands for the service where users sign in: prints a token for a user, which is valid for an hour.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { exportJWK, exportPKCS8, generateKeyPair, importPKCS8, SignJWT } from "jose";

const SECRET = "login-key.pem";

if (!existsSync(SECRET)) {
  const { privateKey, publicKey } = await generateKeyPair("EdDSA", { extractable: true });
  writeFileSync(SECRET, await exportPKCS8(privateKey), { mode: 0o600 });
  writeFileSync("jwks.json", JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "EdDSA" }] }));
}

const token = new SignJWT({ namespace: "chats", scope: "write" })
  .setProtectedHeader({ alg: "EdDSA" })
  .setIssuer("login")
  .setAudience("session-pool")
  .setSubject(process.argv[2] ?? "")
  .setExpirationTime("1h");
console.log(await token.sign(await importPKCS8(readFileSync(SECRET, "utf8"), "EdDSA")));
