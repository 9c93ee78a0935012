import { Ceiling } from "./ceiling.ts";

/** What writes a site's servers have broken on, of all its hosts together. */
export class DepthLesson {
  readonly ceiling = new Ceiling();
  /** Transactions of the write that broke last, while it is not known whether their number was to blame. */
  #suspect = Number.POSITIVE_INFINITY;

  /** A write broke and nothing else explains it: the second time, its number of transactions is to blame. */
  broke(written: number, now: number): void {
    if (written < 2) return;
    const { isKnown, most } = this.ceiling;
    if (isKnown && written > most) this.ceiling.lower(most, now);
    else if (this.#suspect === Number.POSITIVE_INFINITY) this.#suspect = written;
    else {
      this.ceiling.lower(Math.min(this.#suspect, written) - 1, now);
      this.#suspect = Number.POSITIVE_INFINITY;
    }
  }

  /** It was not the number of transactions. */
  acquit(): void {
    this.#suspect = Number.POSITIVE_INFINITY;
  }
}

/**
 * Transactions in one write of a host's sessions: 1 at first and after each trouble, one more each time that at least
 * half as many went well, up to what the site's servers have been seen to break on.
 */
export class Depth {
  #now = 1;
  /** The server wanted less at once, and the depth has not yet come back to its most. */
  #humbled = false;
  readonly #lesson: DepthLesson;

  constructor(lesson: DepthLesson) {
    this.#lesson = lesson;
  }

  get now(): number {
    return Math.min(this.#now, this.#lesson.ceiling.most);
  }

  /** Transactions that a session is good for: the most allowed until the server shows otherwise. */
  promised(max: number): number {
    return this.#humbled ? this.now : Math.min(max, this.#lesson.ceiling.most);
  }

  /** For the write that goes out now. When it is time, one of them tries more than has gone well so far. */
  take(now: number): number {
    const { most } = this.#lesson.ceiling;
    if (this.#now < most) return this.#now;
    return this.#lesson.ceiling.take(now);
  }

  /** A write of so many transactions was answered. */
  worked(written: number, max: number, now: number): void {
    const { ceiling } = this.#lesson;
    if (written > ceiling.most) ceiling.bore(written, now);
    if (ceiling.isKnown && ceiling.most >= max) ceiling.forget();
    // Sessions that end their writes together carry the depth up together, but not far beyond what was shown.
    if (written * 2 >= this.now) this.#now = Math.min(this.now + 1, max, ceiling.most);
    if (this.#now >= Math.min(max, ceiling.most)) this.#humbled = false;
  }

  /** @param explained a limit of the session was met, whatever the write held */
  broke(written: number, explained: boolean, now: number): void {
    this.#now = 1;
    this.#humbled = true;
    if (explained) this.#lesson.acquit();
    else this.#lesson.broke(written, now);
  }
}
