import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemClock } from "../../../../src/core/clock.ts";
import type { AppError } from "../../../../src/core/errors.ts";
import { effectiveLimits } from "../../../../src/core/tiers.ts";
import type { Actor } from "../../../../src/services/actor.ts";
import { createSubmitBulk } from "../../../../src/services/bulk/submit.ts";
import type { JobObjects } from "../../../../src/store/job-objects.ts";
import type { Database } from "../../../../src/store/postgres.ts";
import { createMemoryObjects } from "../../../support/bulk-tasks.ts";
import { createClosing, newTeam, openDatabase, silentLog } from "../../../support/store.ts";

/** Submissions that fail on the way, or only seem to. */
const closing = createClosing();
let sql: Database;

before(async () => {
  ({ sql } = await openDatabase(closing));
});
after(closing.close);

async function newActor(): Promise<Actor> {
  const { teamId, userId } = await newTeam(sql, "enterprise");
  return {
    teamId,
    userId,
    keyId: "key_1",
    isSession: false,
    role: "member",
    livemode: true,
    tier: "enterprise",
    limits: effectiveLimits("enterprise", {}),
    limitsAsOfMs: 0,
    overlay: { isBlocked: () => false, isDisposable: () => false },
  };
}

function createSubmit(database: Database, objects: JobObjects) {
  return createSubmitBulk({
    sql: database,
    objects,
    clock: systemClock,
    log: silentLog,
    view: { publicUrl: null, retentionDays: 30 },
    webhooks: { privateAddresses: true },
    onQueued: () => undefined,
  });
}

const INPUT = { emails: ["a@example.com"], withEvidence: false, metadata: {}, webhookUrl: null };
const lost = () => Object.assign(new Error("connection lost"), { code: "CONNECTION_CLOSED" });

/** The database, whose transaction number `failing` commits, but is heard to fail. */
function losingTheAnswer(failing: number): Database {
  let transactions = 0;
  return new Proxy(sql, {
    get(target, property, receiver) {
      if (property !== "begin") return Reflect.get(target, property, receiver);
      return async (work: Parameters<Database["begin"]>[0]) => {
        const answer = await target.begin(work);
        transactions += 1;
        if (transactions === failing) throw lost();
        return answer;
      };
    },
  });
}

async function heldOf(teamId: string): Promise<number[]> {
  const rows = await sql<{ units: number }[]>`select units from quota_holds where team_id = ${teamId}`;
  return rows.map(({ units }) => units);
}

describe("a submission", () => {
  it("whose job was queued is answered with it, also when the answer to the commit was lost", async () => {
    const actor = await newActor();
    const job = await createSubmit(losingTheAnswer(2), createMemoryObjects())(actor, INPUT);
    assert.equal(job.status, "queued");
    const jobs = await sql`select id from jobs where team_id = ${actor.teamId} and removed_at is null`;
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [job.id],
    );
    assert.deepEqual(await heldOf(actor.teamId), [1]);
  });

  it("whose source cannot be stored is refused, and holds nothing", async () => {
    const actor = await newActor();
    const objects = { ...createMemoryObjects(), put: () => Promise.reject(lost()) };
    await assert.rejects(
      createSubmit(sql, objects)(actor, INPUT),
      (error: AppError) => error.code === "unavailable",
    );
    assert.deepEqual(await heldOf(actor.teamId), []);
  });
});
