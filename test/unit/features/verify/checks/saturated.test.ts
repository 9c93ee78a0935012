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
/** Costs of a refusal and of an admission, relative to a check. */
const REFUSAL = 0.07;
const ENTRY = 0.2;
/** Delay of the answers of Redis and the thread, whatever the load. */
const AWAY_MS = 80;
/** Most requests at once: further ones wait for a connection, outside of the process. */
const CONNECTIONS = 1_000;

interface Asked {
  teamId: string;
  dueMs: number;
}

class Tally {
  asked = 0;
  readonly acceptedMs: number[] = [];
  readonly refusedMs: number[] = [];
}

/**
 * A process with one CPU that does `perS` checks a second while it refuses none. Reading requests and checking share
 * the CPU equally.
 */
function simulatedProcess(perS: number) {
  const clock = createFakeClock();
  const outside: Asked[] = [];
  const checks: { asked: Asked; place: AdmissionSlot; readyMs: number }[] = [];
  const tallies = new Map<string, Tally>();
  /** Capacity since the last look, and its used part (`used`); both in checks. */
  let had = 0;
  let used = 0;
  let waits: number[] = [];
  /** Another process takes the CPU: every check waits this long. */
  let slowMs = 0;
  const admission = createCheckAdmission({
    clock,
    limits: LIMITED,
    onRefused() {},
    takeWaitMs() {
      const taken = waits;
      waits = [];
      // The measurement is late by the time for the requests read before it.
      const turnMs = (Math.min(outside.length, CONNECTIONS) * REFUSAL * 1_000) / perS;
      return Math.max(
        slowMs,
        turnMs,
        taken.length === 0 ? 0 : taken.reduce((sum, ms) => sum + ms, 0) / taken.length,
      );
    },
    takeIdle() {
      const idle = had === 0 ? 1 : Math.max(0, 1 - used / had);
      had = 0;
      used = 0;
      return idle;
    },
  });

  function tallyOf(teamId: string): Tally {
    const tally = tallies.get(teamId) ?? new Tally();
    tallies.set(teamId, tally);
    return tally;
  }

  const sinceMs = ({ dueMs }: Asked) => clock.monotonic() - dueMs;

  function refused(asked: Asked, error: unknown): number {
    assert.ok(error instanceof AppError && error.code === "overloaded");
    tallyOf(asked.teamId).refusedMs.push(sinceMs(asked));
    return REFUSAL;
  }

  /** Cost of reading a request, in checks. */
  function read(asked: Asked): number {
    if (admission.wouldRefuse(asked.teamId)) return refused(asked, admission.refuse(asked.teamId));
    try {
      const place = admission.enter(asked.teamId);
      checks.push({ asked, place, readyMs: clock.monotonic() + AWAY_MS });
      return ENTRY;
    } catch (error) {
      return refused(asked, error);
    }
  }

  function check({ asked, place }: { asked: Asked; place: AdmissionSlot }): number {
    try {
      place.admit();
      waits.push(Math.max(0, sinceMs(asked) - AWAY_MS));
      tallyOf(asked.teamId).acceptedMs.push(sinceMs(asked));
      return 1 - ENTRY;
    } catch (error) {
      return refused(asked, error);
    } finally {
      place.release();
    }
  }

  /** The rest of the step's time; a negative rest is taken from the next step. */
  let left = 0;

  function work(): void {
    const budget = (perS * STEP_MS) / 1_000;
    left += budget;
    had += budget;
    let readable = Math.min(outside.length, CONNECTIONS - checks.length);
    const spent = { reading: 0, checking: 0 };
    const isReady = () => (checks[0]?.readyMs ?? Number.POSITIVE_INFINITY) <= clock.monotonic();
    while (left > 0 && (readable > 0 || isReady())) {
      const mayRead = readable > 0 && (spent.reading <= spent.checking || !isReady());
      const asked = mayRead ? outside.shift() : undefined;
      const next = mayRead ? undefined : checks.shift();
      const cost = asked !== undefined ? read(asked) : next !== undefined ? check(next) : 0;
      if (mayRead) readable -= 1;
      spent[mayRead ? "reading" : "checking"] += cost;
      left -= cost;
      used += cost;
    }
    left = Math.min(left, 0);
  }

  function ask(teamId: string): void {
    tallyOf(teamId).asked += 1;
    outside.push({ teamId, dueMs: clock.monotonic() });
  }

  return {
    ask,
    slow(ms: number) {
      slowMs = ms;
    },
    /** Requests at fixed intervals, whatever their outcome. */
    flood(forMs: number, rates: Record<string, number>): void {
      const due: Record<string, number> = {};
      for (let ms = 0; ms < forMs; ms += STEP_MS) {
        for (const [teamId, rate] of Object.entries(rates)) {
          let count = (due[teamId] ?? 0) + (rate * STEP_MS) / 1_000;
          for (; count >= 1; count -= 1) ask(teamId);
          due[teamId] = count;
        }
        work();
        clock.advance(STEP_MS);
      }
    },
    /** This many callers, who ask again as soon as they are answered. */
    callers(forMs: number, count: number): void {
      for (let ms = 0; ms < forMs; ms += STEP_MS) {
        while (outside.length + checks.length < count) ask("callers");
        work();
        clock.advance(STEP_MS);
      }
    },
    take(teamId: string): Tally {
      const tally = tallyOf(teamId);
      tallies.delete(teamId);
      return tally;
    },
  };
}

