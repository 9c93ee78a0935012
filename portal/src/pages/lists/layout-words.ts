import type { BulkJob } from "../../words/jobs.ts";
import { counted, grouped } from "../../words/numbers.ts";

type Columns = NonNullable<BulkJob["source"]["columns"]>;

/** The title of a column; without a name its number, from 1. */
export const columnTitle = ({ name, index }: { name: string | null; index: number }): string =>
  name === null || name === "" ? `Column ${index + 1}` : name;

/** What the first rows of a column hold. */
export const addressesFound = ({ addresses, distinct }: { addresses: number; distinct: number }): string =>
  `${counted(addresses, "address", "addresses")} in the first rows, ${grouped(distinct)} of them different`;

/** Why a column was taken for the one of the addresses. */
export const CHOSEN_BY: Readonly<Record<Columns["email"]["chosen_by"], string>> = {
  option: "your choice",
  header: "its name says so",
  content: "by what its cells hold",
  only: "no other column has addresses",
};

/** Names of delimiters, by character. */
export const DELIMITERS: Readonly<Record<string, string>> = {
  ",": "comma",
  ";": "semicolon",
  "\t": "tab",
  "|": "vertical bar",
  " ": "space",
};
