import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newAddress, useTwoApis, withStatus } from "../../support/two-apis.ts";
import { until } from "../../support/until.ts";

/** From answers to events for webhooks, over two processes of each role. */
const apis = useTwoApis();

describe("quota.threshold_reached", () => {
  it("comes once for each threshold, in their order, however many processes answer and look", async () => {
    const { deployment, one } = apis;
    await Promise.all([deployment.startRelay(), deployment.startRelay()]);
    const team = await deployment.team("enterprise", { dailyQuota: 10 });
    const told = async () => {
      const events = await deployment.sql<{ percent: number; used: number; limit: number }[]>`
        select (data->>'threshold_percent')::integer as percent, (data->>'used')::integer as used,
               (data->>'limit')::integer as limit
        from events where team_id = ${team.id} and type = 'quota.threshold_reached' order by id`;
      return [...events];
    };
    const answers = await apis.atOnce(team.liveKey, 7, () => newAddress());
    assert.equal(withStatus(answers, 200).length, 7);
    // Free of charge: it reaches nothing, though a unit is in flight meanwhile.
    await one.verify(team.liveKey, "greylisted@plain.test");
    assert.equal(await apis.settledUse(team.id), 7);
    assert.deepEqual(await told(), []);

    await one.verify(team.liveKey, newAddress());
    const first = [{ percent: 80, used: 8, limit: 10 }];
    await until("80 % is told of", async () => (await told()).length > 0);
    assert.deepEqual(await told(), first);

    await until("the day is used up", async () => {
      await apis.atOnce(team.liveKey, 4, () => newAddress());
      return (await apis.settledUse(team.id)) === 10;
    });
    await until("100 % is told of", async () => (await told()).length > 1);
    assert.deepEqual(await told(), [...first, { percent: 100, used: 10, limit: 10 }]);
  });
});
