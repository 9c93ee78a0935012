// Alone in its process: it changes the environment.
import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  createWebhookClient,
  type WebhookClient,
} from "../../../../../src/features/webhooks/deliver/webhook-client.ts";
import type { HostAddresses } from "../../../../../src/features/webhooks/deliver/webhook-target.ts";
import { type Clock, systemClock } from "../../../../../src/platform/time/clock.ts";
import { selfSignedContext } from "../../../../support/mail-world/certificate.ts";
import { createClosing } from "../../../../support/store.ts";
import { until } from "../../../../support/until.ts";
import { startReceiver, type WebhookReceiver, withStatus } from "../../../../support/webhook-receiver.ts";

const closing = createClosing();
after(closing.close);

/** A clock on which the timeout for a body is fifty times as short; measured times are real. */
const hurried: Clock = {
  ...systemClock,
  after: (ms, callback) => systemClock.after(ms === LIMITS.webhooks.responseBodyMs ? ms / 50 : ms, callback),
};

const nowhere = async (): Promise<HostAddresses> => ({ found: false, error: "host_not_found" });
const client = createWebhookClient({ lookup: nowhere, clock: hurried, privateAddresses: true });
const patient = createWebhookClient({ lookup: nowhere, clock: systemClock, privateAddresses: true });

/**
 * The outcome of an attempt once the timeouts of `ms` or less have fired, after the request has reached the server:
 * independent of the machine's load.
 */
async function failureAfter(ms: number, misbehave: (socket: Socket) => void, scheme = "http") {
  const waits = new Set<{ ms: number; over: () => void }>();
  const clock: Clock = {
    ...systemClock,
    after(waitMs, over) {
      const wait = { ms: waitMs, over };
      waits.add(wait);
      return { cancel: () => waits.delete(wait) };
    },
  };
  let asked = false;
  const { port, sockets } = await startRaw((socket) => {
    asked = true;
    misbehave(socket);
  });
  const by = createWebhookClient({ lookup: nowhere, clock, privateAddresses: true });
  const failing = failure(`${scheme}://127.0.0.1:${port}/`, by);
  await until("the server is asked", () => asked);
  for (const wait of [...waits]) if (wait.ms <= ms && waits.delete(wait)) wait.over();
  const word = await failing;
  await until("the connection is gone", () => sockets.size === 0);
  return word;
}

const post = (url: string, by: WebhookClient = patient) =>
  by.post({ url, headers: { "webhook-id": "evt_1" }, body: '{"a":"ä"}' });

async function failure(url: string, by: WebhookClient = patient): Promise<string> {
  const attempt = await post(url, by);
  return attempt.answered ? `answered ${attempt.status}` : attempt.error;
}

/** A server that runs `misbehave` on each connection, once the request has begun to arrive, or at once. */
async function startRaw(misbehave: (socket: Socket) => void, when: "asked" | "connected" = "asked") {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    if (when === "connected") misbehave(socket);
    else socket.once("data", () => misbehave(socket));
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, port, sockets };
}

/** Writes `chunk` for as long as the other side takes it. */
function pour(socket: Socket, chunk: string, encoding: BufferEncoding = "utf8"): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk, encoding));
  };
  socket.on("drain", more);
  more();
}

