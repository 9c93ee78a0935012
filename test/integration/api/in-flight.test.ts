import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VerificationResult } from "../../../src/features/verify/answer/verification-result.ts";
import type { VerifyAddress } from "../../../src/features/verify/answer/verify-address.ts";
import { until } from "../../support/until.ts";
import {
  AUTHORIZATION,
  connect,
  echoRoute,
  get,
  itemRoute,
  openGate,
  type RawClient,
  resultFor,
  startServer,
} from "./harness.ts";

const REQUEST = `GET /v1/verify?email=a@b.c HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n\r\n`;

const BROKEN_OFF = "work for a client that had gone was broken off";
const DELETE = `DELETE /v1/items/other HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n\r\n`;

/** A verification that ends when the test says so, and reports when another one has begun. */
function heldVerify() {
  const held: { resolve(): void; reject(error: Error): void; cancelled(): boolean; cancellations: number }[] =
    [];
  let wake: () => void = () => {};
  const verify: VerifyAddress = (input, _actor, context) =>
    new Promise<VerificationResult>((resolve, reject) => {
      const entry = {
        resolve: () => resolve(resultFor(input.email)),
        reject,
        cancelled: () => context.cancelled(),
        cancellations: 0,
      };
      context.onCancel(() => entry.cancellations++);
      held.push(entry);
      wake();
    });
  const begun = async (count: number) => {
    while (held.length < count) await new Promise<void>((resolve) => (wake = resolve));
    return held;
  };
  return { verify, held, begun };
}

describe("requests in flight", () => {
  it("are bounded; health is served beyond the bound; one that ends makes room", async () => {
    const { verify, held, begun } = heldVerify();
    const server = await startServer({ verify, limits: { requestsInFlight: 2 } });
    const clients = [connect(server.port), connect(server.port)];
    try {
      for (const client of clients) client.send(REQUEST);
      await begun(2);
      const refused = await get(server.port, "/v1/verify?email=a@b.c");
      assert.deepEqual([refused.status, refused.json().code], [503, "overloaded"]);
      assert.equal(refused.headers["retry-after"], "1");
      assert.equal((await get(server.port, "/healthz")).status, 200);
      assert.equal((await get(server.port, "/readyz")).status, 200);
      held[0]?.resolve();
      assert.equal((await clients[0]?.reply())?.status, 200);
      clients[0]?.send(REQUEST);
      await begun(3);
      for (const entry of held) entry.resolve();
      for (const client of clients) assert.equal((await client.reply()).status, 200);
    } finally {
      for (const client of clients) client.destroy();
      await server.close();
    }
  });

  it("know when their client has gone, count until their work ends, and never write to it", async () => {
    const { verify, held, begun } = heldVerify();
    const server = await startServer({ verify, limits: { requestsInFlight: 1 } });
    try {
      const client = connect(server.port);
      client.send(REQUEST);
      await begun(1);
      assert.equal(held[0]?.cancelled(), false);
      client.destroy();
      await client.closed();
      while (held[0]?.cancelled() === false) await get(server.port, "/healthz");
      assert.equal(held[0]?.cancellations, 1);
      assert.equal((await get(server.port, "/v1/verify?email=a@b.c")).status, 503);
      held[0]?.resolve();
      await begun(1);
      const next = connect(server.port);
      next.send(REQUEST);
      await begun(2);
      held[1]?.resolve();
      assert.equal((await next.reply()).status, 200);
      next.destroy();
      const gone = server.logged.filter((event) => event.status === 499);
      assert.equal(gone.length, 1);
    } finally {
      for (const entry of held) entry.resolve();
      await server.close();
    }
  });

  it("survive a rejection after their client has gone, and a cancellation that throws", async () => {
    const { verify, held, begun } = heldVerify();
    const server = await startServer({
      verify: (input, actor, context) => {
        context.onCancel(() => {
          throw new Error("in a callback");
        });
        return verify(input, actor, context);
      },
    });
    try {
      const client = connect(server.port);
      client.send(REQUEST);
      await begun(1);
      client.destroy();
      await client.closed();
      while (held[0]?.cancelled() === false) await get(server.port, "/healthz");
      held[0]?.reject(new Error("too late"));
      assert.equal((await get(server.port, "/healthz")).status, 200);
      const messages = server.logged.map((event) => event.message);
      assert.ok(messages.includes("a cancellation failed") && messages.includes(BROKEN_OFF));
    } finally {
      await server.close();
    }
  });

  it("that a pipelined request cut off are logged as the client's doing, without a stack", async () => {
    const server = await startServer({
      verify: (_input, _actor, context) =>
        new Promise((_resolve, reject) => {
          context.onCancel(() => reject(new Error("the client has gone")));
        }),
    });
    const client = connect(server.port);
    try {
      client.send(REQUEST + REQUEST);
      await client.closed();
      await until("the work has ended", () => server.logged.length >= 2);
      assert.deepEqual(
        server.logged.map(({ level, message, status, reason, err }) => [level, message, status, reason, err]),
        [
          ["warn", "client closed the connection before its answer", 499, undefined, undefined],
          ["info", BROKEN_OFF, undefined, "Error: the client has gone", undefined],
        ],
      );
    } finally {
      client.destroy();
      await server.close();
    }
  });

  it("call their callback at once when the client had disconnected before it was set", async () => {
    let late: Promise<number> = Promise.resolve(0);
    const { held, begun, verify } = heldVerify();
    const server = await startServer({
      verify(input, actor, context) {
        const answer = verify(input, actor, context) as Promise<VerificationResult>;
        late = answer.then(() => {
          let calls = 0;
          context.onCancel(() => calls++);
          return calls;
        });
        return answer;
      },
    });
    try {
      const client = connect(server.port);
      client.send(REQUEST);
      await begun(1);
      client.destroy();
      while (held[0]?.cancelled() === false) await get(server.port, "/healthz");
      held[0]?.resolve();
      assert.equal(await late, 1);
    } finally {
      await server.close();
    }
  });
});

