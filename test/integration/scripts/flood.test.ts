import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { runFlood } from "../../../scripts/chaos/overload/flood.ts";
import { CHEAP_FROM, rowOf } from "../../../scripts/chaos/traffic/addresses.ts";
import { findWrk, type Wrk } from "../../../scripts/embedded/wrk.ts";

const PROBLEM = JSON.stringify({ status: 503, code: "overloaded" });
const GUARD = { pid: 0, env: { RCPT_RUN: "test" }, hold() {}, removeAtEnd() {}, async end() {} };
/** One second of requests; the grace is long enough for any machine to send all of them. */
const ORDER = { connections: 8, forMs: 1_000, graceMs: 60_000 };

describe("a flood", () => {
  /** Addresses asked for, by credential. */
  const asked = new Map<string, string[]>();
  let answer: (email: string, response: ServerResponse) => void = () => {};
  const server = createServer((request: IncomingMessage, response) => {
    const key = request.headers.authorization?.slice("Bearer ".length) ?? "";
    const email = new URL(request.url ?? "", "http://localhost").searchParams.get("email") ?? "";
    const emails = asked.get(key) ?? [];
    asked.set(key, emails);
    emails.push(email);
    answer(email, response);
  });
  let wrk: Wrk;
  let port = 0;
  before(async () => {
    wrk = await findWrk({ cacheDir: join(import.meta.dirname, "../../../.rcpt/cache"), guard: GUARD });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
  });
  // Idle clients are not disconnected, however slow the machine.
  server.keepAliveTimeout = 0;
  after(() => server.close());

  const flood = (teams: { name: string; key: string; perS: number }[]) =>
    runFlood(wrk, { ...ORDER, port, teams }, { core: null, guard: GUARD });

  it("asks for the rows of its teams' lists, one after the other, each team at its rate", async () => {
    asked.clear();
    answer = (_email, response) => response.end("{}");
    const teams = [
      { name: "one", key: "k1", perS: 2_300 },
      { name: "other", key: "k2", perS: 100 },
    ];
    const { all, teams: told } = await flood(teams);
    for (const { name, key, perS } of teams) {
      const emails = asked.get(key) ?? [];
      // The last of a second is due at its end.
      assert.equal(emails.length, perS - 1);
      const rows = Array.from({ length: emails.length }, (_, i) =>
        rowOf(`${name}${Math.floor(i / CHEAP_FROM)}`, i % CHEAP_FROM),
      );
      // A request that waits for a connection may be overtaken by one that has found one.
      assert.deepEqual([...emails].sort(), rows.map(({ email }) => email).sort());
      assert.equal(told[name]?.accepted.count, perS - 1);
    }
    assert.deepEqual(all.counts, { 200: 2_398 });
    assert.equal(all.refused.count, 0);
  });

  it("distinguishes answers, deadlines, refusals and cut connections, and goes on after these", async () => {
    let count = 0;
    answer = (_email, response) => {
      count += 1;
      if (count % 10 === 1) response.writeHead(503, { "content-length": PROBLEM.length }).end(PROBLEM);
      else if (count % 10 === 2) response.end('{"reason":"deadline"}');
      else if (count % 10 === 3) response.destroy();
      else response.end("{}");
    };
    const { all, onset, sustained } = await flood([{ name: "one", key: "k1", perS: 201 }]);
    assert.deepEqual(all.counts, { 200: 140, "200 deadline": 20, "503 overloaded": 20, cut: 20 });
    assert.deepEqual([all.accepted.count, all.refused.count], [160, 40]);
    assert.deepEqual([onset.count, sustained.count], [160, 0]);
  });

  it("gives up what is not answered", async () => {
    answer = () => {};
    const order = { ...ORDER, graceMs: 200, port, teams: [{ name: "one", key: "k1", perS: 100 }] };
    const { all } = await runFlood(wrk, order, { core: null, guard: GUARD });
    // One request for each connection; no other was sent.
    assert.deepEqual(all.counts, { timeout: ORDER.connections });
  });
});
