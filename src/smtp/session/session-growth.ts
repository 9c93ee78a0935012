import { LIMITS } from "../../config/limits/limits.ts";

/** Decides when a host may open a further session, from openings in progress, and the results of earlier ones. */
export class SessionGrowth {
  /** Sessions between dial and the end of their handshake. */
  opening = 0;
  /** Slots requested. */
  acquiring = 0;
  /** No further session beside present ones before these times: the server refused more, or no slot was free. */
  #notBefore = 0;
  #slotNotBefore = 0;
  /** The last slot request was refused, and none of our slots was released since. */
  #isSlotRefused = false;
  /** An opening failed while others were in progress: wait for their ends before another opening. */
  #hasOpeningFailed = false;
  /** An opening failed: until this time openings go one at a time, since a burst would hit the same limit at once. */
  #cautiousUntil = 0;
  /** No opening before this time: the server reported too many connections, and we have no working session. */
  #pausedUntil = 0;

  get pending(): number {
    return this.opening + this.acquiring;
  }

  /** @param hasSessions whether the host has sessions already: its first one is never delayed */
  mayOpen(now: number, hasSessions: boolean): boolean {
    if (this.#hasOpeningFailed || now < this.#pausedUntil) return false;
    if (now < this.#cautiousUntil && this.pending > 0) return false;
    // After a refused slot request, ask for one slot at a time, not for as many as the cap allows.
    if (this.#isSlotRefused && hasSessions && this.acquiring > 0) return false;
    return !hasSessions || now >= Math.max(this.#notBefore, this.#slotNotBefore);
  }

  /**
   * True when no further session can be opened, so that one of the present ones must close for it.
   * @param areIdle the present sessions are idle: a server refusal some seconds ago is then reason enough
   */
  isStuck(now: number, areIdle: boolean): boolean {
    return now >= this.#pausedUntil && (this.#isSlotRefused || (areIdle && now < this.#notBefore));
  }

  /** The server refused an opening recently and may refuse the next. */
  isCautious(now: number): boolean {
    return this.#hasOpeningFailed || now < Math.max(this.#cautiousUntil, this.#notBefore, this.#pausedUntil);
  }

  /** A session closed for another one: the number of sessions does not grow. */
  onSessionReplaced(): void {
    this.#notBefore = 0;
  }

  onSlotGranted(): void {
    this.acquiring--;
    this.#isSlotRefused = false;
  }

  /** No slot became free. */
  onSlotRefused(now: number): void {
    this.acquiring--;
    this.#isSlotRefused = true;
    this.#slotNotBefore = now + LIMITS.smtp.growRetryMs;
  }

  /** One of our slots is free again: unless others wait for it, the next session need not wait. */
  onSlotReleased(): void {
    this.#isSlotRefused = false;
    this.#slotNotBefore = 0;
  }

  onOpened(now: number): void {
    this.opening--;
    this.#pausedUntil = 0;
    if (!this.#hasOpeningFailed) return;
    this.#hasOpeningFailed = this.opening > 0;
    this.#notBefore = now + LIMITS.smtp.growBackoffMs;
  }

  /**
   * Beside working sessions a failed opening only means that this host refuses more sessions.
   * @returns true when there is neither a working nor an opening session: no job can be served
   */
  onOpenFailed(now: number, working: number): boolean {
    this.opening--;
    this.#hasOpeningFailed = this.opening > 0;
    if (working > 0) this.#notBefore = now + LIMITS.smtp.growBackoffMs;
    this.#cautiousUntil = now + LIMITS.learned.holdMs;
    return working === 0 && this.opening === 0;
  }

  /** A session that was accepted is one connection too many: treat it like a refused opening. */
  onCrowded(now: number, hasSessions: boolean): void {
    this.#cautiousUntil = now + LIMITS.learned.holdMs;
    if (hasSessions) this.#notBefore = now + LIMITS.smtp.growBackoffMs;
    else this.pause(now);
  }

  /**
   * Pauses openings until connections of others, or ours elsewhere, have closed.
   * @param sinceMs how long there have been too many
   */
  pause(now: number, sinceMs = 0): void {
    this.#pausedUntil = now + Math.max(LIMITS.learned.crowdedWaitMs, sinceMs / 2);
  }
}