describe("leaving", () => {
  it("serves as ever, on new connections too, and each answer closes its connection", async () => {
    const server = await startServer();
    const kept = connect(server.port);
    try {
      kept.send(REQUEST);
      assert.equal((await kept.reply()).headers.connection, undefined);
      server.leave();
      kept.send(REQUEST);
      const reply = await kept.reply();
      assert.deepEqual([reply.status, reply.headers.connection], [200, "close"]);
      assert.equal(await kept.closed(), "");
      for (const target of ["/v1/verify?email=a@b.c", "/healthz", "/nowhere", "/v1/verify"]) {
        const fresh = await get(server.port, target);
        assert.equal(fresh.headers.connection, "close", target);
      }
      assert.equal(server.verified.length, 3);
    } finally {
      kept.destroy();
      await server.close();
    }
  });

  it("answers a request that is there with others behind it, and does no work for those", async () => {
    const server = await startServer({ extraRoutes: [itemRoute()] });
    try {
      server.leave();
      const head = REQUEST.replace("GET", "HEAD");
      const wrong = `GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n`;
      const others = [REQUEST, head, DELETE, REQUEST];
      for (const [first, status] of [[REQUEST, 200] as const, [wrong, 404] as const]) {
        const client = connect(server.port);
        client.send(first + others.join(""));
        const reply = await client.reply();
        assert.deepEqual([reply.status, reply.headers.connection], [status, "close"]);
        const rest = await client.closed();
        assert.deepEqual(
          rest.match(/HTTP.1.1 \d+/g) ?? [],
          others.map(() => "HTTP/1.1 503"),
        );
        // Another connection is not taken for that one.
        assert.equal((await get(server.port, "/nowhere")).status, 404);
      }
      assert.equal(server.verified.length, 1);
    } finally {
      await server.close();
    }
  });

  it("takes none for another while many end at once", async () => {
    const server = await startServer();
    try {
      const clients = Array.from({ length: 50 }, () => connect(server.port));
      for (const client of clients) client.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
      for (const client of clients) assert.equal((await client.reply()).status, 200);
      server.leave();
      for (const client of clients) client.send(REQUEST);
      for (const client of clients) {
        assert.equal((await client.reply()).status, 200);
        assert.equal(await client.closed(), "");
      }
      assert.equal(server.verified.length, 50);
    } finally {
      await server.close();
    }
  });

  it("does not even begin what is not asked by GET when something comes behind it", async () => {
    const server = await startServer({ extraRoutes: [itemRoute()] });
    try {
      server.leave();
      const client = connect(server.port);
      client.send(DELETE + REQUEST);
      assert.equal(await client.closed(), "");
      assert.deepEqual(server.verified, []);
    } finally {
      await server.close();
    }
  });

  it("cannot answer what is being worked on when something comes behind it, no more than else", async () => {
    for (const leaving of [false, true]) {
      const { verify, held } = heldVerify();
      const server = await startServer({ verify });
      try {
        if (leaving) server.leave();
        const client = connect(server.port);
        client.send(REQUEST + REQUEST);
        assert.equal(await client.closed(), "");
        assert.deepEqual(
          held.map(({ cancellations }) => cancellations),
          [1],
        );
      } finally {
        for (const entry of held) entry.resolve();
        await server.close();
      }
    }
  });

  it("takes the body of a request that comes in pieces", async () => {
    const server = await startServer({ extraRoutes: [echoRoute()] });
    const client = connect(server.port);
    try {
      server.leave();
      const head = ["POST /v1/echo HTTP/1.1", "Host: a", AUTHORIZATION, "Content-Type: application/json"];
      client.send(`${head.join("\r\n")}\r\nContent-Length: 13\r\n\r\n{"la`);
      await get(server.port, "/healthz");
      client.send('bel":"x"}');
      const reply = await client.reply();
      assert.deepEqual(
        [reply.status, reply.headers.connection, reply.json()],
        [201, "close", { label: "x" }],
      );
    } finally {
      client.destroy();
      await server.close();
    }
  });
});

