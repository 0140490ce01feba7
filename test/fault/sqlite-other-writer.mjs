// A process that inserts rows into the table `told` of a database file, and reports each row after its commit.
import { setTimeout as sleep } from "node:timers/promises";
import Database from "libsql";

const [path, count] = process.argv.slice(2);
const db = new Database(path, { timeout: 2 });
const insert = db.prepare("INSERT INTO told VALUES (?)");
for (let i = 0; i < Number(count); i++) {
  const name = `${process.pid}-${i}`;
  for (;;) {
    try {
      db.exec("BEGIN IMMEDIATE");
      break;
    } catch (error) {
      if (error.code !== "SQLITE_BUSY") throw error;
      await sleep(1);
    }
  }
  insert.run([name]);
  db.exec("COMMIT");
  process.send(name);
  await sleep(Math.random() * 3);
}
db.close();
process.disconnect();
