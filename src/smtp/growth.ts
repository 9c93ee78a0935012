import { LIMITS } from "../core/limits.ts";

/** When a host may open a further session: what is on the way, and what earlier openings taught. */
export class Growth {
  /** Sessions between dial and the end of their handshake. */
  opening = 0;
  /** Slots asked for. */
  acquiring = 0;
  /** No further session beside present ones before this: the server wants no more, and no slot was free. */
  #notBefore = 0;
  #slotNotBefore = 0;
  /** The last slot asked for was refused, and none of ours was released since. */
  #withoutSlot = false;
  /** An opening failed while others were under way: their ends are awaited before another one. */
  #troubled = false;
  /** An opening failed: until this the next ones go one at a time, since a burst would meet the same limit at once. */
  #waryUntil = 0;
  /** Nobody opens anything before this: the server said that there are too many, and none of ours works. */
  #pausedUntil = 0;

  get coming(): number {
    return this.opening + this.acquiring;
  }

  /** @param beside whether the host has sessions already: its first one is never held back. */
  allows(now: number, beside: boolean): boolean {
    if (this.#troubled || now < this.#pausedUntil) return false;
    if (now < this.#waryUntil && this.coming > 0) return false;
    // Where the last one was refused, one is asked for, not as many as the cap would leave us.
    if (this.#withoutSlot && beside && this.acquiring > 0) return false;
    return !beside || now >= Math.max(this.#notBefore, this.#slotNotBefore);
  }

  /**
   * No further session is to be had beside those that are there, so that one of them has to leave for it.
   * @param idle those have nothing to do: that the server wanted no more some seconds ago is reason enough
   */
  isStuck(now: number, idle: boolean): boolean {
    return now >= this.#pausedUntil && (this.#withoutSlot || (idle && now < this.#notBefore));
  }

  /** The server has refused an opening not long ago, and may refuse the next. */
  isWary(now: number): boolean {
    return this.#troubled || now < Math.max(this.#waryUntil, this.#notBefore, this.#pausedUntil);
  }

  /** A session has left for another one, which is no growth. */
  madeWay(): void {
    this.#notBefore = 0;
  }

  slotGranted(): void {
    this.acquiring--;
    this.#withoutSlot = false;
  }

  /** No slot came free. */
  slotRefused(now: number): void {
    this.acquiring--;
    this.#withoutSlot = true;
    this.#slotNotBefore = now + LIMITS.smtp.growRetryMs;
  }

  /** A slot of ours is free again: unless others wait for it, the next session need not wait. */
  slotReleased(): void {
    this.#withoutSlot = false;
    this.#slotNotBefore = 0;
  }

  opened(now: number): void {
    this.opening--;
    if (!this.#troubled) return;
    this.#troubled = this.opening > 0;
    this.#notBefore = now + LIMITS.smtp.growBackoffMs;
  }

  /**
   * Beside working sessions a failed opening only says that this host wants no more of them.
   * @returns true when there is neither a working session nor another one on the way: nobody can be served.
   */
  openFailed(now: number, working: number): boolean {
    this.opening--;
    this.#troubled = this.opening > 0;
    if (working > 0) this.#notBefore = now + LIMITS.smtp.growBackoffMs;
    this.#waryUntil = now + LIMITS.learnt.holdMs;
    return working === 0 && this.opening === 0;
  }

  /** A session that was let in turned out to be one too many: as if it had been refused. */
  crowded(now: number, beside: boolean): void {
    this.#waryUntil = now + LIMITS.learnt.holdMs;
    if (beside) this.#notBefore = now + LIMITS.smtp.growBackoffMs;
    else this.pause(now);
  }

  /**
   * Until connections of others, or of ours elsewhere, have gone.
   * @param sinceMs for how long they have been too many
   */
  pause(now: number, sinceMs = 0): void {
    this.#pausedUntil = now + Math.max(LIMITS.learnt.crowdedWaitMs, sinceMs / 2);
  }
}
