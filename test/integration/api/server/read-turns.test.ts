import assert from "node:assert/strict";
import { after, it } from "node:test";
import * as v from "valibot";
import { teamRoute } from "../../../../src/api/routing/route.ts";
import { createReadTurns } from "../../../../src/api/server/read-turns.ts";
import type { RateClass } from "../../../../src/features/rate-limit/classes.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { until } from "../../../support/until.ts";
import { AUTHORIZATION, actor, connect, type Harness, openGate, startServer } from "../harness.ts";

const servers: Harness[] = [];
after(() => Promise.all(servers.map((server) => server.close())));

/** A route that answers once `gate` resolves. */
function route(path: string, rate: RateClass, until: Promise<void>, waitsElsewhere = false) {
  return teamRoute({
    ...{ method: "GET", path, operationId: path.slice(4), summary: path, tag: "test", role: "member", rate },
    waitsElsewhere,
    errors: [],
    success: { status: 200, description: "A list", schema: v.string() },
    handler: async () => {
      await until;
      return path;
    },
  });
}

it("only requests that read from Postgres take turns, those of a team's test keys apart", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  // One read at once.
  const turns = createReadTurns(createFakeClock(), 1);
  const shares: string[] = [];
  const gate = openGate({
    authenticate: (authorization) =>
      authorization === "Bearer good" ? actor : { ...actor, livemode: false, keyId: "key_of_test" },
    reads: {
      run(share, isCancelled, read) {
        shares.push(share);
        return turns.run(share, isCancelled, read);
      },
    },
  });
  const free = Promise.resolve();
  const server = await startServer({
    gate,
    extraRoutes: [
      route("/v1/held", "read", held),
      route("/v1/list", "read", free),
      route("/v1/change", "write", free),
      route("/v1/elsewhere", "read", free, true),
    ],
  });
  servers.push(server);
  const ask = (path: string, header = AUTHORIZATION) => {
    const client = connect(server.port);
    client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${header}\r\n\r\n`);
    return () => /^HTTP\/1\.1 (\d+)/.exec(client.received())?.[1] ?? null;
  };
  const first = ask("/v1/held");
  await until("it reads", () => shares.length === 1);
  const second = ask("/v1/list", "Authorization: Bearer test");
  await until("it waits", () => shares.length === 2);
  for (const path of ["/v1/change", "/v1/elsewhere", "/v1/verify?email=a%40b.test"])
    assert.equal(await until(`${path} is answered`, ask(path)), "200");
  assert.deepEqual([first(), second()], [null, null]);
  release();
  assert.deepEqual([await until("first", first), await until("second", second)], ["200", "200"]);
  assert.deepEqual(shares, [actor.teamId, `${actor.teamId}:test`]);
});
