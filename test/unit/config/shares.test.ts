import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createGrowingBuffer } from "../../../src/api/body/body.ts";
import { createBodyBudget } from "../../../src/api/body/body-budget.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { TIER_LIMITS } from "../../../src/config/tiers.ts";
import { createTeamSlots, tooMany } from "../../../src/platform/team-slots.ts";

/** A team has a share for its live requests, and one for those of its test keys: together they leave room for other teams. */

const { uploads, results, requestThread, feedbackThread } = LIMITS;
const { readSlots } = LIMITS.postgres;
const { looks } = LIMITS.objects;
const { files } = LIMITS.feedback;

describe("the two shares of a team", () => {
  const slots: [of: string, all: number, perShare: number, kept: number][] = [
    ["streamed uploads", uploads.streamed, uploads.streamedPerTeam, uploads.streamedKept],
    ["parts of uploads", uploads.partLists, uploads.partListsPerShare, uploads.partListsKept],
    ["previews", uploads.previews, uploads.previewsPerTeam, uploads.previewsKept],
    ["downloads", results.downloads, results.teamDownloads, results.keptDownloads],
    ["joined downloads", results.joinedDownloads, results.teamJoinedDownloads, results.keptJoinedDownloads],
    ["followers", results.followers, results.teamFollowers, results.keptFollowers],
    ["files of bounces", files.streamed, files.streamedPerTeam, files.streamedKept],
    ["waits for object storage", looks.waiting, looks.waitingPerShare, looks.waitingKept],
    ["reads", readSlots.all, readSlots.perShare, readSlots.kept],
    ["tasks", requestThread.tasks, requestThread.tasksPerShare, requestThread.tasksKept],
    ["feedback tasks", feedbackThread.tasks, feedbackThread.tasksPerShare, feedbackThread.tasksKept],
  ];
  for (const [of, all, perShare, kept] of slots)
    it(`leave ${of} for others`, () => assert.ok(2 * perShare + kept <= all));

  for (const [of, all, perShare, kept] of slots)
    it(`of three teams leave ${of} for others`, () => {
      const places = createTeamSlots({ all, perShare, kept }, tooMany(of, perShare));
      for (let team = 0; team < 6; team++)
        for (let i = 0; i < perShare; i++)
          try {
            places.take(`share_${team}`);
          } catch {
            break;
          }
      places.take("another");
    });

  it("each hold as many reads as a tier allows at once, and leave other teams several at once", () => {
    const bursts = Object.values(TIER_LIMITS).map(({ readsBurst }) => readsBurst);
    assert.ok(readSlots.perShare >= Math.max(...bursts));
    const places = createTeamSlots(readSlots, tooMany("reads", readSlots.perShare));
    for (const share of ["team", "team:test"])
      for (let i = 0; i < readSlots.perShare; i++) places.take(share);
    for (let i = 0; i < 100; i++) places.take("another");
  });

  const { bytes, share } = LIMITS.http.bodies.teams;

  it("are at most a third of the memory for bodies", () => assert.ok(2 * share <= 1 / 3));

  it("of three teams leave memory for the small bodies of others", () => {
    const budget = createBodyBudget(LIMITS.http.bodies.teams);
    for (let team = 0; team < 6; team++) {
      const account = budget.accountOf(`share_${team}`);
      while (account.take(1_048_576));
    }
    assert.ok(budget.accountOf("another").take(65_536));
  });

  it("each fit as many files of bounces at once as they may send", () => {
    const account = createBodyBudget(LIMITS.http.bodies.teams).accountOf("share");
    const piece = Buffer.alloc(65_536);
    for (let file = 0; file < files.streamedPerTeam; file++) {
      const buffer = createGrowingBuffer(LIMITS.feedback.fileBytes, account);
      while (buffer.length < LIMITS.feedback.fileBytes) assert.ok(buffer.append(piece));
    }
  });

  it("have a task for each file of bounces that they may send", () => {
    assert.ok(files.streamedPerTeam <= feedbackThread.tasksPerShare);
    assert.ok(files.streamed <= feedbackThread.tasks);
    assert.ok(files.streamed - files.streamedKept <= feedbackThread.tasks - feedbackThread.tasksKept);
  });

  it("each fit the largest inline list, also as gzip that halves it", () =>
    assert.ok(1.5 * LIMITS.bulk.bodyBytes <= bytes * share));
});
