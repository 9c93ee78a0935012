import { LRUCache } from "lru-cache";
import { LIMITS } from "../core/limits.ts";
import type { CheckOutcome, Deferred } from "./check-outcome.ts";
import {
  type DomainEvidence,
  type Evidence,
  evidenceOf,
  type MxEvidence,
  type SmtpEvidence,
} from "./evidence.ts";

/**
 * Lines on their way from a check thread, flat: numbers in one buffer, each text once. The rows of a domain differ in
 * little more than a latency, and JSON of each, written and read, cost 8 us a row; so packed it is below 1 us, both sides
 * together.
 */
export interface PackedOutcomes {
  /** How many. */
  count: number;
  /** What `cells` refer to by its place: words and names as they are, parts of evidence as JSON. */
  texts: string[];
  /** Line after line: its kind, then the cells of that kind in the order in which they are written here. */
  cells: Float64Array;
  /** Which line each of them is to be; null: they are in order. */
  places: Uint16Array | null;
}

const CANCELLED = 0;
const OVERLOADED = 1;
const BROKEN = 2;
const DEFERRED = 3;
/** Evidence without a probe: many addresses of a domain have the same. */
const SHARED = 4;
const PROBED = 5;
/** Like an earlier line of the message, but for the time that it took: what nine of ten rows of a domain are. */
const SAME_FINDING = 6;

/** In place of a text's. */
const NONE = -1;
/** Cells of the longest kind. */
const CELLS_MAX = 20;
/** Of the most frequent one. */
const SAME_FINDING_CELLS = 3;

/** What crosses as JSON, once a message, and is kept on the other side. */
type EvidencePart = MxEvidence | DomainEvidence | Evidence["disposable"] | Evidence;

/**
 * Parts that an engine hands out again and again, as JSON, by identity: evidence is never changed. A part that is made
 * anew for each row is only written anew.
 */
const jsonByPart = new WeakMap<EvidencePart, string>();

function jsonOf(part: EvidencePart): string {
  let json = jsonByPart.get(part);
  if (json === undefined) {
    json = JSON.stringify(part);
    jsonByPart.set(part, json);
  }
  return json;
}

/** Whether two that were probed differ in nothing but the time that it took. `mx` is the same. */
export function isSameFinding(one: Evidence, other: Evidence): boolean {
  if (one.role !== other.role || one.domain !== other.domain) return false;
  if (one.disposable !== other.disposable || one.freeProvider !== other.freeProvider) return false;
  return one.smtp !== null && other.smtp !== null && isSameSmtpFinding(one.smtp, other.smtp);
}

/** Field by field: a loop over their names costs ten times as much. Those that differ most come first. */
function isSameSmtpFinding(one: SmtpEvidence, other: SmtpEvidence): boolean {
  return (
    one.class === other.class &&
    one.catchAll === other.catchAll &&
    one.reply === other.reply &&
    one.code === other.code &&
    one.enhancedCode === other.enhancedCode &&
    one.rule === other.rule &&
    one.fault === other.fault &&
    one.stage === other.stage &&
    one.mxHost === other.mxHost &&
    one.path === other.path &&
    one.trusted === other.trusted &&
    one.retryAfterS === other.retryAfterS &&
    one.tls === other.tls
  );
}

/** Gathers lines, and packs those that were added since the last time. */
export class OutcomePacker {
  #cells: Float64Array<ArrayBuffer>;
  #used = 0;
  #count = 0;
  #texts: string[] = [];
  // Of each message anew: what a Map was emptied of lives on with it, see `PassingMap`.
  #places = new Map<string, number>();
  /** The last probed line of each domain, by what all of it share, and which line of the message it is. */
  #last = new Map<MxEvidence, { evidence: Evidence; line: number }>();

  /** @param lines about so many are expected */
  constructor(lines = 0) {
    this.#cells = new Float64Array(CELLS_MAX + lines * SAME_FINDING_CELLS);
  }

  get count(): number {
    return this.#count;
  }

  add(line: CheckOutcome): void {
    this.#makeRoom();
    this.#count += 1;
    if (line === null) this.#put(CANCELLED);
    else if (line === "overloaded") this.#put(OVERLOADED);
    else if (line === "broken") this.#put(BROKEN);
    else if ("deferred" in line) this.#addDeferred(line.deferred);
    else this.#addEvidence(line);
  }

