import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";

/**
 * Who may begin a check. What is bounded is the wait for our own CPU, as the check pool and our own event loop measure it: while it is short,
 * as many checks may begin as the pool takes, also when mail servers take their time; once it is long, only as many as can be
 * answered soon, and the rest are refused before they have cost much.
 *
 * What is limited are young checks: those let in so lately that they may still wait for CPU, or for their token. An older one waits
 * for a mail server.
 * The limit begins low enough for a crowd that comes at once to be answered in time, grows while it is used up and nothing
 * waits, and is cut to what would have waited for as long as is wanted: in proportion, since a queue is as long as its wait.
 */
export interface Admission {
  /**
   * Somebody asks what is not known here, and has spent nothing yet. Where there is no room for a check, some are let in as
   * guests all the same, to look whether Redis knows.
   * @throws AppError `overloaded`
   */
  enter(teamId: string): Place;
  /** Whether anybody would be refused now: for all that come, one look. */
  readonly isCrowded: boolean;
  /** Whether `enter` would refuse this team now. Takes nothing. */
  refuses(teamId: string): boolean;
  /** Of a team that is refused before it comes to enter: counts it. */
  turnAway(): AppError;
  /** How long a check waited for CPU when that was looked at last, in milliseconds. */
  readonly waitMs: number;
}

/** Of who was let in. */
export interface Place {
  /** Let in to look alone. */
  readonly isGuest: boolean;
  /** Before his check is begun. @throws AppError `overloaded` for a guest */
  admit(): void;
  /** No check was begun for him: Redis had what he asked for. */
  found(): void;
  /** He is answered, however. Idempotent. */
  leave(): void;
}

export interface AdmissionLimits {
  /** A check should wait no longer for CPU. */
  targetMs: number;
  /** How often it is looked at, while checks are young. Too long a wait is one that two looks in a row have seen. */
  lookMs: number;
  /** Young checks: at the beginning, and however long the waits are; and at most. */
  first: number;
  least: number;
  most: number;
  /** A check is young for so long, and for twice as long at most; where checks wait for too long, for four times as long as that. */
  youngMs: number;
  /** While no cut was made for `calmMs`, and else; of a limit that is used up to `growFrom`, not more often than `growEveryMs`. */
  growth: number;
  slowGrowth: number;
  growEveryMs: number;
  growFrom: number;
  calmMs: number;
  /**
   * Of those who will be refused, so many may look into Redis between two looks: what it has is answered even then. Half as many
   * after a time in which none of them found anything, and no fewer than the least; twice as many after another.
   */
  looksBeyond: number;
  looksLeast: number;
  /** After a cut the next one waits for what it has brought. */
  settleMs: number;
}

export interface AdmissionDeps {
  clock: Clock;
  /** See `CheckWaits.take`. */
  takeWaitMs(): number;
  onRefused(): void;
  limits: AdmissionLimits;
}

/** Thrown by the thousand: made once, without a stack of its own. */
const CROWDED = new AppError("overloaded", "More checks were asked for than can be made.", {
  retryAfterS: 1,
});

/** Of a team, its young checks. */
interface Team {
  readonly id: string;
  young: number;
}

class Seat implements Place {
  readonly isGuest = false;
  readonly team: Team;
  readonly #aged: (team: Team) => void;
  isYoung = true;

  constructor(team: Team, aged: (team: Team) => void) {
    this.team = team;
    this.#aged = aged;
  }

  admit(): void {}

  found(): void {}

  /** It has ended, or has grown old. */
  leave(): void {
    if (!this.isYoung) return;
    this.isYoung = false;
    this.#aged(this.team);
  }
}

/**
 * Of two who wait for one check, `begun` first: on whose place it is begun. A guest's is begun on the seat of who joins him; a seat that
 * is not needed is free again, since who joins costs no CPU.
 */
export function sharedPlace(begun: Place | null, joins: Place | null): Place | null {
  if (joins === null || joins.isGuest) return begun;
  if (begun?.isGuest === true) return joins;
  joins.leave();
  return begun;
}

