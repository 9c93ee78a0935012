import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  type AdmissionSlot,
  createCheckAdmission,
} from "../../../../../src/features/verify/checks/admission.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

const LIMITED = LIMITS.inFlightChecks.admission;
const STEP_MS = 5;
/** A check waits so often until it is answered: the pool measures one such wait. */
const WAITS = 4;

interface Check {
  teamId: string;
  place: AdmissionSlot;
  askedMs: number;
}

interface Tally {
  asked: number;
  refused: number;
  answered: number;
  latenciesMs: number[];
}

/** A process that does so many checks a second, one after the other, each of which then waits for a mail server. */
function simulatedProcess({ perS, serverMs = 0 }: { perS: number; serverMs?: number }) {
  const clock = createFakeClock();
  const queue: Check[] = [];
  const waits: number[] = [];
  const tallies = new Map<string, Tally>();
  let refused = 0;
  let credit = 0;
  let slowMs = serverMs;
  const admission = createCheckAdmission({
    clock,
    limits: LIMITED,
    onRefused() {
      refused += 1;
    },
    takeWaitMs() {
      const taken = waits.splice(0);
      return taken.length === 0 ? 0 : taken.reduce((sum, ms) => sum + ms, 0) / taken.length / WAITS;
    },
    takeIdle: () => 1,
  });

  function tallyOf(teamId: string): Tally {
    const tally = tallies.get(teamId) ?? { asked: 0, refused: 0, answered: 0, latenciesMs: [] };
    tallies.set(teamId, tally);
    return tally;
  }

  function ask(teamId: string): boolean {
    const tally = tallyOf(teamId);
    tally.asked += 1;
    const predicted = admission.wouldRefuse(teamId);
    let place: AdmissionSlot | null = null;
    try {
      place = admission.enter(teamId);
      place.admit();
      queue.push({ teamId, place, askedMs: clock.monotonic() });
      return true;
    } catch (error) {
      assert.ok(error instanceof AppError && error.code === "overloaded" && error.retryAfterS === 1);
      tally.refused += 1;
      return false;
    } finally {
      // `wouldRefuse` predicts the outcome, and a request is refused only at capacity.
      assert.equal(predicted, place === null);
      assert.ok(!predicted || admission.isAtCapacity());
    }
  }

  function work(): void {
    credit += (perS * STEP_MS) / 1_000;
    for (; credit >= 1 && queue.length > 0; credit -= 1) {
      const check = queue.shift();
      if (check === undefined) break;
      const { teamId, place, askedMs } = check;
      const waitedMs = clock.monotonic() - askedMs;
      waits.push(waitedMs);
      const tally = tallyOf(teamId);
      clock.after(slowMs, () => {
        place.release();
        tally.answered += 1;
        tally.latenciesMs.push(waitedMs);
      });
    }
    if (queue.length === 0) credit = Math.min(credit, 1);
  }

  /** Requests of each team at even distances. */
  function run(forMs: number, rates: Record<string, number>): void {
    const due: Record<string, number> = {};
    for (let ms = 0; ms < forMs; ms += STEP_MS) {
      for (const [teamId, rate] of Object.entries(rates)) {
        let left = (due[teamId] ?? 0) + (rate * STEP_MS) / 1_000;
        for (; left >= 1; left -= 1) ask(teamId);
        due[teamId] = left;
      }
      work();
      clock.advance(STEP_MS);
    }
  }

  return {
    ...{ clock, admission, ask, run },
    /** The counts since the last call. */
    take(teamId: string): Tally {
      const tally = tallyOf(teamId);
      tallies.delete(teamId);
      return tally;
    },
    refused: () => refused,
    makeServersSlow(ms: number) {
      slowMs = ms;
    },
  };
}

const worst = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0);

