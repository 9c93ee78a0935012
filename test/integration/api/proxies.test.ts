import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import * as v from "valibot";
import { DOCUMENTED_PROXIES, startDocumented } from "../../../scripts/balancers/documented.ts";
import { findProxy, type ProxyName, type RunningProxy } from "../../../scripts/balancers/proxy.ts";
import { type Guard, startGuard } from "../../../scripts/embedded/guard.ts";
import type { Program } from "../../../scripts/embedded/program.ts";
import { HttpReply } from "../../../src/api/reply/reply.ts";
import { incomingRoute, publicRoute, type Route, teamRoute } from "../../../src/api/routing/route.ts";
import type { Readiness } from "../../../src/api/schemas/health.ts";
import { judgeHttp } from "../../../src/operator/doctor/http.ts";
import { askHealth } from "../../../src/operator/doctor/http-facts.ts";
import { AppError } from "../../../src/platform/errors.ts";
import { startTap, type Tap } from "../../support/tap.ts";
import { until } from "../../support/until.ts";
import { echoRoute, type Harness, openGate, READY, startServer } from "./harness.ts";

/** The configurations of docs/proxies.md, each run before a real server, with all that passes between them in view. */
const CACHE = resolve(import.meta.dirname, "../../../.rcpt/cache");
const MIB = 1_048_576;
/** Clients have another address than the proxy, which is 127.0.0.1 to the server. */
const CLIENT = "127.0.0.2";
const FORGED = "203.0.113.9";
const REQUESTS = 200;
/** Rounds of refusals, for each size and framing. */
const ROUNDS = 2;
/** Between requests, for the next one. */
const KEEPS_CONNECTIONS: Record<ProxyName, boolean> = { nginx: true, haproxy: false, caddy: true };
/** Whether the last request asked for its connection to be closed after the answer. */
const asksToClose = (sent: string) =>
  /\r\nconnection: close\r\n/i.test(sent.slice(sent.lastIndexOf(" HTTP/1.1")));
const ANY = { tag: "test", errors: [] } as const;

/** Requests that the test's routes have received, and gates that they wait for. */
interface World {
  uploaded: number;
  /** Why the last upload broke off. */
  failed: unknown;
  events: AsyncGenerator<Uint8Array>;
  readiness: Readiness;
}

function routesOf(world: World): Route[] {
  return [
    echoRoute(),
    publicRoute({
      ...ANY,
      rate: "none",
      method: "GET",
      path: "/address",
      operationId: "getAddress",
      summary: "Who asks",
      readsClientAddress: true,
      success: { status: 200, description: "Who asks", schema: v.unknown() },
      handler: (_input, { clientAddress }) => ({ address: clientAddress }),
    }),
    incomingRoute({
      ...ANY,
      role: "member",
      rate: "read",
      method: "PUT",
      path: "/v1/blobs/{name}",
      operationId: "putBlob",
      summary: "Put",
      params: v.strictObject({ name: v.string() }),
      success: { status: 201, description: "Put", schema: v.unknown() },
      async handler({ body }) {
        const tooLong = () => new AppError("bulk_too_large", "Too long.");
        try {
          for await (const piece of body.read(100 * MIB, tooLong)) world.uploaded += piece.length;
        } catch (error) {
          world.failed = error;
          throw error;
        }
        return { bytes: world.uploaded };
      },
    }),
    teamRoute({
      ...ANY,
      role: "member",
      rate: "read",
      method: "GET",
      path: "/v1/events",
      operationId: "getEvents",
      summary: "Events",
      success: { status: 200, description: "Events", schema: v.string() },
      async handler() {
        const body = { bytes: null, endless: true, open: () => world.events };
        return new HttpReply(200, body, { contentType: "text/event-stream" });
      },
    }),
  ];
}

async function answerOf(req: ClientRequest) {
  const [res] = (await once(req, "response")) as [IncomingMessage];
  return { status: res.statusCode ?? 0, body: await text(res) };
}

const guard = startGuard();
after(() => guard.end());

async function findOrSay(name: ProxyName): Promise<Program | string> {
  try {
    return await findProxy(name, { folder: CACHE, guard, say: () => undefined });
  } catch (error) {
    return `not tried here: ${(error as Error).message}`;
  }
}

/** Looked up before the first suite begins: Node.js 20 runs the cleanup when it knows of no further suite. */
const programs = new Map<ProxyName, Program | string>();
for (const name of DOCUMENTED_PROXIES) programs.set(name, await findOrSay(name));

