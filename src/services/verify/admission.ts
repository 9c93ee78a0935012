import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { type ConcurrencyLimitSettings, createConcurrencyLimit } from "./concurrency-limit.ts";

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
export interface CheckAdmission {
  /**
   * Somebody asks what is not known here, and has spent nothing yet. Where there is no room for a check, some are let in as
   * guests all the same, to look whether Redis knows.
   * @throws AppError `overloaded`
   */
  enter(teamId: string): AdmissionSlot;
  /** Whether anybody would be refused now: for all that come, one look. */
  isAtCapacity(): boolean;
  /** Whether `enter` would refuse this team now. Takes nothing. */
  wouldRefuse(teamId: string): boolean;
  /** The house has no time to find out what is asked by whom it refuses. */
  isSaturated(): boolean;
  /** Of a team that is refused before it comes to enter: counts it. */
  refuse(teamId: string): AppError;
  /** How long a check waited for CPU when that was looked at last, in milliseconds. */
  waitMs(): number;
}

/** Of who was let in. */
export interface AdmissionSlot {
  /** Let in to look alone. */
  readonly isLookupOnly: boolean;
  /** Before his check is begun. @throws AppError `overloaded` for a guest, and where there is less room by now than when he came */
  admit(): void;
  /** No check was begun for him: Redis had what he asked for. */
  onCacheHit(): void;
  /** He is answered, however. Idempotent. */
  release(): void;
}

export interface CheckAdmissionLimits extends ConcurrencyLimitSettings {
  /** How often it is looked at, while checks are young. */
  lookMs: number;
  /** A check is young for so long, and for twice as long at most; where checks wait for too long, for four times as long as that. */
  youngMs: number;
  /**
   * Of those who will be refused, so many may look into Redis between two looks: what it has is answered even then. Half as many
   * after a time in which none of them found anything, and no fewer than the least; twice as many after another.
   */
  looksBeyond: number;
  looksLeast: number;
  /**
   * A team that was refused with a usual share or more, and more often than that within so long, counts as one that crowds the house for
   * so long, and for twice as long at most.
   */
  crowderMs: number;
}

export interface CheckAdmissionDeps {
  clock: Clock;
  /** See `CheckWaits.take`. */
  takeWaitMs(): number;
  /** Of the time since it was asked last, the share in which our own event loop had nothing to do: 0 to 1. */
  takeIdle(): number;
  onRefused(): void;
  limits: CheckAdmissionLimits;
}

/** Thrown by the thousand: made once, without a stack of its own. */
const TOO_MANY_CHECKS = new AppError("overloaded", "More checks were asked for than can be made.", {
  retryAfterS: 1,
});

/** Of a team, its young checks. */
interface TeamLoad {
  readonly id: string;
  young: number;
}

/** What a seat asks the house. */
interface SlotOwner {
  /** @throws AppError `overloaded` */
  admit(seat: CheckSlot): void;
  onAged(team: TeamLoad): void;
}

class CheckSlot implements AdmissionSlot {
  readonly isLookupOnly = false;
  readonly team: TeamLoad;
  /** How often the ceiling had been cut when he came. */
  readonly cuts: number;
  readonly #owner: SlotOwner;
  isYoung = true;

  constructor(team: TeamLoad, cuts: number, house: SlotOwner) {
    this.team = team;
    this.cuts = cuts;
    this.#owner = house;
  }

  admit(): void {
    this.#owner.admit(this);
  }

  onCacheHit(): void {}

  /** It has ended, or has grown old. */
  release(): void {
    if (!this.isYoung) return;
    this.isYoung = false;
    this.#owner.onAged(this.team);
  }
}

/**
 * Of two who wait for one check, `begun` first: on whose place it is begun. A guest's is begun on the seat of who joins him; a seat that
 * is not needed is free again, since who joins costs no CPU, and is refused where the check that he joined is.
 */
