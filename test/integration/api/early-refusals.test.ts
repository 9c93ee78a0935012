import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { Route } from "../../../src/api/routing/route.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { Actor } from "../../../src/features/identity/actor.ts";
import { AppError } from "../../../src/platform/errors.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { until } from "../../support/until.ts";
import {
  AUTHORIZATION,
  actor,
  connect,
  echoRoute,
  entryRoute,
  exchange,
  get,
  type Harness,
  type HarnessOptions,
  openGate,
  postJson,
  type RawClient,
  startServer,
} from "./harness.ts";

const JSON_TYPE = "Content-Type: application/json";
const HEAD = `POST /v1/echo HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n${JSON_TYPE}\r\n`;
const ALIVE = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
/** A body budget of 0 bytes: a request that is refused before its body is not affected. */
const NOTHING = { bytes: 0, share: 1 };
const NO_MEMORY = { ...LIMITS.http.bodies, teams: NOTHING, unauthenticated: NOTHING };

const servers: Harness[] = [];
async function serve(options: HarnessOptions = {}): Promise<Harness> {
  const server = await startServer({ extraRoutes: [echoRoute(), entryRoute()], ...options });
  servers.push(server);
  return server;
}

/** The status of a request whose body is announced and never sent. */
async function refusedWithoutBody(server: Harness, head: string, bytes = 10_000): Promise<[string, string]> {
  const client = connect(server.port);
  client.send(`${head}Content-Length: ${bytes}\r\n\r\n`);
  const text = await until("it is refused", () => {
    const [, status, code] = /^HTTP\/1\.1 (\d+)[\s\S]*"code":"([a-z_]+)"/.exec(client.received()) ?? [];
    return status !== undefined && code !== undefined ? ([status, code] as [string, string]) : null;
  });
  client.destroy();
  return text;
}

