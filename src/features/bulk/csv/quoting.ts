import { detectDelimiter, isAddressTable, type Sample, type SampleText, takeSample } from "./delimiter.ts";
import type { Dialect } from "./dialect.ts";
import { countRests } from "./suspicion.ts";

/** All of a dialect but its delimiter. */
export type Quoting = Omit<Dialect, "delimiter">;

/** The owner's options for quotes. */
export interface RequestedQuoting {
  delimiter?: string;
  escape?: '"' | "\\";
}

/** A sample read with one kind of quoting, and its measures. */
interface Reading extends Sample {
  /** True when its quotes are implausible, or one is never closed. */
  isBroken: boolean;
  /** Fields that go on behind their closing quote. */
  rests: number;
  /** The same, and records that have not the table's width. */
  irregular: number;
}

/** A backslash that may escape something; a field of nothing but `\N`. */
const HAS_ESCAPE = /\\["\\\r\n,;\t|]|(?:^|[,;\t|\r\n])\\N(?:$|[,;\t|\r\n])/;
const HAS_NULL_FIELD = /(?:^|[,;\t|\r\n])\\N(?:$|[,;\t|\r\n])/;
const HAS_SPACED_QUOTE = /[,;\t|] +"/;

/**
 * Reads the sample with the rules that its quotes follow. These are the usual ones, unless they make no sense of the sample
 * and others do: a backslash escapes; a quote opens a field behind spaces; or quotes are plain text, if only that makes a
 * table of the whole sample.
 */
export async function readSample(
  text: SampleText,
  wanted: RequestedQuoting,
  encoding: Pick<Dialect, "encoding">,
): Promise<Sample> {
  const read = async (quoting: Quoting) => {
    const { delimiter } = wanted;
    const how = { ...encoding, ...quoting };
    return readingOf(
      delimiter === undefined ? await detectDelimiter(text, how) : takeSample(text, { delimiter, ...how }),
      text,
    );
  };
  const content = text.bytes.toString("latin1");
  const mayEscape = wanted.escape === undefined && HAS_ESCAPE.test(content);
  const asked: Quoting = wanted.escape === "\\" ? { escapedBy: "\\" } : {};
  let best = await read(asked);
  if (HAS_SPACED_QUOTE.test(content))
    best = better(best, await read({ ...asked, quotes: "after_space" }), hasSpacedQuotes);
  if (mayEscape) {
    const isNull = HAS_NULL_FIELD.test(content) ? isAsGood : isMoreRegular;
    best = better(best, await read({ escapedBy: "\\" }), isNull);
  }
  if (best.isBroken) best = better(best, await read({ ...asked, quotes: "text" }), isWhole);
  if (best.isBroken && mayEscape)
    best = better(best, await read({ escapedBy: "\\", quotes: "text" }), isWhole);
  return best;
}

function better(best: Reading, other: Reading, fits: (other: Reading, best: Reading) => boolean): Reading {
  return !other.isBroken && fits(other, best) ? other : best;
}

/** Quotes behind spaces are there, and close at the end of their fields. */
function hasSpacedQuotes(other: Reading, best: Reading): boolean {
  return isAsGood(other, best) && JSON.stringify(other.records) !== JSON.stringify(best.records);
}

function isAsGood(other: Reading, best: Reading): boolean {
  return best.isBroken || (other.irregular <= best.irregular && other.rests <= best.rests);
}

/** In a sample whose quotes are all plausible, only a table of all its rows proves that a backslash is an escape. */
function isMoreRegular(other: Reading, best: Reading): boolean {
  if (best.isBroken) return true;
  if (other.rests > 0 || other.irregular >= best.irregular) return false;
  return best.rests > 0 || other.irregular === 0;
}

function isWhole(other: Reading): boolean {
  return other.irregular === 0 && isAddressTable(other);
}

function readingOf(sample: Sample, text: SampleText): Reading {
  const { records, shape, dialect, problem } = sample;
  const isOpen = problem?.code === "quote_not_closed" || problem?.code === "record_too_large";
  const rests =
    dialect.quotes === "text"
      ? 0
      : countRests(text.bytes.subarray(0, (sample.ends.at(-1) ?? text.firstByte) - text.firstByte), dialect);
  const ragged = records.reduce((count, { length }) => (length === shape.width ? count : count + 1), 0);
  return { ...sample, isBroken: isOpen || sample.suspicion !== undefined, rests, irregular: ragged + rests };
}
