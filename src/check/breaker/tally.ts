import { LIMITS } from "../../core/limits.ts";

/** What blocks say together: that nobody may be asked at the site any more, or nobody of one domain. */
export type Scope = { domain: string };

/**
 * The latest answers of a way that is not open, and whether they say that we are blocked there.
 *
 * `blocksToOpen` in a row do: a site that has begun to block us hardly lets one through again, and each further probe makes
 * it worse. So do `blocksInWindow` of the last `window`: of a site's hosts some may know of us sooner than others. What a
 * customer of a provider refuses at RCPT may be this customer's own list, so that blocks of one domain alone open the
 * breaker of that domain; those before RCPT, or of several domains, are the provider's.
 */
export class Tally {
  /** null: let through; else the domain of whom it blocked, "" before RCPT. The latest last. */
  #answers: (string | null)[] = [];

  get isPristine(): boolean {
    return this.#answers.every((answer) => answer === null);
  }

  /** @param domain "": refused before anybody was named */
  block(domain: string): void {
    this.#add(domain);
  }

  pass(): void {
    this.#add(null);
  }

  /** @param isShared whether customers of a provider share the site. null: nothing opens */
  scope(isShared: boolean): Scope | null {
    const blocks = this.#telling();
    if (blocks.length === 0) return null;
    const [first = ""] = blocks;
    const isOfOne = isShared && blocks.every((domain) => domain === first);
    return { domain: isOfOne ? first : "" };
  }

  /** The blocks that are enough, none where they are not. */
  #telling(): string[] {
    const { blocksToOpen, window, blocksInWindow } = LIMITS.breaker;
    const run = this.#answers.slice(this.#answers.lastIndexOf(null) + 1);
    if (run.length >= blocksToOpen) return run as string[];
    const blocks = this.#answers.filter((answer) => answer !== null);
    return this.#answers.length >= window && blocks.length >= blocksInWindow ? blocks : [];
  }

  #add(answer: string | null): void {
    this.#answers.push(answer);
    if (this.#answers.length > LIMITS.breaker.window) this.#answers.shift();
  }
}
