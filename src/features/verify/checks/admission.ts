import { AppError } from "../../../platform/errors.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import { type ConcurrencyLimitSettings, createConcurrencyLimit } from "./concurrency-limit.ts";
import { HeavyTeams } from "./heavy-teams.ts";

/**
 * Decides which checks may begin. It bounds the wait for our own CPU, as the check pool and our event loop measure it.
 * While that wait is short, as many checks begin as the pool takes, however long mail servers need. Once it is long, only
 * as many begin as can be answered soon; the rest are refused before they cost much.
 *
 * Young checks are limited: those admitted so recently that they may still wait for CPU, or for their token. An older one
 * waits for a mail server. Two rules: all young checks together stay below a limit that follows the wait
 * (`concurrency-limit.ts`). At that limit each team still has its share: the limit divided by the teams with young checks.
 * A team that was refused often lately (`heavy-teams.ts`) has a share of the present, lowered limit. Any other team has a
 * share of the first limit, so that a team with few requests is not refused because another one floods.
 */
export interface CheckAdmission {
  /**
   * Takes a slot for a check that has spent nothing yet.
   * @throws AppError `overloaded`
   */
  enter(teamId: string): AdmissionSlot;
  /** True when a team with a full share is refused now: one check serves all requests. */
  isAtCapacity(): boolean;
  /** True when `enter` would refuse this team now. Takes no slot. */
  wouldRefuse(teamId: string): boolean;
  /** True when the event loop is too busy to read what a refused request asks for. */
  isSaturated(): boolean;
  /** The refusal of a request that does not get as far as `enter`. Counts it. */
  refuse(teamId: string): AppError;
  /** How long a check waited for CPU at the last look, in milliseconds. */
  waitMs(): number;
}

/** A slot held by an admitted request. */
export interface AdmissionSlot {
  /** Called before the check begins. @throws AppError `overloaded` where there is less room by now than at admission */
  admit(): void;
  /** The request is answered. Idempotent. */
  release(): void;
}

export interface CheckAdmissionLimits extends ConcurrencyLimitSettings {
  /** The wait is looked at this often while checks are young. */
  lookMs: number;
  /** A check is young for this long, at most twice as long; four times as long as checks wait where that is too long. */
  youngMs: number;
  /** See `HeavyTeams`. */
  heavyTeamMs: number;
}

export interface CheckAdmissionDeps {
  clock: Clock;
  /** See `CheckWaits.takeMeanMs`. */
  takeWaitMs(): number;
  /** The share of time since the last call in which our event loop had nothing to do: 0 to 1. */
  takeIdle(): number;
  onRefused(): void;
  limits: CheckAdmissionLimits;
}

/** Thrown by the thousand: created once, since each stack costs. */
const TOO_MANY_CHECKS = new AppError(
  "overloaded",
  "Too many verifications are in progress. Retry after 1 s.",
  { retryAfterS: 1 },
);

/** The young checks of a team. */
interface TeamLoad {
  readonly id: string;
  young: number;
}

class CheckSlot implements AdmissionSlot {
  isYoung = false;
  team: TeamLoad;
  /** The limit's number of cuts at admission. */
  readonly cuts: number;
  readonly #owner: LoadAdmission;

  constructor(team: TeamLoad, cuts: number, owner: LoadAdmission) {
    this.team = team;
    this.cuts = cuts;
    this.#owner = owner;
  }

  admit(): void {
    this.#owner.admit(this);
  }

  /** The check has ended, or is old. */
  release(): void {
    if (!this.isYoung) return;
    this.isYoung = false;
    this.#owner.onAged(this.team);
  }
}

class LoadAdmission implements CheckAdmission {
  readonly #deps: CheckAdmissionDeps;
  readonly #limit;
  readonly #teams = new Map<string, TeamLoad>();
  readonly #heavyTeams: HeavyTeams;
  #young = 0;
  /** The most at once since the last look. */
  #peak = 0;
  /** Whether any request was refused since the last look. */
  #refused = false;
  /** Admitted since `#turnedMs`, and in the interval before. */
  #slots: CheckSlot[] = [];
  #olderSlots: CheckSlot[] = [];
  #turnedMs = 0;
  #isLooking = false;
  #lookDueMs = 0;
  #waitMs = 0;

  constructor(deps: CheckAdmissionDeps) {
    this.#deps = deps;
    this.#limit = createConcurrencyLimit(deps.limits);
    this.#heavyTeams = new HeavyTeams(deps.limits.heavyTeamMs);
  }

