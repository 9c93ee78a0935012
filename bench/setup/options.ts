import { parseArgs } from "node:util";
import { chosenSections } from "../sections.ts";

export interface BenchOptions {
  sections: ReturnType<typeof chosenSections>;
  /** Whether sections were named: the total of all is told of all alone. */
  isPart: boolean;
  quick: boolean;
  write: boolean;
  /** Of lists, ascending; null: as each section has it. */
  rows: number[] | null;
  /** Folder for CPU profiles; null: none. */
  profile: string | null;
}

/** @throws Error that says how it is to be given */
function lengthsOf(text: string): number[] {
  const lengths = text.split(",").map(Number);
  const isAscending = lengths.every((rows, i) => Number.isInteger(rows) && rows > (lengths[i - 1] ?? 0));
  if (!isAscending) throw new Error("--rows takes numbers of rows, ascending, e.g. 1000000,10000000");
  return lengths;
}

/** `[SECTION ...] [--quick] [--write] [--rows N,N] [--profile DIR]`. @throws Error one line that says what is wrong */
export function readBenchOptions(args: string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args,
    options: {
      profile: { type: "string" },
      rows: { type: "string" },
      quick: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  const { quick, write, profile = null } = values;
  return {
    sections: chosenSections(positionals),
    isPart: positionals.length > 0,
    quick,
    write,
    rows: values.rows === undefined ? null : lengthsOf(values.rows),
    profile,
  };
}