describe("drain", () => {
  it("finishes what is in flight, serves open connections once more with Connection: close, and takes no new one", async () => {
    const { verify, held, begun } = heldVerify();
    const server = await startServer({ verify, gate: openGate() });
    const working: RawClient[] = Array.from({ length: 20 }, () => connect(server.port));
    const idle = connect(server.port);
    try {
      idle.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
      const first = await idle.reply();
      assert.equal(first.headers.connection, undefined);
      for (const client of working) client.send(REQUEST);
      await begun(20);
      let drained = false;
      const draining = server.drain().then(() => {
        drained = true;
      });
      await assert.rejects(get(server.port, "/healthz"));
      idle.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
      const last = await idle.reply();
      assert.deepEqual([last.status, last.headers.connection], [200, "close"]);
      await idle.closed();
      for (const entry of held.slice(0, 19)) entry.resolve();
      for (const client of working.slice(0, 19)) {
        const reply = await client.reply();
        assert.deepEqual([reply.status, reply.headers.connection], [200, "close"]);
      }
      assert.equal(drained, false);
      held[19]?.resolve();
      await draining;
      assert.equal((await working[19]?.reply())?.status, 200);
    } finally {
      for (const entry of held) entry.resolve();
      for (const client of [...working, idle]) client.destroy();
      await server.close();
    }
  });

  it("refuses what comes over open connections once nothing is in flight: it would be charged and cut off", async () => {
    const server = await startServer();
    const client = connect(server.port);
    try {
      client.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
      await client.reply();
      await server.drain();
      client.send(REQUEST);
      const reply = await client.reply();
      assert.deepEqual(
        [reply.status, reply.json().code, reply.headers.connection],
        [503, "unavailable", "close"],
      );
      assert.deepEqual(server.verified, []);
    } finally {
      client.destroy();
      await server.close();
    }
  });

  it("then closes idle connections", async () => {
    const server = await startServer();
    const client = connect(server.port);
    client.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.reply();
    await server.close();
    assert.equal(await client.closed(), "");
  });
});

describe("close", () => {
  it("cancels requests in flight, which write nothing when they end afterwards", async () => {
    const { verify, held, begun } = heldVerify();
    const server = await startServer({ verify });
    const client = connect(server.port);
    client.send(REQUEST);
    await begun(1);
    const draining = Promise.all([server.drain(), server.drain()]);
    server.closeNow();
    assert.equal(await client.closed(), "");
    assert.deepEqual([held[0]?.cancelled(), held[0]?.cancellations], [true, 1]);
    held[0]?.resolve();
    await draining;
    await server.close();
  });
});

describe("a gate that fails", () => {
  it("does not take the answer with it when it cannot describe the limits", async () => {
    const limitsLeft = () => {
      throw new Error("no description");
    };
    const server = await startServer({ gate: openGate({ limitsLeft }) });
    try {
      const reply = await get(server.port, "/v1/verify?email=a@b.c");
      assert.deepEqual([reply.status, reply.headers.ratelimit], [200, undefined]);
    } finally {
      await server.close();
    }
  });
});
