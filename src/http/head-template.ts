import type { RequestIds } from "./request-id.ts";

/** Numbers of `RateLimit`: whole, not negative. */
export interface RateLimitNumbers {
  rate: number;
  rateResetS: number;
  quota: number;
  quotaResetS: number;
}

/**
 * Status and header fields of an answer as bytes: a form, in which each request fills in its id and its numbers. To join
 * strings, have them flattened and written as UTF-8 takes 0.5 us a request, a third of what may be added to the bare server;
 * this takes 0.1. With the status in it, it is one call and one argument, 0.3 us less than a field with name and value.
 */
export interface HeadTemplate {
  /** The status line's status with all fields behind it. Good until the next call. */
  fill(numbers: RateLimitNumbers): Uint8Array;
}

const DIGIT_0 = 48;
/** Below it division is one of machine integers. */
const INT_END = 2 ** 31;
/** Of the largest whole number. */
const NUMBER_CHARS = 16;
const NUMBERS = 4;

/**
 * A number among the bytes of a form. Its digits are written where it, or its place, is another than the last time: the seconds to
 * the end of the day are the same for all, and each digit costs a division.
 */
class NumberPlaceholder {
  #at = -1;
  #value = -1;
  #end = -1;

  /** @returns where the number ends */
  write(into: Uint8Array, at: number, value: number): number {
    if (at === this.#at && value === this.#value) return this.#end;
    let end = at + 1;
    for (let least = 10; value >= least; least *= 10) end++;
    let rest = value;
    for (let place = end - 1; place >= at; place--) {
      const tenth = rest < INT_END ? (rest / 10) | 0 : Math.floor(rest / 10);
      into[place] = DIGIT_0 + (rest - tenth * 10);
      rest = tenth;
    }
    this.#at = at;
    this.#value = value;
    this.#end = end;
    return end;
  }
}

/** The same of a text that never changes: it is written where a number before it has become longer or shorter. */
class TextPlaceholder {
  readonly #text: Uint8Array;
  #at = -1;

  constructor(text: string) {
    this.#text = Buffer.from(text, "latin1");
  }

  get length(): number {
    return this.#text.length;
  }

  /** @returns where the text ends */
  write(into: Uint8Array, at: number): number {
    if (at !== this.#at) {
      into.set(this.#text, at);
      this.#at = at;
    }
    return at + this.#text.length;
  }
}

/**
 * @param start what stands before the id, ASCII
 * @param fields what stands between the id and the value of `RateLimit`, ASCII
 * @param ids each `fill` takes the next one
 * @param end what stands behind the value of `RateLimit`, ASCII
 */
export function createHeadTemplate(start: string, fields: string, ids: RequestIds, end = ""): HeadTemplate {
  const idAt = start.length;
  const first = Buffer.from(`${start}${" ".repeat(ids.length)}${fields}"rate";r=`, "latin1");
  const [rate, rateResetS] = [new NumberPlaceholder(), new NumberPlaceholder()];
  const [quota, quotaResetS] = [new NumberPlaceholder(), new NumberPlaceholder()];
  const [rateReset, quotaReset] = [new TextPlaceholder(";t="), new TextPlaceholder(";t=")];
  const quotaStart = new TextPlaceholder(', "quota";r=');
  const last = new TextPlaceholder(end);
  const texts = rateReset.length + quotaStart.length + quotaReset.length + last.length;
  const form = new Uint8Array(first.length + texts + NUMBERS * NUMBER_CHARS);
  form.set(first);
  let idsSeen = 0;
  /** By length: a view costs more to make than to look up, and there are a few dozen. */
  const views: Uint8Array[] = [];

  return {
    fill(numbers) {
      idsSeen = ids.write(form, idAt, idsSeen);
      let at = rate.write(form, first.length, numbers.rate);
      at = rateResetS.write(form, rateReset.write(form, at), numbers.rateResetS);
      at = quota.write(form, quotaStart.write(form, at), numbers.quota);
      at = quotaResetS.write(form, quotaReset.write(form, at), numbers.quotaResetS);
      at = last.write(form, at);
      const known = views[at];
      if (known !== undefined) return known;
      const view = form.subarray(0, at);
      views[at] = view;
      return view;
    },
  };
}
