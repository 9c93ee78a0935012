import type { DomainName } from "../check/address/domain.ts";
import { type DomainsByBytes, NO_DOMAIN_SLOT } from "../check/address/domain-bytes.ts";
import { isOrdinaryLocal } from "../check/address/ordinary-local.ts";
import { addressAsWritten } from "../check/address.ts";
import type { MayBeRole } from "../check/lists/role-hints.ts";
import { toText } from "../services/bulk/csv/field.ts";
import { kindOfCell, NO_ADDRESS_CELL, UNSURE_CELL } from "../services/bulk/csv/plain-address.ts";
import { type ValuePlace, valueAt } from "../services/bulk/csv/value-place.ts";
import type { DrawnRows } from "../services/bulk/drawn-rows.ts";
import {
  type AddressQuestion,
  type DomainStanding,
  NOT_SEARCHED,
} from "../services/verify/address-question.ts";
import type { RowDrawer } from "../services/verify/draw-rows.ts";
import type { EvidenceFinding } from "../services/verify/evidence-finding.ts";
import type { Examiner, VerificationAsker } from "../services/verify/examine.ts";
import type { BatchExaminer } from "../services/verify/examine-batch.ts";
import type { RowOutcomes } from "./row-outcomes.ts";

export interface ReadyRowsDeps {
  examiner: Pick<Examiner, "understand">;
  batches: Pick<BatchExaminer, "ready" | "readyOfDomain" | "inMemory" | "countMemoryHits">;
  drawer: Pick<RowDrawer, "draw" | "templateOf" | "timesOf">;
  mayBeRole: MayBeRole;
  domains: DomainsByBytes;
}

const AT = 0x40;
const DOT = 0x2e;
const UNDERSCORE = 0x5f;

/** Of what is no address. */
const NO_ADDRESS_STANDING: DomainStanding = { blocked: false, overridden: false, scope: "unprobed" };
const NOT_FOUND: EvidenceFinding = { entry: null, cached: false };

/**
 * Draws those rows of a task whose answers are at hand, one by one as they are read, all in one turn of the event loop. Where the
 * bytes of a row say enough (`kindOfCell`, `isOrdinaryLocal`), and another of its kind was drawn before, neither text nor object
 * is made of it: that was two thirds of the main thread's time for a list of such rows. The general way has all others.
 */
export class ReadyRows {
  readonly #deps: ReadyRowsDeps;
  readonly #asker: VerificationAsker;
  readonly #drawn: DrawnRows;
  readonly #outcomes: RowOutcomes;
  readonly #others: AddressQuestion[] = [];
  #fromMemory = 0;

  constructor(deps: ReadyRowsDeps, asker: VerificationAsker, drawn: DrawnRows, outcomes: RowOutcomes) {
    this.#deps = deps;
    this.#asker = asker;
    this.#drawn = drawn;
    this.#outcomes = outcomes;
  }

  /** @returns null: the row is drawn; else the text of its cell, which `verify` is to answer */
  readonly read = (offset: number, cell: ValuePlace): string | null => {
    const kind = kindOfCell(cell);
    if (kind === UNSURE_CELL) return this.#readText(offset, toText(valueAt(cell)));
    return kind === NO_ADDRESS_CELL ? this.#readNone(offset, cell) : this.#readPlain(offset, cell);
  };

  /** No row follows. @returns the questions of those that were not drawn, in order: to read an address twice is a tenth of its row */
  end(): AddressQuestion[] {
    this.#deps.batches.countMemoryHits(this.#fromMemory);
    return this.#others;
  }

  #readNone(offset: number, cell: ValuePlace): string | null {
    if (this.#draw(offset, cell, null, NO_ADDRESS_STANDING, NOT_FOUND)) return null;
    return this.#readText(offset, valueAt(cell));
  }

