import { createReadStream } from "node:fs";
import { parse } from "csv-parse";
import { LIMITS } from "./bounds.ts";
import { UsageError, writeCount } from "./units.ts";

/** A source of addresses. */
export interface AddressSource {
  /** An address that this run has not asked about. From a file it is the next one; after the last the file starts again. */
  fresh(): string;
  /** One of the first addresses of the run, each equally likely; a fresh one while there is none yet. */
  hot(): string;
  /** Description of the addresses, for the report. */
  readonly description: string;
  /** Number of times that a file was restarted: then "fresh" addresses are not new to the server. */
  readonly rounds: number;
}

/**
 * Names that RFC 2606 reserves for documentation. Their DNS says that they accept no mail (a null MX), so no mail
 * server is asked, whoever runs the deployment.
 */
const RESERVED = ["example.com", "example.net", "example.org"] as const;
/** Local parts for a test key: the outcomes that it can ask for, without refusals and those that are slow by design. */
const TEST_LOCALS = [
  ...["valid", "invalid", "risky", "unknown", "catch-all"],
  ...["disposable", "role", "full", "greylisted"],
] as const;

function withHot(
  next: () => string,
  hotMax: number,
  random: () => number,
  told: { description: string; rounds(): number },
): AddressSource {
  const hot: string[] = [];
  const source = {
    fresh() {
      const address = next();
      if (hot.length < hotMax) hot.push(address);
      return address;
    },
    hot: () => hot[Math.floor(random() * hot.length)] ?? source.fresh(),
    description: told.description,
    get rounds() {
      return told.rounds();
    },
  };
  return source;
}

export interface AddressSettings {
  hotMax: number;
  random(): number;
}

/** @param run a text that no other run has, of letters and digits */
export function createMadeUpAddresses(
  { hotMax, random }: AddressSettings,
  run: string,
  isTestKey: boolean,
): AddressSource {
  let made = 0;
  const next = isTestKey
    ? () => `${TEST_LOCALS[made % TEST_LOCALS.length]}+${run}-${made++}@example.com`
    : () => `load-${run}-${made}@${RESERVED[made++ % RESERVED.length]}`;
  const description = isTestKey
    ? "outcomes of a test key, @example.com"
    : `made up, @${RESERVED.join(", @")} (reserved names: nobody is probed)`;
  return withHot(next, hotMax, random, { description, rounds: () => 0 });
}

/** @param addresses at least one */
export function createListedAddresses(
  { hotMax, random }: AddressSettings,
  addresses: readonly string[],
): AddressSource {
  let taken = 0;
  const next = () => addresses[taken++ % addresses.length] ?? "";
  const description = `${writeCount(addresses.length)} of a file`;
  const rounds = () => Math.max(0, Math.floor((taken - 1) / addresses.length));
  return withHot(next, hotMax, random, { description, rounds });
}

/**
 * Addresses of a file: CSV (comma, semicolon, tab or pipe) or one a line; of each record the first cell with an `@`.
 * @param max more than so many are refused
 * @throws UsageError that says what is wrong with the file
 */
export async function readEmails(path: string, max: number): Promise<string[]> {
  const parser = parse({
    bom: true,
    delimiter: [",", ";", "\t", "|"],
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: LIMITS.emailsRecordBytes,
  });
  const file = createReadStream(path);
  file.on("error", (error) => parser.destroy(error));
  const addresses: string[] = [];
  try {
    for await (const record of file.pipe(parser) as AsyncIterable<string[]>) {
      const address = record.find((cell) => cell.includes("@"));
      if (address === undefined) continue;
      if (addresses.length >= max)
        throw new UsageError(
          `${path} has more than ${writeCount(max)} addresses, the most that are read; --max-emails lifts that`,
        );
      addresses.push(address);
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--emails ${path}: ${(error as Error).message}`);
  } finally {
    file.destroy();
  }
  if (addresses.length === 0) throw new UsageError(`--emails ${path}: no address in it`);
  return addresses;
}
