import type { RequestIds } from "./request-id.ts";

/** Numbers of `RateLimit`: whole, not negative. */
export interface LimitNumbers {
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
export interface AnswerHead {
  /** The status line's status with all fields behind it. Good until the next call. */
  fill(numbers: LimitNumbers): Uint8Array;
}

const DIGIT_0 = 48;
/** Below it division is one of machine integers. */
const INT_END = 2 ** 31;
/** Of the largest whole number. */
const NUMBER_CHARS = 16;
const NUMBERS = 4;

/** @returns where the number ends */
function writeNumber(into: Uint8Array, at: number, value: number): number {
  let end = at + 1;
  for (let least = 10; value >= least; least *= 10) end++;
  let rest = value;
  for (let place = end - 1; place >= at; place--) {
    const tenth = rest < INT_END ? (rest / 10) | 0 : Math.floor(rest / 10);
    into[place] = DIGIT_0 + (rest - tenth * 10);
    rest = tenth;
  }
  return end;
}

/** @returns where the bytes end; of short ones, for which a loop is quicker than `set` */
function writeBytes(into: Uint8Array, at: number, bytes: Uint8Array): number {
  for (let i = 0; i < bytes.length; i++) into[at + i] = bytes[i] ?? 0;
  return at + bytes.length;
}

/**
 * @param start what stands before the id, ASCII
 * @param fields what stands between the id and the value of `RateLimit`, ASCII
 * @param ids each `fill` takes the next one
 * @param end what stands behind the value of `RateLimit`, ASCII
 */
export function createAnswerHead(start: string, fields: string, ids: RequestIds, end = ""): AnswerHead {
  const [rateStart, resetStart, quotaStart] = ['"rate";r=', ";t=", ', "quota";r='].map((text) =>
    Buffer.from(text),
  ) as [Buffer, Buffer, Buffer];
  const idAt = start.length;
  const first = Buffer.concat([
    Buffer.from(start, "latin1"),
    Buffer.alloc(ids.length),
    Buffer.from(fields, "latin1"),
    rateStart,
  ]);
  const last = Buffer.from(end, "latin1");
  const room = last.length + 2 * resetStart.length + quotaStart.length + NUMBERS * NUMBER_CHARS;
  const form = new Uint8Array(first.length + room);
  form.set(first);
  /** By length: a view costs more to make than to look up, and there are a few dozen. */
  const views: Uint8Array[] = [];

  return {
    fill({ rate, rateResetS, quota, quotaResetS }) {
      ids.write(form, idAt);
      let at = writeNumber(form, first.length, rate);
      at = writeNumber(form, writeBytes(form, at, resetStart), rateResetS);
      at = writeNumber(form, writeBytes(form, at, quotaStart), quota);
      at = writeNumber(form, writeBytes(form, at, resetStart), quotaResetS);
      at = writeBytes(form, at, last);
      const known = views[at];
      if (known !== undefined) return known;
      const view = form.subarray(0, at);
      views[at] = view;
      return view;
    },
  };
}
