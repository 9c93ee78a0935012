import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import { hash128 } from "../../../platform/ids.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import type { RedisClient } from "../../../stores/redis.ts";
import type { DomainFacts, EvidenceCodec, MailboxFinding } from "../../../verification/evidence/model.ts";
import type { CacheEntry } from "./cache-entry.ts";
import { idsIn, partKeyOf, readRecord } from "./evidence-record.ts";

/** Facts or a finding as this process knows them. */
interface KnownPart<T> {
  part: T;
  /** Monotonic time of the last refresh in Redis. */
  refreshedMs: number;
}

type KnownParts<T> = LRUCache<string, KnownPart<T>>;

export interface EntryReaderDeps {
  redis: RedisClient;
  clock: Pick<Clock, "monotonic">;
  codec: EvidenceCodec;
  /** True when it may refresh texts in use in Redis, and write evicted ones back. */
  writes: boolean;
}

/** Reads entries of the cache. */
export class EntryReader {
  readonly #deps: EntryReaderDeps;
  readonly #facts: KnownParts<DomainFacts> = new LRUCache({ max: LIMITS.evidenceCache.parts });
  readonly #findings: KnownParts<MailboxFinding> = new LRUCache({ max: LIMITS.evidenceCache.parts });
  /** Ids of the last `learn` that are not in Redis. */
  #gone: ReadonlySet<string> = new Set();

  constructor(deps: EntryReaderDeps) {
    this.#deps = deps;
  }

  /**
   * Fetches the facts and findings of entries that this process does not know. Await it before decoding the entries.
   * Rejects when Redis does not answer: then they stay unknown.
   * @returns null: all are known
   */
  learn(texts: readonly (string | null)[]): Promise<void> | null {
    const facts = new Set<string>();
    const findings = new Set<string>();
    const used: string[] = [];
    for (const text of texts) {
      const ids = text === null ? null : idsIn(text);
      if (ids === null) continue;
      this.#meet(this.#facts, ids[0], facts, used);
      this.#meet(this.#findings, ids[1], findings, used);
    }
    if (used.length > 0) this.#tell(used).catch(ignore);
    this.#gone = new Set();
    return facts.size + findings.size === 0 ? null : this.#fetch([...facts], [...findings]);
  }

  #meet<T extends object>(parts: KnownParts<T>, id: string, lacking: Set<string>, used: string[]): void {
    const known = parts.get(id);
    const nowMs = this.#deps.clock.monotonic();
    if (known === undefined) lacking.add(id);
    else if (this.#deps.writes && nowMs - known.refreshedMs >= LIMITS.evidenceCache.partRefreshMs) {
      known.refreshedMs = nowMs;
      used.push(id);
    }
  }

  /** undefined: it cannot be read, or its facts or finding are not known. */
  decode(text: string): CacheEntry | undefined {
    const record = readRecord(text);
    if (record === null) return undefined;
    const { factsId, findingId, storedAt, ttlS, latencyMs, ownReply } = record;
    const facts = this.#facts.get(factsId)?.part;
    const finding = this.#findings.get(findingId)?.part;
    if (facts === undefined || finding === undefined) return undefined;
    if (finding.smtp === null && (ownReply !== null || latencyMs !== 0)) return undefined;
    return { evidence: this.#deps.codec.evidenceFrom(facts, finding, latencyMs, ownReply), storedAt, ttlS };
  }

  /**
   * These keys are read so seldom that Redis, short of memory, would evict them as unused. Only a process that still has a
   * text can write an evicted one again.
   */
  async #tell(ids: readonly string[]): Promise<void> {
    const { redis } = this.#deps;
    if ((await redis.touch(ids.map(partKeyOf))) === ids.length) return;
    const there = await Promise.all(ids.map((id) => redis.exists(partKeyOf(id))));
    await Promise.all(ids.filter((_, i) => there[i] === 0).map((id) => this.#putBack(id)));
  }

  async #putBack(id: string): Promise<void> {
    const part = (this.#facts.peek(id) ?? this.#findings.peek(id))?.part;
    // A text of another build has fields that this one does not know, hence another id here.
    if (part === undefined || part.id !== id) return;
    await this.#deps.redis.set(partKeyOf(id), part.text, "EX", LIMITS.evidenceCache.partRestoreS, "NX");
  }

  /** True for an entry whose facts or finding `learn` has just not found in Redis. */
  lacks(text: string): boolean {
    return idsIn(text)?.some((id) => this.#gone.has(id)) ?? false;
  }

  async #fetch(factsIds: readonly string[], findingIds: readonly string[]): Promise<void> {
    const { redis, codec } = this.#deps;
    const ids = [...factsIds, ...findingIds];
    const texts: (string | null)[] = await redis.mget(ids.map(partKeyOf));
    this.#gone = new Set(ids.filter((_, i) => (texts[i] ?? null) === null));
    this.#keep(this.#facts, factsIds, texts, codec.factsOfText);
    this.#keep(this.#findings, findingIds, texts.slice(factsIds.length), codec.findingOfText);
  }

  #keep<T extends object>(
    parts: KnownParts<T>,
    ids: readonly string[],
    texts: readonly (string | null)[],
    read: (text: string) => T,
  ): void {
    const refreshedMs = this.#deps.clock.monotonic();
    for (const [i, id] of ids.entries()) {
      const part = readPart(id, texts[i] ?? null, read);
      if (part !== null) parts.set(id, { part, refreshedMs });
    }
  }
}

/** null: it is damaged, or another's. */
function readPart<T>(id: string, text: string | null, read: (text: string) => T): T | null {
  if (text === null || hash128(text) !== id) return null;
  try {
    return read(text);
  } catch {
    return null;
  }
}

function ignore(): void {}
