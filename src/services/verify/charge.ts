import { isFree } from "../../check/verdict/verdict.ts";
import type { Reservation } from "../quota/quota.ts";
import type { UsageCounter } from "../usage/counts.ts";
import type { AnswerNote } from "./answer-note.ts";
import type { DrawnRow, RowDrawer } from "./draw-rows.ts";
import type { Examiner, Finding } from "./examine.ts";
import type { Waiter } from "./flights.ts";
import type { Question } from "./question.ts";
import type { VerificationResult } from "./verification-result.ts";
import type { VerificationTallies } from "./verification-tallies.ts";

export interface ChargeDeps {
  examiner: Pick<Examiner, "draw">;
  drawer: Pick<RowDrawer, "draw">;
  usage: Pick<UsageCounter, "count">;
  tallies: VerificationTallies;
}

/** Who is charged, as far as it matters to that. */
export type Charged = Pick<Waiter, "cancelled" | "place" | "note">;

/**
 * A question that is answered within a reservation, which is kept or given back whatever happens. It is itself the note of how it
 * went: whether that is written down shows later, and of most it is not.
 */
export class Charge<Deps extends ChargeDeps = ChargeDeps, By extends Charged = Charged>
  implements AnswerNote
{
  protected readonly deps: Deps;
  protected readonly question: Question;
  protected readonly waiter: By;
  readonly #reservation: Reservation;
  #result: VerificationResult | null = null;
  #finding: Finding | null = null;

  constructor(deps: Deps, question: Question, waiter: By, reservation: Reservation) {
    this.deps = deps;
    this.question = question;
    this.waiter = waiter;
    this.#reservation = reservation;
  }

  get result(): VerificationResult {
    if (this.#result === null) throw new Error("there is a note of what was answered alone");
    return this.#result;
  }

  get smtp(): AnswerNote["smtp"] {
    return this.#finding?.entry?.evidence.smtp ?? null;
  }

  get times(): AnswerNote["times"] {
    return this.#finding?.times ?? null;
  }

  failed(): void {
    this.waiter.place?.leave();
    this.#reservation.giveBack();
  }

  /** Charges and counts what was found. @returns the answer, null: it is `result`, which else is another's that is alike */
  protected settle(finding: Finding): DrawnRow | null {
    const { place } = this.waiter;
    if (finding.cached) place?.found();
    place?.leave();
    const { examiner, drawer, usage, tallies } = this.deps;
    const question = this.question;
    const reservation = this.#reservation;
    // What the cache has is rendered once for each entry; what was just learnt, mostly, was rendered for its domain before.
    const drawn = finding.cached ? null : drawer.draw(question, finding);
    const result = drawn === null ? examiner.draw(question, finding).result : drawn.template.result;
    this.#result = result;
    this.#finding = finding;
    this.waiter.note = this;
    if (this.waiter.cancelled()) {
      // Nobody is told, so nothing is counted.
      reservation.giveBack();
      return drawn;
    }
    if (isFree(result.reason)) reservation.giveBack();
    else reservation.commit();
    usage.count(question.teamId, reservation.day, result.verdict, finding.cached);
    tallies(result, finding.cached).count += 1;
    return drawn;
  }
}