  enter(teamId: string): AdmissionSlot {
    const known = this.#teams.get(teamId);
    if (!this.#hasRoom(teamId)) throw this.refuse(teamId);
    const slot = new CheckSlot(known ?? { id: teamId, young: 0 }, this.#limit.cuts(), this);
    this.#count(slot);
    return slot;
  }

  isAtCapacity(): boolean {
    return this.#young >= this.#limit.limit();
  }

  wouldRefuse(teamId: string): boolean {
    return this.isAtCapacity() && !this.#hasRoom(teamId);
  }

  isSaturated(): boolean {
    return this.#limit.isSaturated();
  }

  refuse(teamId: string): AppError {
    const usual = this.#usualShare(teamId);
    // A heavy team holds less than its usual share, and stays heavy while it is refused.
    if (this.#heavyTeams.has(teamId) || this.#youngOf(teamId) + 1 > usual)
      this.#heavyTeams.onRefused(teamId, usual);
    this.#refused = true;
    this.#deps.onRefused();
    return TOO_MANY_CHECKS;
  }

  waitMs(): number {
    return this.#waitMs;
  }

  admit(slot: CheckSlot): void {
    const { isYoung, cuts } = slot;
    const { id } = slot.team;
    // Since a cut there is less room, and most of what the check costs is still to come. A young check is itself counted.
    if (cuts === this.#limit.cuts() && isYoung) return;
    if (!this.#hasRoom(id, isYoung ? 1 : 0)) throw this.refuse(id);
    // It grew old while it waited for its token or the cache. From now on it may wait for CPU, so it counts as young again.
    if (!isYoung) this.#count(slot);
  }

  #count(slot: CheckSlot): void {
    if (!this.#isLooking) this.#startLooking();
    const { id } = slot.team;
    const team = this.#teams.get(id) ?? slot.team;
    this.#teams.set(id, team);
    team.young += 1;
    slot.team = team;
    slot.isYoung = true;
    this.#young += 1;
    this.#peak = Math.max(this.#peak, this.#young);
    this.#slots.push(slot);
  }

  onAged(team: TeamLoad): void {
    this.#young -= 1;
    team.young -= 1;
    if (team.young === 0) this.#teams.delete(team.id);
  }

  /**
   * Below the limit every team has room; at the limit, a team with less than its share. A heavy team has a share of the
   * present limit, at least one check. Any other has a share of the first limit, since one of a lowered limit would be too
   * small for a team with few requests.
   * @param without this many of the team's young checks are not counted
   */
  #hasRoom(teamId: string, without = 0): boolean {
    const limit = this.#limit.limit();
    if (this.#young - without < limit) return true;
    const usual = this.#usualShare(teamId);
    const least = this.#heavyTeams.has(teamId) ? Math.min(1, usual) : usual;
    return this.#youngOf(teamId) - without + 1 <= Math.max(limit / this.#sharersWith(teamId), least);
  }

  #usualShare(teamId: string): number {
    return this.#deps.limits.first / this.#sharersWith(teamId);
  }

  /** Teams with young checks, and this one. */
  #sharersWith(teamId: string): number {
    return this.#teams.size + (this.#teams.has(teamId) ? 0 : 1);
  }

  #youngOf(teamId: string): number {
    return this.#teams.get(teamId)?.young ?? 0;
  }

  /** While the wait is too long, older checks may wait for CPU as well; but not for ever. */
  #ageSlots(nowMs: number): void {
    const { targetMs, youngMs } = this.#deps.limits;
    const intervalMs = this.#waitMs <= targetMs ? youngMs : Math.max(youngMs, 4 * this.#waitMs);
    if (nowMs - this.#turnedMs < intervalMs) return;
    for (const slot of this.#olderSlots) slot.release();
    this.#olderSlots = this.#slots;
    this.#slots = [];
    this.#turnedMs = nowMs;
  }

  #startLooking(): void {
    const { clock, takeWaitMs, takeIdle } = this.#deps;
    this.#isLooking = true;
    this.#turnedMs = clock.monotonic();
    // Waits and idle time before the first check must not count against it.
    takeWaitMs();
    takeIdle();
    this.#lookLater();
  }

  #lookLater(): void {
    const { clock, limits } = this.#deps;
    this.#lookDueMs = clock.monotonic() + limits.lookMs;
    clock.after(limits.lookMs, () => this.#look());
  }

  #look(): void {
    const { clock, takeWaitMs, takeIdle } = this.#deps;
    const nowMs = clock.monotonic();
    // A late look was queued behind requests still to be read: the next request waits there before it is seen.
    this.#waitMs = Math.max(takeWaitMs(), nowMs - this.#lookDueMs);
    this.#limit.look(nowMs, {
      waitMs: this.#waitMs,
      idle: takeIdle(),
      refused: this.#refused,
      young: this.#young,
      peak: this.#peak,
    });
    this.#refused = false;
    this.#ageSlots(nowMs);
    this.#heavyTeams.look(nowMs);
    this.#peak = this.#young;
    this.#isLooking = this.#slots.length > 0 || this.#young > 0;
    if (this.#isLooking) this.#lookLater();
    else {
      this.#limit.reset();
      this.#heavyTeams.clear();
    }
  }
}

export function createCheckAdmission(deps: CheckAdmissionDeps): CheckAdmission {
  return new LoadAdmission(deps);
}
