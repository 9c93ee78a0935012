import {
  type DomainFacts,
  type Evidence,
  evidenceFrom,
  factsOfText,
  findingOfText,
  type MailboxFinding,
} from "./model.ts";

/** Why an address of a batch has no answer, and the site it waits for: "" while that was not known. */
export interface Deferred {
  site: string;
  /** `busy`: the site's line is long, or no slot of it came free; `unfinished`: the batch was handed in before. */
  cause: "busy" | "unfinished";
}

/**
 * The outcome of a check: its evidence; the reason why there is none yet; `null` when the task was cancelled;
 * `"overloaded"` when a limit of the thread left no room for it; `"broken"` when its check threw.
 */
export type CheckOutcome = Evidence | null | "overloaded" | "broken" | { deferred: Deferred };

export function isDeferred(line: CheckOutcome): line is { deferred: Deferred } {
  return line !== null && typeof line === "object" && "deferred" in line;
}

/**
 * Packed outcomes from a check thread, flat: numbers in one buffer, each text once. The rows of a domain differ in little
 * more than latency. Writing and reading JSON of each cost 8 us a row; packed it is below 1 us, both sides together.
 */
export interface PackedOutcomes {
  /** Number of outcomes. */
  count: number;
  /** Texts that `cells` refer to by index: facts and findings in their form for Redis, names and replies unchanged. */
  texts: string[];
  /** Outcome after outcome: its kind, then the cells of that kind in the order in which they are written here. */
  cells: Float64Array;
}

const CANCELLED = 0;
const OVERLOADED = 1;
const BROKEN = 2;
const DEFERRED = 3;
/** No outcome: facts and a finding that rows behind it have. */
const COMMON = 4;
/** A row with a reply of its own: the index of its common evidence, the latency, the reply. */
const OWN_REPLY = 5;
/**
 * From here on a row's kind is the index of its common evidence, plus ROW; the latency follows. Nearly all rows are of this
 * kind.
 */
const ROW = 6;

/** Maximum cells of an outcome: for new common evidence, and a row with a reply of its own. */
const CELLS_MAX = 7;

/** Gathers outcomes, and packs those that were added since the last time. */
export class OutcomePacker {
  #cells = new Float64Array(CELLS_MAX);
  #used = 0;
  #count = 0;
  #texts: string[] = [];
  // A new Map for each message: entries of an emptied Map would survive with it, see docs/decisions/v8-costs.md.
  #places = new Map<string | DomainFacts | MailboxFinding, number>();
  /** Common evidence of rows, in the order of its first occurrence. */
  #common = new Map<Evidence, number>();

  add(outcome: CheckOutcome): void {
    this.#makeRoom();
    this.#count += 1;
    if (outcome === null) this.#put(CANCELLED);
    else if (outcome === "overloaded") this.#put(OVERLOADED);
    else if (outcome === "broken") this.#put(BROKEN);
    else if ("deferred" in outcome) this.#addDeferred(outcome.deferred);
    else this.#addEvidence(outcome);
  }

  take(): PackedOutcomes {
    // A copy of its own: a message takes along the whole buffer that a view is of.
    const cells = this.#cells.slice(0, this.#used);
    const packed = { count: this.#count, texts: this.#texts, cells };
    this.#used = 0;
    this.#count = 0;
    this.#texts = [];
    this.#places = new Map();
    this.#common = new Map();
    return packed;
  }

  #addDeferred({ site, cause }: Deferred): void {
    this.#put(DEFERRED);
    this.#putText(site);
    this.#putText(cause);
  }

  #addEvidence(evidence: Evidence): void {
    const common = this.#placeOfCommon(evidence.common());
    const { latencyMs, ownReply } = evidence;
    if (ownReply === null) {
      this.#put(ROW + common);
      this.#put(latencyMs);
      return;
    }
    this.#put(OWN_REPLY);
    this.#put(common);
    this.#put(latencyMs);
    this.#putText(ownReply);
  }

  #placeOfCommon(common: Evidence): number {
    const known = this.#common.get(common);
    if (known !== undefined) return known;
    this.#put(COMMON);
    this.#putText(common.facts);
    this.#putText(common.finding);
    const place = this.#common.size;
    this.#common.set(common, place);
    return place;
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

  #putText(whose: string | DomainFacts | MailboxFinding): void {
    let place = this.#places.get(whose);
    if (place === undefined) {
      place = this.#texts.push(typeof whose === "string" ? whose : whose.text) - 1;
      this.#places.set(whose, place);
    }
    this.#put(place);
  }
}

/**
 * Reads the outcomes that an `OutcomePacker` packed. Cells need no validation: both are of one process and one build.
 * Evidence shares its facts and findings, also with that of other messages.
 */
export function readOutcomes(packed: PackedOutcomes): CheckOutcome[] {
  const reader = new OutcomeReader(packed);
  const outcomes: CheckOutcome[] = [];
  while (outcomes.length < packed.count) outcomes.push(reader.next());
  return outcomes;
}

class OutcomeReader {
  #at = 0;
  readonly #cells: Float64Array;
  readonly #texts: string[];
  /** Common evidence of this message's rows. */
  readonly #common: Evidence[] = [];

  constructor({ texts, cells }: PackedOutcomes) {
    this.#texts = texts;
    this.#cells = cells;
  }

  next(): CheckOutcome {
    const kind = this.#number();
    switch (kind) {
      case CANCELLED:
        return null;
      case OVERLOADED:
        return "overloaded";
      case BROKEN:
        return "broken";
      case DEFERRED:
        return { deferred: { site: this.#text(), cause: this.#text() as Deferred["cause"] } };
      case COMMON:
        this.#common.push(evidenceFrom(factsOfText(this.#text()), findingOfText(this.#text()), 0, null));
        return this.next();
      case OWN_REPLY: {
        const { facts, finding } = this.#commonAt(this.#number());
        return evidenceFrom(facts, finding, this.#number(), this.#text());
      }
      default:
        return this.#commonAt(kind - ROW).after(this.#number());
    }
  }

  #commonAt(place: number): Evidence {
    const common = this.#common[place];
    if (common === undefined) throw new RangeError("a row before what it has in common");
    return common;
  }

  #number(): number {
    return this.#cells[this.#at++] ?? CANCELLED;
  }

  #text(): string {
    return this.#texts[this.#number()] ?? "";
  }
}