export function sharedSlot(
  starter: AdmissionSlot | null,
  joiner: AdmissionSlot | null,
): AdmissionSlot | null {
  if (joiner === null || joiner.isLookupOnly) return starter;
  if (starter?.isLookupOnly === true) return joiner;
  joiner.release();
  return starter;
}

export function createCheckAdmission({
  clock,
  takeWaitMs,
  takeIdle,
  onRefused,
  limits,
}: CheckAdmissionDeps): CheckAdmission {
  const teams = new Map<string, TeamLoad>();
  const concurrencyLimit = createConcurrencyLimit(limits);
  let young = 0;
  /** The most at once since the last look. */
  let peak = 0;
  /** Anybody, since the last look. */
  let refused = false;
  /** Those of now, and those of the time before. */
  let slots: CheckSlot[] = [];
  let olderSlots: CheckSlot[] = [];
  let turnedMs = 0;
  let awake = false;
  let lookDueMs = 0;
  const lookupSlots = createLookupSlots(limits, refuse);
  const heavyTeams = createHeavyTeams(limits.crowderMs);
  let waitMs = 0;

  const slotOwner: SlotOwner = {
    admit({ team: { id }, isYoung, cuts }) {
      // There is less room than when he came, and most that it costs is still to come. Who was counted is one of them.
      if (cuts === concurrencyLimit.cuts() && isYoung) return;
      const himself = isYoung ? 1 : 0;
      if (young - himself < concurrencyLimit.limit() || fits(id, teams.get(id), himself)) return;
      throw turnAway(id);
    },
    onAged(team) {
      young -= 1;
      team.young -= 1;
      if (team.young === 0) teams.delete(team.id);
    },
  };

  /** Of a house that is late, those who came some time ago may be waiting for it as well; but not for ever. */
  function ageSlots(nowMs: number): void {
    const youngMs = waitMs <= limits.targetMs ? limits.youngMs : Math.max(limits.youngMs, 4 * waitMs);
    if (nowMs - turnedMs < youngMs) return;
    for (const seat of olderSlots) seat.release();
    olderSlots = slots;
    slots = [];
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
    concurrencyLimit.look(nowMs, { waitMs, idle: takeIdle(), refused, young, peak });
    refused = false;
    ageSlots(nowMs);
    peak = young;
    lookupSlots.look();
    heavyTeams.look(nowMs);
    awake = slots.length > 0 || young > 0;
    if (awake) lookLater();
    else {
      concurrencyLimit.reset();
      heavyTeams.clear();
    }
  }

  function wake(): void {
    awake = true;
    turnedMs = clock.monotonic();
    // What waited before this began is no reason to refuse it, nor what the loop did.
    takeWaitMs();
    takeIdle();
    lookLater();
  }

  /** Of what the house usually has for who comes. */
  const usualShare = (sharers: number) => limits.first / sharers;

  /**
   * A team with less than its share gets in where others fill the house: all such together are as many as fill it. Of a house that
   * has little room left a share is too small for a team that asks for little, so who does not crowd it gets his of the usual; and
   * each may have one check, as many teams as the house has room for in the beginning, whatever they do.
   */
  function shareOf(teamId: string, sharers: number): number {
    const share = Math.max(concurrencyLimit.limit() / sharers, Math.min(1, usualShare(sharers)));
    return heavyTeams.has(teamId) ? share : Math.max(share, usualShare(sharers));
  }

  /**
   * @param team undefined where it has no young checks
   * @param without so many of them are not counted
   */
  function fits(teamId: string, team: TeamLoad | undefined, without: number): boolean {
    return youngOf(team) - without + 1 <= shareOf(teamId, sharersWith(team));
  }

  const sharersWith = (team: TeamLoad | undefined) => teams.size + (team === undefined ? 1 : 0);
  const youngOf = (team: TeamLoad | undefined) => team?.young ?? 0;
  const hasRoom = (teamId: string) => young < concurrencyLimit.limit() || fits(teamId, teams.get(teamId), 0);

  function refuse(): AppError {
    refused = true;
    onRefused();
    return TOO_MANY_CHECKS;
  }

  /** Who is refused with less than a usual share does not crowd the house, nor who is now and then: others do. */
  function noteRefused(teamId: string): void {
    const team = teams.get(teamId);
    const usual = usualShare(sharersWith(team));
    // Who is held to less has less: he would come back in a burst each time that were forgotten.
    if (heavyTeams.has(teamId) || youngOf(team) + 1 > usual) heavyTeams.note(teamId, usual);
  }

  function turnAway(teamId: string): AppError {
    noteRefused(teamId);
    return refuse();
  }

  /** Even a look takes time, which a house that never rests has not. */
  const mayLook = () => lookupSlots.hasRoom() && !concurrencyLimit.isSaturated();
  const isCrowded = () => young >= concurrencyLimit.limit() && !mayLook();

  return {
    enter(teamId) {
      if (!hasRoom(teamId)) {
        if (!mayLook()) throw turnAway(teamId);
        noteRefused(teamId);
        return lookupSlots.admit();
      }
      const known = teams.get(teamId);
      if (!awake) wake();
      const team = known ?? { id: teamId, young: 0 };
      if (known === undefined) teams.set(teamId, team);
      team.young += 1;
      young += 1;
      if (young > peak) peak = young;
      const seat = new CheckSlot(team, concurrencyLimit.cuts(), slotOwner);
      slots.push(seat);
      return seat;
    },
    isAtCapacity: () => isCrowded(),
    wouldRefuse: (teamId) => isCrowded() && !hasRoom(teamId),
    isSaturated: () => concurrencyLimit.isSaturated(),
    refuse: turnAway,
    waitMs: () => waitMs,
  };
}