  /** @param places as of `PackedOutcomes` */
  take(places: Uint16Array | null = null): PackedOutcomes {
    // A copy of its own: a message takes along the whole buffer that a view is of.
    const cells = this.#cells.slice(0, this.#used);
    const packed = { count: this.#count, texts: this.#texts, cells, places };
    this.#used = 0;
    this.#count = 0;
    this.#texts = [];
    this.#places = new Map();
    this.#last = new Map();
    return packed;
  }

  #addDeferred({ site, cause }: Deferred): void {
    this.#put(DEFERRED);
    this.#text(site);
    this.#text(cause);
  }

  #addEvidence(evidence: Evidence): void {
    const { mx, disposable, role, freeProvider, domain, smtp } = evidence;
    if (smtp === null) {
      this.#put(SHARED);
      this.#text(jsonOf(evidence));
      return;
    }
    const last = this.#last.get(mx);
    if (last !== undefined && isSameFinding(last.evidence, evidence)) {
      this.#put(SAME_FINDING);
      this.#put(last.line);
      this.#put(smtp.latencyMs);
      return;
    }
    this.#last.set(mx, { evidence, line: this.#count - 1 });
    this.#put(PROBED);
    this.#text(jsonOf(mx));
    this.#text(jsonOf(disposable));
    this.#text(role);
    this.#flag(freeProvider);
    this.#text(domain === undefined ? null : jsonOf(domain));
    this.#addSmtp(smtp);
  }

  #addSmtp(smtp: SmtpEvidence): void {
    this.#text(smtp.class);
    this.#text(smtp.fault);
    this.#text(smtp.stage);
    this.#put(smtp.code);
    this.#text(smtp.enhancedCode);
    this.#text(smtp.reply);
    this.#text(smtp.rule);
    this.#text(smtp.mxHost);
    this.#text(smtp.path);
    this.#flag(smtp.trusted);
    this.#put(smtp.retryAfterS ?? Number.NaN);
    this.#put(smtp.latencyMs);
    this.#flag(smtp.tls);
    this.#text(smtp.catchAll);
  }

  #makeRoom(): void {
    if (this.#used + CELLS_MAX <= this.#cells.length) return;
    const larger = new Float64Array(2 * this.#cells.length);
    larger.set(this.#cells);
    this.#cells = larger;
  }

  #put(cell: number): void {
    this.#cells[this.#used++] = cell;
  }

  #flag(value: boolean): void {
    this.#put(value ? 1 : 0);
  }

  #text(text: string | null): void {
    if (text === null) {
      this.#put(NONE);
      return;
    }
    let place = this.#places.get(text);
    if (place === undefined) {
      place = this.#texts.push(text) - 1;
      this.#places.set(text, place);
    }
    this.#put(place);
  }
}

/** Reads what a `OutcomePacker` packed. Lines share their parts, also those of other messages; nobody may change them. */
export type ReadOutcomes = (packed: PackedOutcomes) => CheckOutcome[];

export function createOutcomeReader(): ReadOutcomes {
  const parts = new LRUCache<string, EvidencePart>({ max: LIMITS.check.partsKept });

  function partOf(json: string): EvidencePart {
    let part = parts.get(json);
    if (part === undefined) {
      part = deepFreeze(JSON.parse(json) as EvidencePart);
      parts.set(json, part);
    }
    return part;
  }

  return (packed) => {
    const reader = new OutcomeReader(packed, partOf);
    const lines: CheckOutcome[] = [];
    while (lines.length < packed.count) lines.push(reader.next(lines));
    return packed.places === null ? lines : inOriginalOrder(lines, packed.places);
  };
}

function inOriginalOrder(lines: readonly CheckOutcome[], places: Uint16Array): CheckOutcome[] {
  const placed = new Array<CheckOutcome>(lines.length).fill(null);
  for (let i = 0; i < lines.length; i++) placed[places[i] as number] = lines[i] as CheckOutcome;
  return placed;
}

/** All the way down. */
function deepFreeze<T extends object>(part: T): T {
  for (const value of Object.values(part)) if (typeof value === "object" && value !== null) deepFreeze(value);
  return Object.freeze(part);
}

