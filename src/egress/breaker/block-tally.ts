import { LIMITS } from "../../config/limits/limits.ts";

/** `domain` null: let through; else the domain of the blocked address, "" before a recipient was named. */
interface Answer {
  domain: string | null;
  atMs: number;
}

/**
 * The latest answers over a route whose breaker is closed, and whether they show that we are blocked there.
 *
 * `blocksToOpen` in a row do: a site that has started to block us hardly accepts a probe again, and each further probe
 * makes it worse. So do `blocksInWindow` of the last `window`: some hosts of a site may learn of us sooner than others.
 *
 * A refusal at RCPT may come from a customer's own list. Blocks of one domain alone count for that domain. At a provider
 * one customer may have any number of domains. There the blocks of `domainsOfProvider` domains in a row, without an
 * accepted probe between, count for the provider. Blocks before RCPT count by themselves.
 */
export class BlockTally {
  /** The latest last. */
  #answers: Answer[] = [];

  get hasNoBlocks(): boolean {
    return this.#answers.every(({ domain }) => domain === null);
  }

  /** @param domain "": refused before a recipient was named */
  block(domain: string, nowMs: number): void {
    this.#add(domain, nowMs);
  }

  pass(nowMs: number): void {
    this.#add(null, nowMs);
  }

  /** True when a tally of one domain's answers shows a block. */
  isBlocked(nowMs: number): boolean {
    return conclusiveBlocks(this.#since(nowMs)).length > 0;
  }

  /** True when a tally of all answers of a site shows a block. @param isShared true for a provider's site */
  isSiteBlocked(isShared: boolean, nowMs: number): boolean {
    const answers = this.#since(nowMs);
    if (!isShared) return isOfSite(conclusiveBlocks(answers), LIMITS.breaker.domainsOfSite);
    const early = answers.filter((domain) => domain === "" || domain === null);
    if (conclusiveBlocks(early).length > 0) return true;
    return (
      new Set(blocksInRow(answers).filter((domain) => domain !== "")).size >= LIMITS.breaker.domainsOfProvider
    );
  }

  #since(nowMs: number): (string | null)[] {
    const fromMs = nowMs - LIMITS.breaker.answersKeptMs;
    return this.#answers.filter(({ atMs }) => atMs > fromMs).map(({ domain }) => domain);
  }

  #add(domain: string | null, atMs: number): void {
    this.#answers.push({ domain, atMs });
    if (this.#answers.length > LIMITS.breaker.window) this.#answers.shift();
  }
}

function isOfSite(blocks: readonly string[], domains: number): boolean {
  return blocks.includes("") || new Set(blocks).size >= domains;
}

/** The blocks since a probe was last let through. */
function blocksInRow(answers: readonly (string | null)[]): string[] {
  return answers.slice(answers.lastIndexOf(null) + 1) as string[];
}

/** The blocks that prove a block of the site; empty: there are too few. */
function conclusiveBlocks(answers: readonly (string | null)[]): string[] {
  const { blocksToOpen, window, blocksInWindow } = LIMITS.breaker;
  const latest = blocksInRow(answers);
  if (latest.length >= blocksToOpen) return latest;
  const blocks = answers.filter((domain) => domain !== null);
  return answers.length >= window && blocks.length >= blocksInWindow ? blocks : [];
}
