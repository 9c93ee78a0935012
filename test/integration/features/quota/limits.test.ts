import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { UnitReservation } from "../../../../src/features/quota/quota.ts";
import type { AppError } from "../../../../src/platform/errors.ts";
import { actorFor, newTeam, useDatabase } from "../../../support/store.ts";
import { granted, reserve, startQuotaProcess } from "./quota-process.ts";

const { sql } = await useDatabase();

describe("a changed limit", () => {
  it("that was lowered is kept to, whatever requests that began before still ask", async () => {
    const { teamId } = await newTeam(sql);
    const early = actorFor(teamId, { dailyQuota: 40 }, { limitsAsOfMs: 1 });
    const now = actorFor(teamId, { dailyQuota: 10 }, { limitsAsOfMs: 2 });
    const process = startQuotaProcess(sql, true);
    const outcomes: (UnitReservation | AppError)[] = [await reserve(process, now)];
    for (let i = 0; i < 50; i++) {
      assert.ok(process.quota.snapshot(early).remaining <= 10);
      outcomes.push(await reserve(process, i % 2 === 0 ? now : early));
    }
    for (const reservation of granted(outcomes)) reservation.commit();
    assert.equal(granted(outcomes).length, 10);
    await process.quota.drain();
    assert.equal((await process.quota.view(teamId)).used, 10);
  });

  it("that was raised is in force as soon as a request knows of it", async () => {
    const { teamId } = await newTeam(sql);
    const process = startQuotaProcess(sql, true);
    const early = actorFor(teamId, { dailyQuota: 1 }, { limitsAsOfMs: 1 });
    const now = actorFor(teamId, { dailyQuota: 3 }, { limitsAsOfMs: 2 });
    assert.equal(granted([await reserve(process, early), await reserve(process, early)]).length, 1);
    assert.equal(granted([await reserve(process, now), await reserve(process, early)]).length, 2);
    await process.quota.drain();
  });
});
