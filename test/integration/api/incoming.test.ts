import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, beforeEach, describe, it } from "node:test";
import * as v from "valibot";
import { incomingRoute } from "../../../src/api/routing/route.ts";
import { AppError } from "../../../src/platform/errors.ts";
import { drained } from "../../support/drained.ts";
import { until } from "../../support/until.ts";
import { AUTHORIZATION, connect, type Harness, startServer } from "./harness.ts";

const LIMIT_BYTES = 1_000_000;
const HEAD = `PUT /v1/blobs/x HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n`;
const ALIVE = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

/** How the handler reads the body, and the outcome of each request. */
let take: (pieces: AsyncIterable<Uint8Array>) => Promise<Buffer>;
let outcomes: ("taken" | unknown)[] = [];

async function takeAll(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

const blobRoute = () =>
  incomingRoute({
    method: "PUT",
    path: "/v1/blobs/{name}",
    operationId: "putBlob",
    summary: "Put",
    tag: "test",
    role: "member",
    rate: "read",
    errors: ["bulk_too_large", "limit_reached"],
    params: v.strictObject({ name: v.string() }),
    success: { status: 201, description: "Put", schema: v.unknown() },
    async handler({ params, body }) {
      if (params.name === "refused") throw new AppError("limit_reached", "Not now.");
      try {
        const tooLong = () => new AppError("bulk_too_large", "Too long.");
        const bytes = await take(
          body.read(params.name === "big" ? Number.MAX_SAFE_INTEGER : LIMIT_BYTES, tooLong),
        );
        outcomes.push("taken");
        return { bytes: bytes.length, declared: body.declaredBytes };
      } catch (error) {
        outcomes.push(error);
        throw error;
      }
    },
  });

async function answerOf(req: ClientRequest) {
  const [res] = (await once(req, "response")) as [IncomingMessage];
  return { status: res.statusCode, headers: res.headers, body: JSON.parse(await text(res)) };
}

describe("a body that is handed on as it comes", () => {
  let server: Harness;
  before(async () => {
    server = await startServer({ extraRoutes: [blobRoute()] });
  });
  after(() => server.close());
  beforeEach(() => {
    outcomes = [];
    take = takeAll;
  });

  const put = (name: string, headers: Record<string, string | number> = {}) =>
    request({
      port: server.port,
      host: "127.0.0.1",
      method: "PUT",
      path: `/v1/blobs/${name}`,
      headers: { authorization: "Bearer good", ...headers },
      agent: false,
    });

  it("comes whole: none, of a length, chunked, byte by byte, after an answer that it may come", async () => {
    const body = randomBytes(LIMIT_BYTES);
    let got: Buffer = Buffer.alloc(0);
    take = async (pieces) => {
      got = await takeAll(pieces);
      return got;
    };
    for (const headers of [{}, { "content-length": body.length }] as Record<string, number>[]) {
      const req = put("x", headers);
      req.end(body);
      assert.equal((await answerOf(req)).status, 201);
      assert.ok(got.equals(body));
    }
    const empty = put("x", { "content-length": 0 });
    empty.end();
    assert.deepEqual((await answerOf(empty)).body, { bytes: 0, declared: 0 });

    const client = connect(server.port);
    client.send(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    for (const byte of body.subarray(0, 50)) client.send(Buffer.from([0x31, 13, 10, byte, 13, 10]));
    client.send("0\r\n\r\n");
    assert.equal((await client.reply()).status, 201);
    assert.ok(got.equals(body.subarray(0, 50)));
    // The connection serves on.
    client.send(ALIVE);
    assert.equal((await client.reply()).status, 200);
    client.destroy();

    const expecting = put("x", { expect: "100-continue", "content-length": 5 });
    expecting.flushHeaders();
    await once(expecting, "continue");
    expecting.end("12345");
    assert.deepEqual((await answerOf(expecting)).body, { bytes: 5, declared: 5 });
  });

  it("is not read further while the handler does not take it", async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    take = async (pieces) => {
      await gate;
      let bytes = 0;
      for await (const piece of pieces) bytes += piece.length;
      return Buffer.alloc(bytes % 1_000);
    };
    const totalBytes = 64 * 1_048_576;
    const req = put("big", { "content-length": totalBytes });
    const piece = Buffer.alloc(1_048_576);
    let sent = 0;
    const sending = (async () => {
      while (sent < totalBytes) {
        const taken = req.write(piece);
        sent += piece.length;
        if (!taken) await once(req, "drain");
      }
      req.end();
    })();
    const answer = answerOf(req);
    // The kernel's buffers fill up, then nothing moves any more.
    let last = -1;
    let still = 0;
    await until("the client has to wait", () => {
      still = sent === last ? still + 1 : 0;
      last = sent;
      return still > 25;
    });
    assert.ok(sent < totalBytes / 2, `${sent} bytes were taken in`);
    go();
    await sending;
    assert.equal((await answer).status, 201);
  });

  it("that is too long is refused before it comes, or as soon as it gets too long", async () => {
    const client = connect(server.port);
    client.send(`${HEAD}Content-Length: ${LIMIT_BYTES + 1}\r\n\r\n`);
    const early = await client.closed();
    assert.match(early, /^HTTP\/1\.1 413 .*\r\n/);
    assert.match(early, /\r\nConnection: close\r\n/);
    assert.match(early, /"code":"bulk_too_large".*\r\n0\r\n\r\n$/);

    const req = put("x");
    const answered = answerOf(req);
    const piece = Buffer.alloc(65_536);
    for (let bytes = 0; bytes <= LIMIT_BYTES; bytes += piece.length) req.write(piece);
    const { status, headers, body } = await answered;
    assert.deepEqual([status, body.code, headers.connection], [413, "bulk_too_large", "close"]);
    req.destroy();
  });

  it("of a refused request is dropped for a while, and then not read any more", async () => {
    /** @returns the answer's status; resolves when the server has cut off a client that goes on sending */
    async function pourInto(name: string, headers: Record<string, string>) {
      const req = put(name, headers);
      req.on("error", () => {});
      const piece = Buffer.alloc(65_536);
      req.write(piece);
      const answer = await answerOf(req);
      while (!req.destroyed) {
        req.write(piece);
        if (req.writableNeedDrain) await drained(req);
      }
      return answer.status;
    }
    const statuses = await Promise.all([
      pourInto("refused", {}),
      pourInto("x", { authorization: "Bearer bad" }),
      pourInto("x?no=1", {}),
    ]);
    assert.deepEqual(statuses, [409, 401, 400]);
    assert.deepEqual(outcomes, []);
  });

  it("of a refused request that ends soon leaves a whole answer", async () => {
    const body = Buffer.alloc(300_000);
    const req = put("refused", { "content-length": String(body.length) });
    req.end(body);
    const answer = await answerOf(req);
    assert.deepEqual([answer.status, answer.body.code], [409, "limit_reached"]);
    const empty = await fetch(`http://127.0.0.1:${server.port}/v1/blobs/refused`, {
      method: "PUT",
      headers: { authorization: "Bearer good" },
    });
    assert.deepEqual([empty.status, empty.headers.get("connection")], [409, null]);
    await empty.arrayBuffer();
  });

  it("of a refused request is logged as refused, also when the client closes soon", async () => {
    const own = await startServer({ extraRoutes: [blobRoute()] });
    const client = connect(own.port);
    try {
      client.send("PUT /v1/blobs/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nsome of it");
      await until("it is refused", () => client.received().includes("HTTP/1.1 401"));
      client.destroy();
      await until("it is told of", () => own.logged.length > 0);
      await own.drain();
      assert.deepEqual(
        own.logged.map(({ status, code }) => [status, code]),
        [[401, "unauthorized"]],
      );
    } finally {
      client.destroy();
      await own.close();
    }
  });

  it("is never taken for whole when the client goes in the middle", async () => {
    for (const head of ["Content-Length: 1000", "Transfer-Encoding: chunked"]) {
      outcomes = [];
      const client = connect(server.port);
      client.send(`${HEAD}${head}\r\n\r\n`);
      client.send("5\r\n12345\r\n");
      const begun = new Promise<void>((resolve) => {
        take = async (pieces) => {
          const all: Uint8Array[] = [];
          for await (const piece of pieces) {
            all.push(piece);
            resolve();
          }
          return Buffer.concat(all);
        };
      });
      await begun;
      client.destroy();
      await until("the handler hears of it", () => outcomes.length === 1);
      assert.ok(outcomes[0] instanceof AppError && outcomes[0].code === "bad_request", String(outcomes[0]));
    }
  });

  it("with two lengths is refused and never handed on", async () => {
    const client = connect(server.port);
    client.send(`${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345`);
    assert.match(await client.closed(), /^HTTP\/1\.1 400 /);
    assert.deepEqual(outcomes, []);
  });

  it("is waited for by a process that shuts down", async () => {
    const own = await startServer({ extraRoutes: [blobRoute()] });
    const client = connect(own.port);
    client.send(`${HEAD}Content-Length: 10\r\n\r\n12345`);
    const begun = new Promise<void>((resolve) => {
      take = async (pieces) => {
        resolve();
        return takeAll(pieces);
      };
    });
    await begun;
    const drained = own.drain();
    client.send("67890");
    const reply = await client.reply();
    assert.deepEqual([reply.status, reply.json()], [201, { bytes: 10, declared: 10 }]);
    await drained;
    own.closeNow();
    client.destroy();
  });
});
