import type { DrawnRow, RowTemplate } from "../verify/draw-rows.ts";

/**
 * Rows of a chunk that were drawn, by columns. A chunk has thousands of them and a few templates: what counts and encodes
 * them goes by numbers, where an object for each row and a look into a map at each step cost 2 us a row.
 */
export class DrawnRows {
  /** Of the rows in their chunk, in the order in which they were added; the other columns are of the same rows. */
  readonly offsets: number[] = [];
  readonly emails: string[] = [];
  readonly latenciesMs: number[] = [];
  /** Numbers of `templates` and of `times`. */
  readonly templateOf: number[] = [];
  readonly timesOf: number[] = [];
  readonly templates: RowTemplate[] = [];
  /** Of each template, its rows. */
  readonly rowsOf: number[] = [];
  readonly times: string[] = [];
  readonly #templateNumbers = new Map<RowTemplate, number>();
  readonly #timesNumbers = new Map<string, number>();
  #lastTimes = "";
  #lastTimesNumber = -1;

  get size(): number {
    return this.offsets.length;
  }

  /** @param offset each once */
  add(offset: number, { template, email, latencyMs, times }: DrawnRow): void {
    this.offsets.push(offset);
    this.emails.push(email);
    this.latenciesMs.push(latencyMs);
    const number = this.#templateNumber(template);
    this.templateOf.push(number);
    this.rowsOf[number] = (this.rowsOf[number] ?? 0) + 1;
    this.timesOf.push(this.#timesNumber(times));
  }

  /** The row that was added as `at`-th, from 0. */
  rowAt(at: number): DrawnRow {
    return {
      template: this.templates[this.templateOf[at] ?? 0] as RowTemplate,
      email: this.emails[at] ?? "",
      latencyMs: this.latenciesMs[at] ?? 0,
      times: this.times[this.timesOf[at] ?? 0] ?? "",
    };
  }

  #templateNumber(template: RowTemplate): number {
    const known = this.#templateNumbers.get(template);
    if (known !== undefined) return known;
    const number = this.templates.push(template) - 1;
    this.rowsOf.push(0);
    this.#templateNumbers.set(template, number);
    return number;
  }

  /** Rows that were learnt together follow each other, with one and the same string. */
  #timesNumber(times: string): number {
    if (times === this.#lastTimes && this.#lastTimesNumber >= 0) return this.#lastTimesNumber;
    let number = this.#timesNumbers.get(times);
    if (number === undefined) {
      number = this.times.push(times) - 1;
      this.#timesNumbers.set(times, number);
    }
    this.#lastTimes = times;
    this.#lastTimesNumber = number;
    return number;
  }
}
