/**
 * Teams that were refused often in the last `intervalMs`, up to twice as long. Only they are limited to a share of a
 * lowered limit. A team with few requests is refused now and then, too, while another one floods.
 */
export class HeavyTeams {
  readonly #intervalMs: number;
  /** Refusals of each team in this interval. */
  #refusals = new Map<string, number>();
  #current = new Set<string>();
  #previous = new Set<string>();
  #turnedMs = Number.NEGATIVE_INFINITY;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  has(teamId: string): boolean {
    return this.#current.has(teamId) || this.#previous.has(teamId);
  }

  /** The team was refused. @param tolerated refusals in an interval that do not make it heavy */
  onRefused(teamId: string, tolerated: number): void {
    if (this.#current.has(teamId)) return;
    const refusals = (this.#refusals.get(teamId) ?? 0) + 1;
    this.#refusals.set(teamId, refusals);
    if (refusals > tolerated) this.#current.add(teamId);
  }

  look(nowMs: number): void {
    if (nowMs - this.#turnedMs < this.#intervalMs) return;
    this.#turnedMs = nowMs;
    this.#previous = this.#current;
    this.#current = new Set();
    this.#refusals = new Map();
  }

  clear(): void {
    this.#previous = new Set();
    this.#current = new Set();
    this.#refusals = new Map();
  }
}