/** The same, answered after another time. Written out: a spread costs five times as much. */
function withLatency(smtp: SmtpEvidence, latencyMs: number): SmtpEvidence {
  return {
    class: smtp.class,
    fault: smtp.fault,
    stage: smtp.stage,
    code: smtp.code,
    enhancedCode: smtp.enhancedCode,
    reply: smtp.reply,
    rule: smtp.rule,
    mxHost: smtp.mxHost,
    path: smtp.path,
    trusted: smtp.trusted,
    retryAfterS: smtp.retryAfterS,
    latencyMs,
    tls: smtp.tls,
    catchAll: smtp.catchAll,
  };
}

/** Every cell is what the packer wrote there: both are of one process, and of one build. */
class OutcomeReader {
  #at = 0;
  readonly #cells: Float64Array;
  readonly #texts: string[];
  readonly #partOf: (json: string) => EvidencePart;
  /** Those of this message, by the place of their text. */
  readonly #parts: (EvidencePart | undefined)[] = [];

  constructor({ texts, cells }: PackedOutcomes, partOf: (json: string) => EvidencePart) {
    this.#texts = texts;
    this.#cells = cells;
    this.#partOf = partOf;
  }

  /** @param lines those that were read before */
  next(lines: readonly CheckOutcome[]): CheckOutcome {
    switch (this.#number()) {
      case CANCELLED:
        return null;
      case OVERLOADED:
        return "overloaded";
      case BROKEN:
        return "broken";
      case DEFERRED:
        return { deferred: { site: this.#text(), cause: this.#text<Deferred["cause"]>() } };
      case SHARED:
        return this.#part<Evidence>();
      case SAME_FINDING:
        return this.#sameFinding(lines);
      default:
        return this.#probed();
    }
  }

  #sameFinding(lines: readonly CheckOutcome[]): Evidence {
    const known = lines[this.#number()] as Evidence & { smtp: SmtpEvidence };
    return evidenceOf(known, known.role, withLatency(known.smtp, this.#number()), known.domain);
  }

  // The fields of an object are read in the order in which they stand, which is that of the packer.

  #probed(): Evidence {
    const mx = this.#part<MxEvidence>();
    const disposable = this.#part<Evidence["disposable"]>();
    const role = this.#optional();
    const freeProvider = this.#flag();
    const domain = this.#isNext(NONE) ? undefined : this.#part<DomainEvidence>();
    const smtp = this.#smtp();
    return evidenceOf({ v: 2, mx, disposable, freeProvider }, role, smtp, domain);
  }

  #smtp(): SmtpEvidence {
    return {
      class: this.#text<SmtpEvidence["class"]>(),
      fault: this.#optional<NonNullable<SmtpEvidence["fault"]>>(),
      stage: this.#text<SmtpEvidence["stage"]>(),
      code: this.#number(),
      enhancedCode: this.#optional(),
      reply: this.#text(),
      rule: this.#text(),
      mxHost: this.#text(),
      path: this.#text(),
      trusted: this.#flag(),
      retryAfterS: this.#numberOrNull(),
      latencyMs: this.#number(),
      tls: this.#flag(),
      catchAll: this.#text<SmtpEvidence["catchAll"]>(),
    };
  }

  #number(): number {
    return this.#cells[this.#at++] ?? CANCELLED;
  }

  #numberOrNull(): number | null {
    const number = this.#number();
    return Number.isNaN(number) ? null : number;
  }

  #flag(): boolean {
    return this.#number() === 1;
  }

  /** Passes the next cell when it is this. */
  #isNext(cell: number): boolean {
    if (this.#cells[this.#at] !== cell) return false;
    this.#at += 1;
    return true;
  }

  #text<T extends string = string>(): T {
    return (this.#texts[this.#number()] ?? "") as T;
  }

  #optional<T extends string = string>(): T | null {
    const place = this.#number();
    return place === NONE ? null : ((this.#texts[place] ?? "") as T);
  }

  #part<T extends EvidencePart>(): T {
    const place = this.#number();
    let part = this.#parts[place];
    if (part === undefined) {
      part = this.#partOf(this.#texts[place] ?? "null");
      this.#parts[place] = part;
    }
    return part as T;
  }
}