  #readPlain(offset: number, cell: ValuePlace): string | null {
    const { batches, domains, drawer, mayBeRole } = this.#deps;
    const outcomes = this.#outcomes;
    const at = atSignOf(cell);
    const domainSlot = domains.find(cell.bytes, at + 1, cell.to);
    if (domainSlot === NO_DOMAIN_SLOT || !isOrdinaryLocal(cell.bytes, cell.from, at, mayBeRole))
      return this.#readText(offset, valueAt(cell));
    const outcome = outcomes.outcomeOf(domainSlot);
    if (outcome.template !== null) {
      // Now, as `waitTimesOf` its entry says, which is made anew for each.
      this.#drawn.addPlain(offset, cell, outcome.template, 0, drawer.timesOf(null));
      return null;
    }
    const name = domains.nameAt(domainSlot);
    if (name.mailboxes !== null && isRewritten(cell, at, name)) return this.#readText(offset, valueAt(cell));
    const { standing } = outcome;
    const found = batches.readyOfDomain(name, standing);
    if (found !== undefined && this.#draw(offset, cell, name, standing, found)) {
      // Of others each row is looked at: its provider may ignore something in it.
      if (standing.blocked && name.mailboxes === null)
        outcomes.remember(domainSlot, standing, drawer.templateOf(name, standing, found));
      return null;
    }
    if (found !== undefined || standing.blocked) return this.#readAndRenew(offset, valueAt(cell), domainSlot);
    const glimpse = batches.inMemory(standing.scope, cell, name.domain);
    if (glimpse === undefined)
      return this.#readUnknown(offset, valueAt(cell), at - cell.from, domainSlot, standing);
    const { latencyMs } = glimpse;
    if (
      latencyMs >>> 0 !== latencyMs ||
      !this.#draw(offset, cell, name, standing, { entry: glimpse, cached: true }, latencyMs)
    )
      return this.#readAndRenew(offset, valueAt(cell), domainSlot);
    this.#fromMemory += 1;
    return null;
  }

  /** False: there is no template for it yet, or it is no row of a template. */
  #draw(
    offset: number,
    cell: ValuePlace,
    name: DomainName | null,
    standing: DomainStanding,
    finding: EvidenceFinding,
    latencyMs = finding.entry?.evidence.smtp?.latencyMs ?? 0,
  ): boolean {
    const { drawer } = this.#deps;
    const template = drawer.templateOf(name, standing, finding);
    if (template === null) return false;
    this.#drawn.addPlain(offset, cell, template, latencyMs, drawer.timesOf(finding.entry));
    return true;
  }

  /** The general way, which may have read the domain's name anew, and keeps there what the next row of the kind is drawn by. */
  #readAndRenew(offset: number, email: string, domainSlot: number): string | null {
    const left = this.#readText(offset, email);
    this.#deps.domains.renew(domainSlot);
    return left;
  }

  /**
   * One that memory does not know: to read its text as the general way does, after its bytes, was a twentieth of what the main thread does
   * for a row that is asked about.
   * @param at of its `@`
   */
  #readUnknown(
    offset: number,
    email: string,
    at: number,
    domainSlot: number,
    standing: DomainStanding,
  ): string | null {
    const { teamId } = this.#asker;
    const { blocked, overridden, scope } = standing;
    const address = addressAsWritten(email, at, this.#deps.domains.nameAt(domainSlot));
    // Written out, and in the order of `understand`: else each look at a field would meet two shapes.
    return this.#look(offset, {
      teamId,
      email,
      withEvidence: false,
      declined: false,
      address,
      unwrapped: false,
      malformed: null,
      blocked,
      overridden,
      scope,
      isMemoryMiss: true,
      searchedMs: NOT_SEARCHED,
      isOrdinary: true,
    });
  }

  /** The general way. */
  #readText(offset: number, email: string): string | null {
    return this.#look(offset, this.#deps.examiner.understand(email, false, this.#asker));
  }

  #look(offset: number, question: AddressQuestion): string | null {
    const { batches, drawer } = this.#deps;
    const finding = batches.ready(question);
    const row = finding === undefined ? null : drawer.draw(question, finding);
    if (row === null) {
      this.#others.push(question);
      return question.email;
    }
    if (finding?.cached) this.#fromMemory += 1;
    this.#drawn.add(offset, row);
    return null;
  }
}

/** Whether an ordinary local part may be written otherwise in `normalized_email`. */
function isRewritten({ bytes, from }: ValuePlace, at: number, { domain, mailboxes }: DomainName): boolean {
  if (mailboxes === null) return false;
  const { canonicalDomain, ignored } = mailboxes;
  if (canonicalDomain !== null && canonicalDomain !== domain) return true;
  if (ignored === null) return false;
  for (let i = from; i < at; i++) {
    const byte = bytes[i];
    if (byte === DOT || byte === UNDERSCORE) return true;
  }
  return false;
}

function atSignOf({ bytes, from }: ValuePlace): number {
  let at = from;
  while (bytes[at] !== AT) at += 1;
  return at;
}