describe("a request that is refused for its credential, role, tier or rate", () => {
  after(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  const free: Actor = { ...actor, tier: "free", limits: { ...actor.limits, bulkBytes: 0 } };
  const limited = () => {
    throw new AppError("rate_limited", "Too many.", { retryAfterS: 1 });
  };
  const rateLimited = echoRoute();
  const cases: [string, HarnessOptions, string][] = [
    ["credential", { gate: openGate({ authenticate: () => unknown() }) }, "401 unauthorized"],
    [
      "credential that is looked up",
      { gate: openGate({ authenticate: async () => unknown() }) },
      "401 unauthorized",
    ],
    [
      "role",
      { extraRoutes: [{ ...echoRoute(), access: { role: "owner" } } as Route] },
      "403 insufficient_role",
    ],
    [
      "tier",
      {
        gate: openGate({ authenticate: () => free }),
        extraRoutes: [{ ...rateLimited, feature: "bulk" } as Route],
      },
      "402 unavailable_in_tier",
    ],
    [
      "rate, where the tier would refuse it too",
      {
        gate: openGate({ authenticate: () => free, rateLimit: { take: limited } }),
        extraRoutes: [{ ...rateLimited, feature: "bulk" } as Route],
      },
      "429 rate_limited",
    ],
    [
      "rate",
      { gate: openGate({ rateLimit: { take: limited } }), extraRoutes: [rateLimited] },
      "429 rate_limited",
    ],
    [
      "rate that is asked for",
      {
        gate: openGate({ rateLimit: { take: async () => limited() } }),
        extraRoutes: [rateLimited],
      },
      "429 rate_limited",
    ],
  ];
  function unknown(): never {
    throw new AppError("unauthorized", "Unknown.");
  }

  for (const [what, options, expected] of cases)
    it(`is answered before its body comes, which is not buffered: ${what}`, async () => {
      const server = await serve({ ...options, limits: { bodies: NO_MEMORY } });
      assert.equal((await refusedWithoutBody(server, HEAD)).join(" "), expected);
      // Nor is a length over the limit looked at, which comes behind all of them.
      assert.equal((await refusedWithoutBody(server, HEAD, 10 ** 9)).join(" "), expected);
      // Conversely, an authorised request fails for lack of memory.
      const allowed = await serve({ limits: { bodies: NO_MEMORY } });
      assert.equal((await postJson(allowed.port, "/v1/echo", '{"label":"x"}')).status, 503);
    });

  for (const [what, options, expected] of cases.filter(([what]) => ["credential", "rate"].includes(what)))
    it(`is answered before a body that its route does not take: ${what}`, async () => {
      const server = await serve(options);
      const head = `GET /v1/verify?email=a@b.c HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n`;
      assert.equal((await refusedWithoutBody(server, head)).join(" "), expected);
    });

  it("is charged for a body that comes with a health check, and for no health check alone", async () => {
    const server = await serve({ gate: openGate({ publicRate: { take: limited } }) });
    assert.equal(
      (await refusedWithoutBody(server, "GET /healthz HTTP/1.1\r\nHost: a\r\n")).join(" "),
      "429 rate_limited",
    );
    assert.equal((await get(server.port, "/healthz")).status, 200);
  });

  it("leaves its connection to the next request, and nothing of its body is taken for one", async () => {
    const server = await serve();
    const head = HEAD.replace("good", "bad");
    for (const pieces of [1, 2, 5]) {
      const client = connect(server.port);
      const bytes = `${head}Content-Length: ${ALIVE.length}\r\n\r\n${ALIVE}`;
      const size = Math.ceil(bytes.length / pieces);
      for (let at = 0; at < bytes.length; at += size) {
        client.send(bytes.slice(at, at + size));
        await get(server.port, "/healthz");
      }
      assert.equal((await client.reply()).status, 401);
      client.send(ALIVE);
      assert.equal((await client.reply()).body, '{"status":"ok"}');
      assert.equal(client.received(), "");
      client.destroy();
    }
  });
});

/** A gate that answers authentication only when the test settles it; one settler for each request, in order. */
function waitingGate() {
  const settlers: ((outcome: () => Actor) => void)[] = [];
  const gate = openGate({
    authenticate: () =>
      new Promise<Actor>((resolve, reject) => {
        settlers.push((outcome) => {
          try {
            resolve(outcome());
          } catch (error) {
            reject(error);
          }
        });
      }),
  });
  return { gate, settlers };
}

describe("a body that comes while its credential is looked up", () => {
  after(async () => {
    for (const server of servers.splice(0)) await server.close();
  });
  const label = "x".repeat(40);
  const body = JSON.stringify({ label, nested: "y".repeat(300_000) });
  const chunked = body.match(/[\s\S]{1,30000}/g)?.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`);
  const forms: [string, string][] = [
    [`Content-Length: ${body.length}`, body],
    ["Transfer-Encoding: chunked", `${chunked?.join("")}0\r\n\r\n`],
  ];

  for (const [field, sent] of forms) {
    it(`is not lost (${field}), and its connection serves on`, async () => {
      const waiting = waitingGate();
      const server = await serve({ gate: waiting.gate, limits: { bodyBytes: 1_000_000 } });
      const client = connect(server.port);
      client.send(`${HEAD}${field}\r\n\r\n${sent}`);
      await until("it is asked for", () => waiting.settlers.length === 1);
      await get(server.port, "/healthz");
      waiting.settlers[0]?.(() => actor);
      assert.deepEqual((await client.reply()).json(), { label });
      client.send(ALIVE);
      assert.equal((await client.reply()).status, 200);
      client.destroy();
    });

    it(`is dropped (${field}) when the look-up fails, and the refusal arrives`, async () => {
      const waiting = waitingGate();
      const server = await serve({ gate: waiting.gate, limits: { bodyBytes: 1_000_000 } });
      const client = connect(server.port);
      client.send(`${HEAD}${field}\r\n\r\n${sent}`);
      await until("it is asked for", () => waiting.settlers.length === 1);
      waiting.settlers[0]?.(() => {
        throw new Error("the database is gone");
      });
      const reply = await client.reply();
      assert.deepEqual([reply.status, reply.json().code], [503, "unavailable"]);
      client.destroy();
    });
  }

  it("is bounded for an address, and another address is not refused for it", async () => {
    const waiting = waitingGate();
    const unread = { bytes: 20_000, share: 0.5 };
    const server = await serve({
      gate: waiting.gate,
      trustedProxies: ["127.0.0.1"],
      limits: { bodies: { ...LIMITS.http.bodies, unread } },
    });
    const { settlers } = waiting;
    const from = async (address: string) => {
      const asked = settlers.length;
      const client = connect(server.port);
      client.send(`${HEAD}X-Forwarded-For: ${address}\r\nContent-Length: 9000\r\n\r\n`);
      await until("it is asked for", () => settlers.length > asked);
      client.send('{"label":"x"}'.padEnd(9_000));
      await get(server.port, "/healthz");
      return { client, settle: () => settlers[asked]?.(() => actor) };
    };
    const holder = await from("2001:db8::1");
    const neighbour = await from("2001:db8::2");
    neighbour.settle();
    assert.equal((await neighbour.client.reply()).status, 503);
    const other = await from("2001:db8:0:1::1");
    other.settle();
    assert.equal((await other.client.reply()).status, 201);
    holder.settle();
    assert.equal((await holder.client.reply()).status, 201);
    holder.client.destroy();
    other.client.destroy();
    neighbour.client.destroy();
  });
});

describe("bodies that are collected", () => {
  after(async () => {
    for (const server of servers.splice(0)) await server.close();
  });
  const bodies = {
    ...LIMITS.http.bodies,
    teams: { bytes: 60_000, share: 0.5 },
    unauthenticated: { bytes: 60_000, share: 0.5 },
  };

  /** Begins a body that fills a share nearly, and does not end it. */
  async function hold(server: Harness, head: string): Promise<RawClient> {
    const client = connect(server.port);
    client.send(`${head}Content-Length: 16384\r\n\r\n${" ".repeat(16_000)}`);
    await get(server.port, "/healthz");
    return client;
  }
  const enter = (address: string) =>
    `POST /v1/enter HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${address}\r\n${JSON_TYPE}\r\n`;

  it("take no memory of a team when sent without credentials, and only a share per address of the rest", async () => {
    const server = await serve({ trustedProxies: ["127.0.0.1"], limits: { bodies } });
    const body = '{"label":"x"}'.padEnd(16_000);
    const enterFrom = (address: string) =>
      exchange(
        server.port,
        [
          "POST /v1/enter HTTP/1.1",
          JSON_TYPE,
          `X-Forwarded-For: ${address}`,
          `Content-Length: ${body.length}`,
        ],
        body,
      );
    const held = [await hold(server, enter("192.0.2.1"))];
    assert.equal((await enterFrom("192.0.2.1")).json().code, "overloaded");
    assert.equal((await enterFrom("192.0.2.2")).status, 201);
    for (let i = 2; i < 80; i++) held.push(await hold(server, enter(`192.0.2.${i}`)));
    assert.equal((await enterFrom("192.0.2.90")).json().code, "overloaded");
    assert.equal((await postJson(server.port, "/v1/echo", body)).status, 201);
    for (const client of held) client.destroy();
    await until("their memory is free", async () => (await enterFrom("192.0.2.1")).status === 201);
  });

  it("take memory from when they are waited for, so that an address' share bounds how many wait", async () => {
    const server = await serve({ trustedProxies: ["127.0.0.1"], limits: { bodies } });
    const announce = (address: string) => {
      const client = connect(server.port);
      client.send(`${enter(address)}Content-Length: 13\r\n\r\n`);
      return client;
    };
    const waiting = Array.from({ length: 8 }, () => announce("192.0.2.1"));
    await until("one is refused", () => waiting.some((client) => client.received().includes("overloaded")));
    const other = announce("192.0.2.2");
    other.send('{"label":"x"}');
    assert.equal((await other.reply()).status, 201);
    for (const client of [...waiting, other]) client.destroy();
  });

  it("of one team are no other's loss", async () => {
    const gate = openGate({
      authenticate: (authorization) => ({ ...actor, teamId: authorization.slice("Bearer ".length) }),
    });
    const server = await serve({ gate, limits: { bodies } });
    const body = '{"label":"x"}'.padEnd(16_000);
    const held = await hold(server, HEAD.replace("good", "team_1"));
    const post = (team: string) =>
      exchange(
        server.port,
        [
          "POST /v1/echo HTTP/1.1",
          JSON_TYPE,
          `Authorization: Bearer ${team}`,
          `Content-Length: ${body.length}`,
        ],
        body,
      );
    assert.equal((await post("team_1")).json().code, "overloaded");
    assert.equal((await post("team_2")).status, 201);
    held.destroy();
  });

  it("of a team's test keys are not the loss of its live ones", async () => {
    const gate = openGate({
      authenticate: (authorization) => ({ ...actor, livemode: authorization !== "Bearer test" }),
    });
    const server = await serve({ gate, limits: { bodies } });
    const body = '{"label":"x"}'.padEnd(16_000);
    const held = await hold(server, HEAD.replace("good", "test"));
    const postAs = (key: string) => {
      const head = ["POST /v1/echo HTTP/1.1", JSON_TYPE, `Authorization: Bearer ${key}`];
      return exchange(server.port, [...head, `Content-Length: ${body.length}`], body);
    };
    assert.equal((await postAs("test")).json().code, "overloaded");
    assert.equal((await postAs("live")).status, 201);
    held.destroy();
  });

  it("are held to the limit of their route, decoded too, and charged for no more", async () => {
    const server = await serve({ limits: { bodies } });
    const bomb = gzipSync(Buffer.alloc(100_000_000, " "), { level: 9 });
    const routeOf = { ...echoRoute(), bodyBytes: 200_000 } as Route;
    const larger = await serve({ extraRoutes: [routeOf] });
    const inflated = await postJson(larger.port, "/v1/echo", bomb, "Content-Encoding: gzip");
    assert.deepEqual([inflated.status, inflated.json().code], [413, "body_too_large"]);
    assert.match(String(inflated.json().detail), / 200000 bytes/);
    const small = await postJson(server.port, "/v1/echo", '{"label":"x"}'.padEnd(16_385));
    assert.deepEqual([small.status, small.json().code], [413, "body_too_large"]);
    for (let i = 0; i < 10; i++) {
      const packed = gzipSync(Buffer.alloc(20_000, " "));
      const reply = await postJson(server.port, "/v1/echo", packed, "Content-Encoding: gzip");
      assert.equal(reply.json().code, "body_too_large");
    }
    assert.equal((await postJson(server.port, "/v1/echo", '{"label":"x"}'.padEnd(16_000))).status, 201);
  });

  it("that come too slowly end with 408, and their memory is free", async () => {
    const clock = createFakeClock();
    const server = await serve({ clock, limits: { bodies } });
    const slow = await hold(server, HEAD);
    const tell = () => slow.received();
    clock.advance(5_000);
    await get(server.port, "/healthz");
    assert.equal(tell(), "");
    await clock.advanceAsync(2_000);
    await until("it is refused", () => tell().includes('"request_timeout"'));
    assert.match(tell(), /^HTTP\/1\.1 408 [\s\S]*\r\nConnection: close\r\n/);
    assert.equal((await postJson(server.port, "/v1/echo", '{"label":"x"}'.padEnd(16_000))).status, 201);
    slow.destroy();
  });
});
