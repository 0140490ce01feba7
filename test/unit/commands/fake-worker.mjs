/** A worker that starts nothing: it sends back what it is told, and ends when it is told to stop. */
process.on("message", (message) => {
  if (message.kind === "stop") process.exit();
  process.send(message);
});
process.send({ kind: "listening" });