describe("a delivery to a receiver that behaves", () => {
  let receiver: WebhookReceiver;
  before(async () => {
    receiver = await startReceiver();
    closing.after(() => receiver.close());
  });

  it("is one POST of the body, with path, query and headers, on a connection of its own", async () => {
    const attempt = await post(`${receiver.url}?a=b%20c`);
    assert.ok(attempt.answered && attempt.status === 204 && attempt.durationMs >= 0);
    const [request] = receiver.received;
    assert.deepEqual(
      [request?.method, request?.path, request?.body, request?.headers["webhook-id"]],
      ["POST", "/hook?a=b%20c", '{"a":"ä"}', "evt_1"],
    );
    assert.equal(request?.headers.host, `127.0.0.1:${receiver.port}`);
    assert.equal(request?.headers.connection, "close");
    assert.equal(request?.headers["content-length"], "10");
  });

  it("reads Retry-After, and follows no redirect", async () => {
    const elsewhere = await startReceiver();
    closing.after(() => elsewhere.close());
    receiver.answer(withStatus(307, { Location: elsewhere.url, "Retry-After": "7" }));
    const attempt = await post(receiver.url);
    assert.ok(attempt.answered);
    assert.deepEqual([attempt.status, attempt.retryAfter], [307, "7"]);
    assert.equal(elsewhere.received.length, 0);
  });

  it("keeps the beginning of the answer's body as text", async () => {
    const { responseBodyKeptBytes } = LIMITS.webhooks;
    receiver.answer((_, response) => {
      response.writeHead(500, { "Content-Type": "application/octet-stream" });
      response.write(Buffer.from('{"error":"Größe\0"}'));
      response.end(Buffer.alloc(2 * responseBodyKeptBytes, "x"));
    });
    const attempt = await post(receiver.url);
    assert.ok(attempt.answered);
    assert.equal(attempt.body.slice(0, 18), '{"error":"Größe"}x');
    // Of the bytes that are kept one is the zero byte, and two are the second bytes of ö and ß.
    assert.equal(attempt.body.length, responseBodyKeptBytes - 3);
    receiver.answer(withStatus(204));
    const empty = await post(receiver.url);
    assert.ok(empty.answered && empty.body === "");
  });

  it("takes no proxy from the environment", async () => {
    const proxy = await startReceiver();
    closing.after(() => proxy.close());
    receiver.answer(withStatus(204));
    const before = { ...process.env };
    Object.assign(process.env, { http_proxy: proxy.url, HTTP_PROXY: proxy.url, NODE_USE_ENV_PROXY: "1" });
    closing.after(() => {
      process.env = before;
    });
    const attempt = await post(receiver.url);
    assert.ok(attempt.answered && attempt.status === 204);
    assert.equal(proxy.received.length, 0);
  });
});