const worst = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0);

describe("admission where refusals cost CPU", () => {
  it("answers every request soon at ten times the capacity, where refusals alone take two thirds of the CPU", () => {
    const { flood, take } = simulatedProcess(1_000);
    flood(2_000, { flood: 10_000 });
    take("flood");
    flood(10_000, { flood: 10_000 });
    const { acceptedMs, refusedMs } = take("flood");
    assert.ok(worst(refusedMs) <= 250, `refused after ${worst(refusedMs)} ms`);
    assert.ok(worst(acceptedMs) <= 500, `answered after ${worst(acceptedMs)} ms`);
    assert.ok(acceptedMs.length >= 1_000, `${acceptedMs.length} were answered`);
  });

  it("refuses none of a team that asks for little then, and frees all slots afterwards", () => {
    const { flood, take } = simulatedProcess(1_000);
    flood(2_000, { flood: 10_000, small: 50 });
    take("small");
    flood(10_000, { flood: 9_900, small: 50 });
    const small = take("small");
    assert.equal(small.refusedMs.length, 0);
    assert.ok(small.acceptedMs.length >= 490);
    flood(3_000, { small: 50 });
    take("small");
    flood(2_000, { small: 800 });
    assert.equal(take("small").refusedMs.length, 0);
  });

  it("locks no team out, though many ask for little, and by bursts", () => {
    const { flood, ask, take } = simulatedProcess(1_000);
    const small = Object.fromEntries(Array.from({ length: 19 }, (_, i) => [`small${i}`, 20]));
    flood(2_000, { flood: 10_000, ...small });
    take("flood");
    for (let round = 0; round < 25; round++) {
      for (let i = 0; i < 8; i++) ask("bursty");
      flood(400, { flood: 10_000, ...small });
    }
    const bursty = take("bursty");
    assert.ok(bursty.acceptedMs.length >= 25, `${bursty.acceptedMs.length} of the bursts were answered`);
    assert.ok(take("flood").acceptedMs.length > 0, "nothing of the flood was answered");
  });

  it("holds a team to its share for as long as it floods: it does not come back in bursts", () => {
    const { flood, take } = simulatedProcess(250);
    flood(3_000, { flood: 1_500 });
    take("flood");
    const rounds = Array.from({ length: 20 }, () => {
      flood(500, { flood: 1_500 });
      return take("flood").acceptedMs;
    });
    const counts = rounds.map(({ length }) => length);
    assert.ok(Math.max(...counts) <= 1.1 * Math.min(...counts), `answered by turns: ${counts}`);
    const last = worst(rounds.at(-1) ?? []);
    assert.ok(last <= 500, `answered after ${last} ms at last`);
  });

  it("refuses none of teams that came with too much once, and ask for little since, while another floods", () => {
    const { flood, ask, take } = simulatedProcess(6_000);
    const names = Array.from({ length: 5 }, (_, i) => `team${i}`);
    const all = { flood: 60_000, ...Object.fromEntries(names.map((name) => [name, 120])) };
    flood(2_000, all);
    for (const name of names) for (let i = 0; i < 1_200; i++) ask(name);
    flood(4_000, all);
    for (const name of names) take(name);
    flood(2_000, all);
    for (const name of names) assert.equal(take(name).refusedMs.length, 0, name);
  });

  it("gives room back when a flood is over though checks still wait, for a cause that is not theirs", () => {
    const { flood, take, slow } = simulatedProcess(1_000);
    flood(3_000, { team: 10_000 });
    slow(120);
    flood(10_000, { team: 300 });
    take("team");
    flood(20_000, { team: 300 });
    const { refusedMs } = take("team");
    assert.equal(refusedMs.length, 0, `${refusedMs.length} were refused`);
  });

  for (const [perS, share] of [
    [1_000, 0.14],
    [5_000, 0.4],
    [30_000, 0.4],
  ] as const)
    it(`is busy with checks for 400 callers who ask again as soon as they are refused, at ${perS}/s`, () => {
      const { callers, take } = simulatedProcess(perS);
      callers(2_000, 400);
      take("callers");
      callers(5_000, 400);
      const { acceptedMs, refusedMs } = take("callers");
      const perSecond = acceptedMs.length / 5;
      const mostPerS = Math.min(perS, (400 * 1_000) / AWAY_MS);
      assert.ok(perSecond >= share * mostPerS, `${perSecond}/s were answered, ${refusedMs.length} refused`);
    });
});
