import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createQuotaThresholds, type QuotaThresholds } from "../../../../src/features/quota/thresholds.ts";
import { refuseEvents } from "../../../support/refuse-events.ts";
import { actorFor, newTeam, silentLog, useDatabase } from "../../../support/store.ts";
import { granted, reserve, startQuotaProcess } from "./quota-process.ts";

const { sql } = await useDatabase();

const startLook = (): QuotaThresholds => createQuotaThresholds({ sql, log: silentLog });
const goOn = () => false;
const today = () => new Date().toISOString().slice(0, 10);

/** A team with a limit, of which so much is settled. */
async function teamThatUsed(used: number, dailyQuota: number): Promise<string> {
  const { teamId } = await newTeam(sql);
  await setLimit(teamId, dailyQuota);
  await sql`insert into quota_days (team_id, day) values (${teamId}, ${today()})`;
  await use(teamId, used);
  return teamId;
}

async function use(teamId: string, used: number): Promise<void> {
  await sql`update quota_days set used = ${used} where team_id = ${teamId} and day = ${today()}`;
}

async function setLimit(teamId: string, dailyQuota: number): Promise<void> {
  await sql`update teams set limits = ${sql.json({ dailyQuota })} where id = ${teamId}`;
}

interface ThresholdData {
  date: string;
  threshold_percent: number;
  used: number;
  limit: number;
  resets_at: string;
}

async function told(teamId: string): Promise<ThresholdData[]> {
  const events = await sql<{ type: string; livemode: boolean; data: ThresholdData }[]>`
    select type, livemode, data from events where team_id = ${teamId} order by id`;
  for (const { type, livemode } of events)
    assert.deepEqual([type, livemode], ["quota.threshold_reached", true]);
  return events.map(({ data }) => data);
}

const percents = async (teamId: string) => (await told(teamId)).map((data) => data.threshold_percent);

describe("the thresholds of the daily quota", () => {
  it("are announced when they are reached, to the unit, and not before", async () => {
    const look = startLook();
    const teamId = await teamThatUsed(79, 100);
    await look.recordReached(goOn);
    assert.deepEqual(await told(teamId), []);
    await use(teamId, 80);
    await look.recordReached(goOn);
    const resetsAt = new Date(Date.parse(today()) + 86_400_000).toISOString();
    const data = { date: today(), threshold_percent: 80, used: 80, limit: 100, resets_at: resetsAt };
    assert.deepEqual(await told(teamId), [data]);
    await use(teamId, 99);
    await look.recordReached(goOn);
    await use(teamId, 100);
    await look.recordReached(goOn);
    assert.deepEqual(await told(teamId), [data, { ...data, threshold_percent: 100, used: 100 }]);
  });

  it("of a team that cannot be notified delay no other, and are announced once it can", async () => {
    const look = startLook();
    const [failing, other] = [await teamThatUsed(80, 100), await teamThatUsed(80, 100)];
    await refuseEvents(sql, failing, async () => {
      await look.recordReached(goOn);
      assert.deepEqual([await percents(failing), await percents(other)], [[], [80]]);
      await look.recordReached(goOn);
    });
    await look.recordReached(goOn);
    assert.deepEqual([await percents(failing), await percents(other)], [[80], [80]]);
  });

  it("are both announced when one answer reaches both", async () => {
    const teamId = await teamThatUsed(1, 1);
    await startLook().recordReached(goOn);
    assert.deepEqual(await percents(teamId), [80, 100]);
  });

  it("are announced once, by many relays that look at the same time, again and again", async () => {
    const looks = Array.from({ length: 4 }, startLook);
    const teams = await Promise.all(Array.from({ length: 5 }, () => teamThatUsed(10, 10)));
    for (let round = 0; round < 3; round++) await Promise.all(looks.map((look) => look.recordReached(goOn)));
    for (const teamId of teams) assert.deepEqual(await percents(teamId), [80, 100]);
  });

  it("are once a day each: a raised limit arms them no more", async () => {
    const look = startLook();
    const teamId = await teamThatUsed(8, 10);
    await look.recordReached(goOn);
    await setLimit(teamId, 1_000);
    await look.recordReached(goOn);
    await use(teamId, 1_000);
    await look.recordReached(goOn);
    assert.deepEqual(await percents(teamId), [80, 100]);
  });

  it("are announced when the limit is lowered to the units used", async () => {
    const look = startLook();
    const teamId = await teamThatUsed(50, 1_000);
    await look.recordReached(goOn);
    await look.recordReached(goOn);
    // Long after the team's day has changed.
    await sql`update quota_days set changed_at = changed_at - interval '1 minute' where team_id = ${teamId}`;
    await look.recordReached(goOn);
    await setLimit(teamId, 60);
    await look.recordReached(goOn);
    assert.deepEqual(await percents(teamId), [80]);
  });

  it("go by the tier where nothing is overridden, and mean nothing where there is no quota", async () => {
    const byTier = await teamThatUsed(0, 1_000);
    await sql`update teams set limits = '{}' where id = ${byTier}`;
    await use(byTier, 80);
    const none = await teamThatUsed(5, 0);
    await startLook().recordReached(goOn);
    assert.deepEqual(
      (await told(byTier)).map(({ limit }) => limit),
      [100],
    );
    assert.deepEqual(await told(none), []);
  });

  it("of yesterday are of no interest", async () => {
    const teamId = await teamThatUsed(0, 10);
    await sql`update quota_days set day = day - 1, used = 10 where team_id = ${teamId}`;
    await startLook().recordReached(goOn);
    assert.deepEqual(await told(teamId), []);
  });

  it("are found among more teams than a page has, and after a look that was stopped", async () => {
    const teams = LIMITS.usage.teamDaysPerLook + 5;
    await sql`
      insert into teams (id, name, tier, limits)
      select 'team_many_' || n, 'many', 'free', '{"dailyQuota": 10}' from generate_series(1, ${teams}::integer) n`;
    await sql`
      insert into quota_days (team_id, day, used)
      select id, ${today()}::date, case when id like '%7' then 8 else 1 end from teams where id like 'team_many_%'`;
    const look = startLook();
    await look.recordReached(() => true);
    await look.recordReached(goOn);
    const [row] = await sql<[{ expected: number; told: number }]>`
      select (select count(*) from teams where id like 'team_many_%7') as expected,
             (select count(*) from events where team_id like 'team_many_%') as told`;
    assert.equal(row.told, row.expected);
  });

  it("are reached by what was answered, and by nothing that was given back", async () => {
    const { teamId } = await newTeam(sql);
    await setLimit(teamId, 5);
    const actor = actorFor(teamId, { dailyQuota: 5 });
    const process = startQuotaProcess(sql, false);
    const look = startLook();
    const units = granted(await Promise.all(Array.from({ length: 5 }, () => reserve(process, actor))));
    await process.clock.advanceAsync(1_000);
    await look.recordReached(goOn);
    assert.deepEqual(await told(teamId), [], "nothing was answered yet");
    units[0]?.giveBack();
    for (const unit of units) unit.commit();
    await process.quota.drain();
    await look.recordReached(goOn);
    assert.deepEqual(await percents(teamId), [80]);
  });
});