describe("a delivery to a receiver that misbehaves ends with a word for it", () => {
  const OK = "HTTP/1.1 200 OK\r\n";
  const cases: [string, (socket: Socket) => void, string][] = [
    ["nonsense", (s) => s.write("SSH-2.0-OpenSSH_9.6\r\n"), "invalid_response"],
    ["a hundred bytes of zero", (s) => s.write(Buffer.alloc(100)), "invalid_response"],
    [
      "two lengths",
      (s) => s.write(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`),
      "invalid_response",
    ],
    ["a header without end", (s) => pour(s, `${OK}X: ${"a".repeat(10_000)}`), "invalid_response"],
    ["headers without end", (s) => pour(s, `${OK}${"X: y\r\n".repeat(5_000)}`), "invalid_response"],
    ["empty lines without end", (s) => pour(s, "\r\n".repeat(5_000)), "invalid_response"],
    [
      "interim answers without end",
      (s) => pour(s, "HTTP/1.1 100 Continue\r\n\r\n".repeat(500)),
      "invalid_response",
    ],
    [
      "another protocol",
      (s) => s.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"),
      "invalid_response",
    ],
    ["a status that there is not", (s) => s.write("HTTP/1.1 999 OK\r\n\r\n"), "invalid_response"],
    ["a status below all that there are", (s) => s.write("HTTP/1.1 099 OK\r\n\r\n"), "invalid_response"],
    ["nothing, and closes", (s) => s.end(), "connection_closed"],
    ["nothing, and resets", (s) => s.resetAndDestroy(), "connection_closed"],
    ["half a header, and closes", (s) => s.end(`${OK}Content-Le`), "connection_closed"],
  ];
  for (const [name, misbehave, word] of cases)
    it(`sends ${name}: ${word}`, async () => {
      const { url, sockets } = await startRaw(misbehave);
      assert.equal(await failure(url), word);
      await until("the connection is gone", () => sockets.size === 0);
    });

  it("sends nothing: timeout", async () => {
    assert.equal(await failureAfter(LIMITS.webhooks.attemptMs, () => undefined), "timeout");
  });

  it("trickles a header: timeout", async () => {
    const trickle = (socket: Socket) => {
      socket.write(`${OK}X: `);
      const timer = setInterval(() => socket.write("a"), 5);
      socket.on("close", () => clearInterval(timer));
    };
    assert.equal(await failureAfter(LIMITS.webhooks.attemptMs, trickle), "timeout");
  });

  it("listens no more: connection_refused", async () => {
    const receiver = await startReceiver();
    await receiver.close();
    assert.equal(await failure(receiver.url), "connection_refused");
  });
});

describe("an answer is its header", () => {
  const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const bodies: [string, (socket: Socket) => void][] = [
    [
      "a body without end",
      (socket) => {
        socket.write(head);
        pour(socket, `3000\r\n${"a".repeat(0x3000)}\r\n`);
      },
    ],
    ["chunk extensions without end", (socket) => pour(socket, `${head}1;${"a".repeat(10_000)}`)],
    ["a body that stops in the middle", (socket) => socket.write(`${head}5\r\nab`)],
    ["a body that is cut off", (socket) => socket.end(`${head}5\r\nab`)],
    ["a body that is no chunk", (socket) => socket.write(`${head}zzz`)],
  ];
  for (const [name, misbehave] of bodies)
    it(`whatever follows: ${name}`, async () => {
      const { url, sockets } = await startRaw(misbehave);
      const attempt = await post(url, client);
      assert.ok(attempt.answered && attempt.status === 200, JSON.stringify(attempt));
      assert.ok(attempt.body.length <= LIMITS.webhooks.responseBodyKeptBytes);
      await until("the connection is gone", () => sockets.size === 0);
    });

  it("counts as soon as it is there, not when the body has been waited for", async () => {
    const { url } = await startRaw((socket) => socket.write(`${head}5\r\nab`));
    const beganMs = performance.now();
    const attempt = await post(url);
    assert.equal(attempt.answered && attempt.body, "ab");
    const bodyMs = performance.now() - beganMs - attempt.durationMs;
    assert.ok(bodyMs >= LIMITS.webhooks.responseBodyMs * 0.9, `${bodyMs} ms of it for the body`);
  });
});

describe("TLS", () => {
  it("to a server without TLS, or a silent one, fails", async () => {
    const plain = await startRaw((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n"));
    assert.equal(await failure(`https://127.0.0.1:${plain.port}/`), "tls_failure");
    assert.equal(await failureAfter(LIMITS.webhooks.attemptMs, () => undefined, "https"), "timeout");
    const closed = await startRaw((socket) => socket.destroy());
    assert.equal(await failure(`https://127.0.0.1:${closed.port}/`), "tls_failure");
  });

  it("whose handshake never ends is cut off by the bytes on the wire, which TLS does not report", async () => {
    // TLS 1.2 (RFC 5246 §7.4.1.1): a client ignores a HelloRequest while it negotiates, and each after it.
    const helloRequests = "\x16\x03\x03\x00\x04\x00\x00\x00\x00".repeat(1_000);
    const flood = await startRaw((socket) => pour(socket, helloRequests, "latin1"));
    assert.equal(await failure(`https://127.0.0.1:${flood.port}/`), "tls_failure");
    await until("the connection is gone", () => flood.sockets.size === 0);
  });

  it("whose handshake makes no headway is given up long before the attempt would be", async () => {
    assert.equal(await failureAfter(LIMITS.webhooks.handshakeMs, () => undefined, "https"), "timeout");
  });

  it("sends the host's name (SNI), and rejects a certificate without a trusted issuer", async () => {
    const named: unknown[] = [];
    let asked = 0;
    const server = createTlsServer({
      SNICallback(name, callback) {
        named.push(name);
        callback(null, selfSignedContext(name));
      },
    });
    server.on("secureConnection", (socket) => socket.on("data", () => (asked += 1)));
    server.on("tlsClientError", () => undefined);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
    const { port } = server.address() as AddressInfo;
    const by = createWebhookClient({
      lookup: async () => ({ found: true, addresses: ["127.0.0.1"] }),
      clock: systemClock,
      privateAddresses: true,
    });
    assert.equal(await failure(`https://hooks.example.com:${port}/`, by), "tls_failure");
    assert.deepEqual(named, ["hooks.example.com"]);
    assert.equal(asked, 0);
  });
});
