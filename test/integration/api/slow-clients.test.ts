import assert from "node:assert/strict";
import { it } from "node:test";
import { AUTHORIZATION, connect, echoRoute, startServer } from "./harness.ts";

/** uWebSockets.js counts in steps of 4 s: what has 10 s ends within 12, later on a busy machine; without a limit never. */
const CUT_OFF_MS = 120_000;

// The one test here that waits for real: the limit is built into uWebSockets.js, so only its effect can be seen.
it("cuts off a client that is slow with a header or a next request, also after a refused body, and answers 408 to slow bodies", {
  timeout: CUT_OFF_MS,
}, async () => {
  const server = await startServer({ extraRoutes: [echoRoute()] });
  const post = `POST /v1/echo HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\nContent-Type: application/json\r\n`;
  const slow = [
    "",
    "POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "HEAD /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "OPTIONS /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    `${post}X: `,
    `${post}Content-Length: 900\r\n\r\n`,
    `${post}Transfer-Encoding: chunked\r\n\r\n`,
  ];
  const drips = ["", "", "", "", "", "a", "a", "1\r\na\r\n"];
  const clients = slow.map(() => connect(server.port));
  const timer = setInterval(() => {
    for (const [i, client] of clients.entries()) client.send(drips[i] ?? "");
  }, 1_000);
  try {
    for (const [i, client] of clients.entries()) client.send(slow[i] ?? "");
    const received = await Promise.all(clients.map((client) => client.closed()));
    assert.deepEqual(
      received.map((text) => text.match(/HTTP\/1\.1 \d+/g)?.join() ?? ""),
      [
        "",
        "HTTP/1.1 401",
        "HTTP/1.1 200",
        "HTTP/1.1 200",
        "HTTP/1.1 204",
        "",
        "HTTP/1.1 408",
        "HTTP/1.1 408",
      ],
    );
  } finally {
    clearInterval(timer);
    for (const client of clients) client.destroy();
    await server.close();
  }
});