describe("admission", () => {
  for (const perS of [600, 2_000, 10_000]) {
    it(`keeps what is accepted quick at ten times of ${perS}/s, and the process busy`, () => {
      const { run, take } = simulatedProcess({ perS, serverMs: 20 });
      run(500, { flood: 10 * perS });
      const first = take("flood");
      assert.ok(first.refused > 0, "none was refused in the first half second");
      // A crowd on a slow machine waits for the first of it.
      const slowest = Math.max(500, (2_000 * LIMITED.first) / perS);
      assert.ok(worst(first.latenciesMs) <= slowest, `the first waited for ${worst(first.latenciesMs)} ms`);
      run(5_000, { flood: 10 * perS });
      const { answered, latenciesMs } = take("flood");
      assert.ok(worst(latenciesMs) <= slowest, `they waited for ${worst(latenciesMs)} ms`);
      assert.ok(answered >= 0.9 * 5 * perS, `${answered} were answered`);
    });
  }

  it("refuses no check a second after the end of a flood", () => {
    const { run, take } = simulatedProcess({ perS: 1_000 });
    run(5_000, { flood: 10_000 });
    run(1_000, { flood: 200 });
    take("flood");
    run(3_000, { flood: 800 });
    const { refused, answered } = take("flood");
    assert.deepEqual([refused, answered], [0, 2_400]);
  });

  it("refuses no check below capacity, however the load rises", () => {
    const { run, take, refused } = simulatedProcess({ perS: 5_000, serverMs: 150 });
    for (let rate = 100; rate < 4_500; rate *= 1.5) run(300, { calm: rate });
    run(3_000, { calm: 4_500 });
    assert.equal(refused(), 0);
    assert.ok(take("calm").answered > 13_000);
  });

  it("refuses no check because mail servers are slow, with eight thousand probes waiting", () => {
    const { run, take, refused, admission, makeServersSlow } = simulatedProcess({
      perS: 4_000,
      serverMs: 50,
    });
    run(1_000, { calm: 1_000 });
    makeServersSlow(8_000);
    run(20_000, { calm: 1_000 });
    const { asked, answered } = take("calm");
    assert.equal(refused(), 0);
    assert.ok(asked - answered >= 8_000 - 10, `${asked - answered} wait`);
    assert.equal(admission.waitMs(), 0);
  });

  it("keeps what is accepted quick when a flood comes while eight thousand wait for mail servers", () => {
    const { run, take, makeServersSlow } = simulatedProcess({ perS: 1_000, serverMs: 8_000 });
    run(9_000, { calm: 900 });
    makeServersSlow(20);
    take("calm");
    run(3_000, { calm: 10_000 });
    const { refused, latenciesMs } = take("calm");
    assert.ok(refused > 0);
    const quick = latenciesMs.filter((ms) => ms <= 1_500);
    assert.ok(quick.length >= 0.9 * latenciesMs.length, `${quick.length} of ${latenciesMs.length}`);
  });

  it("refuses the team that floods, not a team beside it", () => {
    const { run, take } = simulatedProcess({ perS: 1_000 });
    run(1_000, { flood: 10_000, small: 50, other: 100 });
    for (const team of ["flood", "small", "other"]) take(team);
    run(5_000, { flood: 10_000, small: 50, other: 100 });
    const [flood, small, other] = [take("flood"), take("small"), take("other")];
    assert.ok(flood.refused > 0.8 * flood.asked);
    assert.deepEqual([small.refused, other.refused], [0, 0]);
    assert.ok(flood.answered > 3_500, `${flood.answered} of the flood were answered`);
  });

  it("gives teams that all flood like shares", () => {
    const { run, take } = simulatedProcess({ perS: 1_000 });
    const rates = { a: 8_000, b: 4_000, c: 2_000 };
    run(1_000, rates);
    for (const team of Object.keys(rates)) take(team);
    run(5_000, rates);
    const answered = Object.keys(rates).map((team) => take(team).answered);
    for (const count of answered) assert.ok(count > 1_000, `${answered}`);
  });

  it("bounds a crowd that comes at once, and lets it come again when it is answered", () => {
    const { ask, run } = simulatedProcess({ perS: 1_000 });
    const crowd = Array.from({ length: LIMITED.first + 50 }, () => ask("crowd"));
    assert.equal(crowd.filter((admitted) => admitted).length, LIMITED.first);
    run(LIMITED.first, {});
    assert.ok(ask("crowd"));
  });

  it("ignores one long pause of the process", () => {
    const clock = createFakeClock();
    let waitMs = 0;
    const admission = createCheckAdmission({
      clock,
      limits: LIMITED,
      takeWaitMs: () => waitMs,
      takeIdle: () => 1,
      onRefused: () => assert.fail("refused"),
    });
    const enter = (count: number) => Array.from({ length: count }, () => admission.enter("team"));
    const places = enter(LIMITED.first - 10);
    clock.advance(LIMITED.lookMs);
    waitMs = 400;
    clock.advance(LIMITED.lookMs);
    waitMs = 0;
    clock.advance(LIMITED.lookMs);
    enter(10);
    for (const place of places) place.release();
  });

  it("never goes below its least, whatever the waits", () => {
    const clock = createFakeClock();
    const admission = createCheckAdmission({
      clock,
      limits: LIMITED,
      takeWaitMs: () => 60_000,
      takeIdle: () => 1,
      onRefused: () => assert.fail("refused"),
    });
    for (let round = 0; round < 50; round++) {
      const places = Array.from({ length: LIMITED.least }, () => admission.enter("team"));
      clock.advance(LIMITED.lookMs);
      for (const place of places) place.release();
    }
  });

  it("takes no late look of a few for an overload: a crowd that comes then is let in", () => {
    const clock = createFakeClock();
    let waitMs = 60;
    const onRefused = () => assert.fail("refused");
    const admission = createCheckAdmission({
      clock,
      limits: LIMITED,
      takeWaitMs: () => waitMs,
      takeIdle: () => 1,
      onRefused,
    });
    for (let look = 0; look < 10; look++) {
      const places = [1, 2, 3].map(() => admission.enter("team"));
      clock.advance(LIMITED.lookMs);
      if (look < 9) for (const place of places) place.release();
    }
    waitMs = 0;
    for (let i = 0; i < 200; i++) admission.enter("team").admit();
  });

  it("lets checks that wait for mail servers grow old in a process that other work delays", () => {
    const clock = createFakeClock();
    const onRefused = () => assert.fail("refused");
    const admission = createCheckAdmission({
      clock,
      limits: LIMITED,
      takeWaitMs: () => 60,
      takeIdle: () => 1,
      onRefused,
    });
    // 40 a second, none of which is released for a minute.
    for (let i = 0; i < 2_400; i++) {
      admission.enter("team").admit();
      clock.advance(25);
    }
  });

  it("counts a slot again that grew old while its token was fetched: its check begins only then", () => {
    const { admission, clock } = simulatedProcess({ perS: 1_000 });
    const enter = (teamId: string, count: number) =>
      Array.from({ length: count }, () => admission.enter(teamId));
    const slots = [...enter("slow", LIMITED.first - 1), ...enter("other", 1)];
    clock.advance(3 * LIMITED.youngMs);
    const late = enter("slow", LIMITED.first);
    clock.advance(3 * LIMITED.youngMs);
    assert.deepEqual([admission.isAtCapacity(), clock.pending], [false, 0]);
    for (const slot of slots) slot.admit();
    assert.ok(admission.isAtCapacity());
    assert.throws(() => late[0]?.admit(), { code: "overloaded" });
    for (const slot of slots) slot.release();
    assert.equal(admission.isAtCapacity(), false);
    for (const slot of late) slot.admit();
    assert.ok(admission.isAtCapacity());
    // Slots that are never released grow old again.
    clock.advance(3 * LIMITED.youngMs);
    assert.deepEqual([admission.isAtCapacity(), clock.pending], [false, 0]);
  });

  it("leaves no timer behind, and counts a place once", () => {
    const clock = createFakeClock();
    const limits = { ...LIMITED, first: 2, least: 1 };
    const admission = createCheckAdmission({
      clock,
      limits,
      takeWaitMs: () => 0,
      takeIdle: () => 1,
      onRefused: () => {},
    });
    const place = admission.enter("team");
    const other = admission.enter("team");
    assert.throws(() => admission.enter("team").admit(), { code: "overloaded" });
    place.release();
    place.release();
    admission.enter("team").release();
    admission.enter("team");
    assert.throws(() => admission.enter("team").admit(), { code: "overloaded" });
    // Slots that are never released grow old.
    clock.advance(2 * LIMITED.youngMs + 2 * LIMITED.lookMs);
    assert.equal(clock.pending, 0);
    other.release();
    admission.enter("team").release();
  });
});