/** Those who are let in to look alone. */
interface LookupSlots {
  hasRoom(): boolean;
  admit(): AdmissionSlot;
  /** Counts anew from here. */
  look(): void;
}

function createLookupSlots(
  { looksBeyond, looksLeast }: CheckAdmissionLimits,
  refuse: () => AppError,
): LookupSlots {
  let most = looksBeyond;
  let left = looksBeyond;
  /** Since the last look. */
  let came = 0;
  let finds = 0;
  const guest: AdmissionSlot = {
    isLookupOnly: true,
    admit() {
      throw refuse();
    },
    onCacheHit() {
      finds += 1;
    },
    release() {},
  };

  return {
    hasRoom: () => left > 0,
    admit() {
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

/** Teams that were refused often, lately. */
interface HeavyTeams {
  has(teamId: string): boolean;
  /** It was refused. @param most so often within a time it may be: who asks for little is, too, while a flood begins */
  note(teamId: string, most: number): void;
  look(nowMs: number): void;
  clear(): void;
}

/** As many as are refused within a time twice as long: no more than credentials are kept. */
function createHeavyTeams(forMs: number): HeavyTeams {
  let now = new Set<string>();
  let before = new Set<string>();
  /** How often each other team was refused, in the time that began with `now`. */
  let counts = new Map<string, number>();
  let turnedMs = Number.NEGATIVE_INFINITY;
  /** Mostly one floods: asked for by the thousand, noted once. */
  let last: string | null = null;

  function turn(): void {
    now = new Set();
    counts = new Map();
    last = null;
  }

  return {
    has: (teamId) => teamId === last || now.has(teamId) || before.has(teamId),
    note(teamId, most) {
      if (teamId === last || now.has(teamId)) return;
      const count = (counts.get(teamId) ?? 0) + 1;
      counts.set(teamId, count);
      if (count <= most) return;
      now.add(teamId);
      last = teamId;
    },
    look(nowMs) {
      if (nowMs - turnedMs < forMs) return;
      turnedMs = nowMs;
      before = now;
      turn();
    },
    clear() {
      before = new Set();
      turn();
    },
  };
}