export function createAdmission({ clock, takeWaitMs, onRefused, limits }: AdmissionDeps): Admission {
  const teams = new Map<string, Team>();
  const ceiling = createCeiling(limits);
  let young = 0;
  /** The most at once since the last look. */
  let peak = 0;
  /** Those of now, and those of the time before. */
  let seats: Seat[] = [];
  let elders: Seat[] = [];
  let turnedMs = 0;
  let awake = false;
  let lookDueMs = 0;
  const guests = createGuests(limits, turnAway);
  let waitMs = 0;

  function aged(team: Team): void {
    young -= 1;
    team.young -= 1;
    if (team.young === 0) teams.delete(team.id);
  }

  /** Of a house that is late, those who came some time ago may be waiting for it as well; but not for ever. */
  function ageSeats(nowMs: number): void {
    const youngMs = waitMs <= limits.targetMs ? limits.youngMs : Math.max(limits.youngMs, 4 * waitMs);
    if (nowMs - turnedMs < youngMs) return;
    for (const seat of elders) seat.leave();
    elders = seats;
    seats = [];
    turnedMs = nowMs;
  }

  function lookLater(): void {
    lookDueMs = clock.monotonic() + limits.lookMs;
    clock.after(limits.lookMs, look);
  }

  function look(): void {
    const nowMs = clock.monotonic();
    // A look that is late was in line behind what has to be read: there the next request waits before it is seen.
    waitMs = Math.max(takeWaitMs(), nowMs - lookDueMs);
    ceiling.look(nowMs, waitMs, { young, peak });
    ageSeats(nowMs);
    peak = young;
    guests.look();
    awake = seats.length > 0 || young > 0;
    if (awake) lookLater();
    else ceiling.reset();
  }

  function wake(): void {
    awake = true;
    turnedMs = clock.monotonic();
    // What waited before this began is no reason to refuse it.
    takeWaitMs();
    lookLater();
  }

  /** A team with less than its share gets in where others fill the house: all such together are as many as fill it. */
  function hasRoom(teamId: string): boolean {
    if (young < ceiling.limit) return true;
    const team = teams.get(teamId);
    const sharers = team === undefined ? teams.size + 1 : teams.size;
    return (team?.young ?? 0) + 1 <= ceiling.limit / sharers;
  }

  function turnAway(): AppError {
    onRefused();
    return CROWDED;
  }

  const isCrowded = () => !guests.mayCome && young >= ceiling.limit;

  return {
    enter(teamId) {
      if (!hasRoom(teamId)) {
        if (!guests.mayCome) throw turnAway();
        return guests.letIn();
      }
      const known = teams.get(teamId);
      if (!awake) wake();
      const team = known ?? { id: teamId, young: 0 };
      if (known === undefined) teams.set(teamId, team);
      team.young += 1;
      young += 1;
      if (young > peak) peak = young;
      const seat = new Seat(team, aged);
      seats.push(seat);
      return seat;
    },
    get isCrowded() {
      return isCrowded();
    },
    refuses: (teamId) => isCrowded() && !hasRoom(teamId),
    turnAway,
    get waitMs() {
      return waitMs;
    },
  };
}

/** Those who are let in to look alone. */
interface Guests {
  readonly mayCome: boolean;
  letIn(): Place;
  /** Counts anew from here. */
  look(): void;
}

function createGuests({ looksBeyond, looksLeast }: AdmissionLimits, turnAway: () => AppError): Guests {
  let most = looksBeyond;
  let left = looksBeyond;
  /** Since the last look. */
  let came = 0;
  let finds = 0;
  const guest: Place = {
    isGuest: true,
    admit() {
      throw turnAway();
    },
    found() {
      finds += 1;
    },
    leave() {},
  };

  return {
    get mayCome() {
      return left > 0;
    },
    letIn() {
      left -= 1;
      came += 1;
      return guest;
    },
    look() {
      if (finds > 0) most = Math.min(looksBeyond, most * 2);
      else if (came > 0) most = Math.max(Math.min(looksBeyond, looksLeast), most / 2);
      left = Math.ceil(most);
      came = 0;
      finds = 0;
    },
  };
}

/** How many checks may be young. */
interface Ceiling {
  readonly limit: number;
  /** @param peak the most that were young at once since the look before */
  look(nowMs: number, waitMs: number, checks: { young: number; peak: number }): void;
  /** Nothing is under way: what was learnt of other days says little. */
  reset(): void;
}

function createCeiling(limits: AdmissionLimits): Ceiling {
  const { targetMs, least, most } = limits;
  let limit = limits.first;
  let lastWaitMs = 0;
  let cutMs = Number.NEGATIVE_INFINITY;
  let grownMs = Number.NEGATIVE_INFINITY;

  function cut(nowMs: number, waitMs: number, young: number): void {
    // So few do not make each other wait: something else takes the CPU.
    if (young <= least || nowMs - cutMs < limits.settleMs) return;
    cutMs = nowMs;
    limit = Math.max(least, Math.min(limit, young * Math.max(0.5, targetMs / waitMs)));
  }

  function adapt(nowMs: number, peak: number): void {
    if (nowMs - grownMs < limits.growEveryMs) return;
    grownMs = nowMs;
    const growth = nowMs - cutMs < limits.calmMs ? limits.slowGrowth : limits.growth;
    if (peak > limit * limits.growFrom) limit = Math.min(most, limit * growth);
    // Room that nobody uses would be filled at once by whoever comes with too much.
    else if (limit > limits.first) limit = Math.max(limits.first, peak / limits.growFrom, limit / growth);
    else limit = Math.min(limits.first, limit * growth);
  }

  return {
    get limit() {
      return limit;
    },
    look(nowMs, waitMs, { young, peak }) {
      const leastWaitMs = Math.min(waitMs, lastWaitMs);
      lastWaitMs = waitMs;
      if (leastWaitMs > targetMs) cut(nowMs, leastWaitMs, young);
      else if (waitMs < targetMs / 2) adapt(nowMs, peak);
    },
    reset() {
      limit = limits.first;
      lastWaitMs = 0;
      cutMs = Number.NEGATIVE_INFINITY;
      grownMs = Number.NEGATIVE_INFINITY;
    },
  };
}
