// Stands in for src/main.ts in the launcher's test: answers, says its pid, and makes keys.
import { createServer } from "node:http";

if (process.argv[2] === "bootstrap") {
  const of = (kind: string) => `${kind}-${process.pid}`;
  console.log(JSON.stringify({ live_key: of("live"), test_key: of("test"), session_token: of("session") }));
} else {
  const port = Number(process.env.PORT);
  const server = createServer((_req, res) => res.end(String(process.pid)));
  server.listen(port, process.env.HOST, () => {
    const metricsPort = Number(process.env.METRICS_PORT);
    process.send?.({ type: "ready", role: "all", url: `http://127.0.0.1:${port}`, port, metricsPort });
  });
  process.once("SIGTERM", () => process.exit(0));
}
