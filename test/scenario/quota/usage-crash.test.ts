import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { askAgain } from "../../support/ask-again.ts";
import { startLoad } from "../../support/load.ts";
import { answeredOf, useProcesses, verifyAt } from "../../support/process-scenario.ts";
import type { Answer } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/** Usage that is reported after real processes ended in the middle of their work. */
const LOADERS = 8;
const scenario = useProcesses();
const { start } = scenario;

let asked = 0;
/** Every second address is a new one. */
function verify(url: string, key: string): Promise<Answer> {
  asked += 1;
  return verifyAt(url, key, asked % 2 === 0 ? `exists-u${asked}@plain.test` : "exists@plain.test");
}

interface Figures {
  used: number;
  single: number;
  verdicts: number;
}
type Reported = Omit<Figures, "verdicts"> & { verdicts: Record<string, number> };

async function figuresAt(url: string, key: string): Promise<Figures> {
  const { status, body } = await askAgain(async () => {
    const response = await fetch(`${url}/v1/usage`, { headers: { Authorization: `Bearer ${key}` } });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Reported };
  });
  assert.equal(status, 200);
  const verdicts = Object.values(body.verdicts).reduce((sum, count) => sum + count, 0);
  return { used: body.used, single: body.single, verdicts };
}

/** Units leased and not settled, and how many of them a dead process may be charged beyond its reports. */
async function leased(teamId: string): Promise<{ leases: number; tranches: number }> {
  const [row] = await scenario.deployment.sql<[{ leases: number; tranches: number }]>`
    select count(*) as leases, coalesce(sum(tranche), 0)::bigint as tranches
    from quota_leases where team_id = ${teamId}`;
  return row;
}

describe("use as reported", () => {
  it("after kill -9 lacks nothing of what was charged, and at most the last answers of the counters", async () => {
    const [doomed, witness] = [start("api"), start("api")];
    const [url, witnessUrl] = await Promise.all([doomed.ready, witness.ready]);
    const { id, liveKey } = await scenario.deployment.team("enterprise");

    const earlier = startLoad(LOADERS, () => verify(url, liveKey));
    await until("it answers", () => answeredOf(earlier.samples) >= 200);
    const reported = answeredOf(await earlier.stop());
    await until("the other process reports all of it, asked of nobody", async () => {
      const { used, single, verdicts } = await figuresAt(witnessUrl, liveKey);
      assert.ok(used <= reported && single <= reported);
      return used === reported && single === reported && verdicts === reported;
    });

    const later = startLoad(LOADERS, () => verify(url, liveKey));
    await until("it answers more", () => answeredOf(later.samples) >= 200);
    doomed.kill("SIGKILL");
    assert.equal((await doomed.exited).signal, "SIGKILL");
    const answered = reported + answeredOf(await later.stop());
    const { tranches } = await leased(id);

    // Started now, for it would have settled what expired before that was read.
    const relay = start("relay");
    await until("the relay has settled what expired", async () => (await leased(id)).leases === 0);
    const { used, single, verdicts } = await figuresAt(witnessUrl, liveKey);
    assert.ok(used >= answered, `${used} used, ${answered} answered`);
    assert.ok(
      used <= answered + LOADERS + tranches,
      `${used} used, ${answered} answered, ${tranches} not told`,
    );
    assert.ok(single >= reported && single <= answered + LOADERS, `${single} of ${reported} to ${answered}`);
    assert.equal(verdicts, single);
    for (const process of [witness, relay]) {
      process.kill("SIGTERM");
      assert.equal((await process.exited).code, 0);
    }
  });

  it("after SIGTERM lacks nothing", async () => {
    const [api, witness] = [start("api"), start("api")];
    const [url, witnessUrl] = await Promise.all([api.ready, witness.ready]);
    const { liveKey } = await scenario.deployment.team("enterprise");
    const load = startLoad(LOADERS, () => verify(url, liveKey));
    await until("it answers", () => answeredOf(load.samples) >= 200);
    api.kill("SIGTERM");
    assert.deepEqual(await api.exited, { code: 0, signal: null });
    const read = answeredOf(await load.stop());
    const { used, single, verdicts } = await figuresAt(witnessUrl, liveKey);
    assert.equal(single, used);
    assert.equal(verdicts, single);
    // A request whose connection closed during its answer was answered, though its client read nothing.
    assert.ok(single >= read && single <= read + LOADERS, `${single} counted, ${read} answers read`);
    witness.kill("SIGTERM");
    assert.equal((await witness.exited).code, 0);
  });
});
