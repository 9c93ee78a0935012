import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemClock } from "../../../src/core/clock.ts";
import { createMetrics } from "../../../src/core/metrics.ts";
import { newSecret } from "../../../src/services/api-key.ts";
import { createAuthenticator } from "../../../src/services/authenticate/authenticate.ts";
import { exchange } from "../../support/raw-http.ts";
import { silentLog } from "../../support/store.ts";
import { type Harness, openGate, startServer } from "./harness.ts";

/** The real authenticator on a store that knows nobody. */
function knowsNobody() {
  return createAuthenticator({
    credentials: { find: async () => null, touch: async () => {} },
    changes: { since: async () => ({ changes: [], cursor: "1:1:", overflow: false }), prune: async () => {} },
    bus: { announce: async () => {}, listen: () => {}, session: null, settle: async () => {} },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  });
}

describe("401 says what is wrong with the credential", () => {
  let server: Harness;
  before(async () => {
    const { authenticate } = knowsNobody();
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
