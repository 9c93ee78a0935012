import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createAuthenticator } from "../../../src/features/auth/authenticate.ts";
import { newSecret } from "../../../src/features/identity/api-key.ts";
import { createClientLimiter } from "../../../src/features/rate-limit/clients.ts";
import { createMetrics } from "../../../src/platform/telemetry/metrics.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";
import { exchange } from "../../support/raw-http.ts";
import { silentLog } from "../../support/store.ts";
import { createMemoryTeamDomains } from "../../support/team-domains.ts";
import { type Harness, openGate, startServer } from "./harness.ts";

/** The real authenticator on a store without credentials. */
function knowsNobody(clients = createClientLimiter()) {
  return createAuthenticator({
    credentials: { find: async () => null, touch: async () => {} },
    domains: createMemoryTeamDomains(),
    changes: { since: async () => ({ changes: [], cursor: "1:1:", overflow: false }), prune: async () => {} },
    bus: { announce: async () => {}, listen: () => {}, session: null, settle: async () => {} },
    clients,
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  });
}

describe("401 says what is wrong with the credential", () => {
  let server: Harness;
  before(async () => {
    const authenticator = knowsNobody();
    const authenticate = authenticator.authenticate.bind(authenticator);
    server = await startServer({ gate: openGate({ authenticate }) });
  });
  after(() => server.close());

  const unknown = newSecret("live");
  const cases: [string, string[], RegExp][] = [
    ["none is sent", [], /^Send a key or session as `Authorization: Bearer/],
    ["an empty header", ["Authorization:"], /^Send a key or session/],
    ["another scheme", ["Authorization: Basic YTpi"], /not of the Bearer scheme/],
    ["a cut key", ["Authorization: Bearer rcpt_live_abc"], /not complete/],
    ["a mistyped key", [`Authorization: Bearer ${unknown.slice(0, -1)}_`], /mistyped/],
    ["a key that nobody has", [`Authorization: Bearer ${unknown}`], /unknown, revoked or expired/],
  ];
  for (const [what, fields, detail] of cases) {
    it(what, async () => {
      const reply = await exchange(server.port, ["GET /v1/verify?email=a@b.c HTTP/1.1", ...fields]);
      assert.equal(reply.status, 401);
      assert.match(String(reply.json().detail), detail);
    });
  }
});

describe("unknown credentials", () => {
  const unknownFrom = (server: Harness, address: string) =>
    exchange(server.port, [
      "GET /v1/verify?email=a@b.c HTTP/1.1",
      `Authorization: Bearer ${newSecret("live")}`,
      `X-Forwarded-For: ${address}`,
    ]);

  it("are limited by the client's address, as a trusted proxy reports it", async (t) => {
    const clients = createClientLimiter({ ...LIMITS.clients, burst: 3, unitsPerS: 0.001 });
    const authenticator = knowsNobody(clients);
    const gate = openGate({ authenticate: authenticator.authenticate.bind(authenticator) });
    const server = await startServer({ gate, trustedProxies: ["127.0.0.1"] });
    t.after(() => server.close());
    for (let sent = 0; sent < 3; sent++) assert.equal((await unknownFrom(server, "192.0.2.1")).status, 401);
    const refused = await unknownFrom(server, "192.0.2.1");
    assert.equal(refused.status, 429);
    assert.equal(refused.json().code, "rate_limited");
    assert.equal(refused.headers["retry-after"], "1000");
    assert.equal((await unknownFrom(server, "192.0.2.2")).status, 401);
  });
});