for (const [name, found] of programs)
  describe(
    `the API behind ${name}, as docs/proxies.md has it`,
    {
      skip: typeof found === "string" ? found : false,
    },
    () => behind(name, found as Program, guard),
  );

function behind(name: ProxyName, program: Program, held: Guard): void {
  const world: World = { uploaded: 0, failed: null, events: (async function* () {})(), readiness: READY };
  /** Whether the team's rate limit is exhausted. */
  let blocked = false;
  let folder = "";
  let server: Harness;
  let tap: Tap;
  let proxy: RunningProxy;
  const agents: Agent[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "rcpt-proxy-"));
    const limited = () => {
      throw new AppError("rate_limited", "Too many.", { retryAfterS: 1 });
    };
    server = await startServer({
      extraRoutes: routesOf(world),
      trustedProxies: ["127.0.0.1"],
      gate: openGate({ rateLimit: { take: (actor) => (blocked ? limited() : void actor) } }),
      readiness: () => world.readiness,
    });
    tap = await startTap(server.port);
    proxy = await startDocumented(name, program, { folder, apiPort: tap.port, guard: held });
    await until("it serves", async () => (await get("/healthz")).status === 200);
  });
  after(async () => {
    for (const agent of agents) agent.destroy();
    await proxy?.stop();
    await tap?.close();
    server?.closeNow();
    rmSync(folder, { recursive: true, force: true });
  });

  function ask(method: string, path: string, { headers, ...options }: RequestOptions = {}): ClientRequest {
    return request({
      host: "127.0.0.1",
      port: proxy.port,
      localAddress: CLIENT,
      method,
      path,
      agent: false,
      headers: { Authorization: "Bearer good", ...headers },
      ...options,
    });
  }
  const get = (path: string, options: RequestOptions = {}) => answerOf(ask("GET", path, options).end());

  it("verifies, in HTTP/1.1, and knows the client's address", async () => {
    const answer = await get("/v1/verify?email=a%40example.com");
    assert.deepEqual([answer.status, JSON.parse(answer.body).email], [200, "a@example.com"]);
    const seen = await get("/address", { headers: { "X-Forwarded-For": FORGED } });
    assert.deepEqual(JSON.parse(seen.body), { address: CLIENT });
    assert.doesNotMatch(tap.connections.map(({ sent }) => sent).join(""), / HTTP\/1\.0\r\n/);
  });

  for (const [framing, headers] of [
    ["Content-Length", { "Content-Length": 8 * MIB }],
    ["Transfer-Encoding", { "Transfer-Encoding": "chunked" }],
  ] as const)
    it(`hands on an upload as it comes (${framing})`, async () => {
      world.uploaded = 0;
      const upload = ask("PUT", "/v1/blobs/x", { headers });
      upload.write(Buffer.alloc(MIB));
      await until("the beginning has come", () => world.uploaded >= MIB / 2);
      assert.ok(world.uploaded <= MIB);
      upload.end(Buffer.alloc(7 * MIB));
      const { status, body } = await answerOf(upload);
      assert.deepEqual([status, JSON.parse(body)], [201, { bytes: 8 * MIB }]);
    });

  it("hands on events as they come", async () => {
    let seen = () => {};
    const heard = new Promise<void>((settle) => {
      seen = settle;
    });
    world.events = (async function* () {
      yield Buffer.from("data: 1\n\n");
      await heard;
      yield Buffer.from("data: 2\n\n");
    })();
    const [events] = (await once(ask("GET", "/v1/events").end(), "response")) as [IncomingMessage];
    assert.equal(events.headers["content-type"], "text/event-stream");
    let told = "";
    events.on("data", (bytes) => {
      told += bytes;
    });
    await until("the first event has come", () => told === "data: 1\n\n");
    seen();
    await once(events, "end");
    assert.equal(told, "data: 1\n\ndata: 2\n\n");
  });

  /** Sends the whole body, whatever the server answers meanwhile. */
  async function refused(bytes: number, headers: Record<string, string | number>) {
    const req = ask("POST", "/v1/echo", { headers: { "Content-Type": "application/json", ...headers } });
    req.on("error", () => undefined);
    const answer = answerOf(req);
    req.end(Buffer.alloc(bytes, " "));
    const { status, body } = await answer.catch((error: Error) => ({ status: error.message, body: "{}" }));
    return `${status} ${body.startsWith("{") ? JSON.parse(body).code : body}`;
  }

  for (const [expected, headers, isLimited] of [
    ["401 unauthorized", { Authorization: "Bearer bad" }, false],
    ["413 body_too_large", {}, false],
    ["429 rate_limited", {}, true],
  ] as const)
    it(`passes on a refusal that comes before the body: ${expected}`, async () => {
      blocked = isLimited;
      const each = async (bytes: number, framing: Record<string, string | number>) =>
        `${bytes} ${Object.keys(framing)[0]} ${await refused(bytes, { ...headers, ...framing })}`;
      const round = () =>
        Promise.all(
          [20_000, 100_000, 5 * MIB].flatMap((bytes) => [
            each(bytes, { "Content-Length": bytes }),
            each(bytes, { "Transfer-Encoding": "chunked" }),
          ]),
        );
      const told: string[] = [];
      for (let i = 0; i < ROUNDS; i++) told.push(...(await round()));
      blocked = false;
      assert.deepEqual([...new Set(told.filter((line) => !line.endsWith(expected)))], []);
    });

  it("serves many requests, and never uses a connection that the server may be closing", async () => {
    const before = tap.connections.length;
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    agents.push(agent);
    const verify = () => get("/v1/verify?email=a%40example.com", { agent });
    const answers = await Promise.all(Array.from({ length: REQUESTS }, verify));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    const used = tap.connections.slice(before).filter(({ sent }) => sent.includes("/v1/verify"));
    if (KEEPS_CONNECTIONS[name]) assert.ok(used.length <= 20, `${used.length} connections`);
    // The proxy's health check may keep one connection in use.
    const open = () => used.filter(({ closedBy }) => closedBy === null).length;
    await until("idle connections are closed", () => open() <= 1);
    const closedByServer = used.filter(({ closedBy, sent }) => closedBy === "server" && !asksToClose(sent));
    assert.deepEqual(closedByServer, []);
    assert.equal((await verify()).status, 200);
  });

  it("learns that a process is about to end", async () => {
    world.readiness = { ...READY, status: "draining" };
    await until("that is told", async () => (await get("/readyz")).status === 503);
    world.readiness = READY;
    await until("it serves again", async () => (await get("/readyz")).status === 200);
  });

  it("closes its connection to the API at once when a client disconnects in mid-upload", async () => {
    world.uploaded = 0;
    world.failed = null;
    const upload = ask("PUT", "/v1/blobs/x", { headers: { "Content-Length": 8 * MIB } });
    upload.on("error", () => undefined);
    upload.write(Buffer.alloc(MIB));
    await until("the beginning has come", () => world.uploaded >= MIB / 2);
    upload.destroy();
    await until("the upload has failed", () => world.failed !== null);
  });

  it("loses no request, of those that are not tried again either, when the process takes leave", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    agents.push(agent);
    let answered = 0;
    const post = async () => {
      const headers = { "Content-Type": "application/json" };
      const { status } = await answerOf(ask("POST", "/v1/echo", { agent, headers }).end('{"label":"x"}'));
      answered += 1;
      if (answered === REQUESTS / 2) server.leave();
      return status;
    };
    const statuses = await Promise.all(Array.from({ length: REQUESTS }, post));
    assert.deepEqual([...new Set(statuses)], [201]);
  });
}

describe("nginx that speaks HTTP/1.0 to the API, as it does when nothing is set", () => {
  const found = programs.get("nginx");
  it("is recognised by the doctor", {
    skip: typeof found === "string" ? found : found === undefined,
  }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "rcpt-proxy-"));
    const server = await startServer();
    t.after(() => server.close());
    const alter = (text: string) => text.replace("proxy_http_version 1.1;", "proxy_http_version 1.0;");
    const options = { folder, apiPort: server.port, guard, alter };
    const proxy = await startDocumented("nginx", found as Program, options);
    t.after(async () => {
      await proxy.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    const [url, direct] = [proxy.port, server.port].map((port) => `http://127.0.0.1:${port}`) as [
      string,
      string,
    ];
    const facts = { byPublicUrl: await askHealth(url), directly: await askHealth(direct) };
    const finding = judgeHttp(url, facts);
    assert.equal(finding.state, "fail");
    assert.match(finding.seen, /answers 505 \("nginx[^)]*\): a proxy speaks HTTP\/1\.0 to us/);
  });
});
