import { LIMITS } from "../config/limits/limits.ts";
import type { CacheEntry } from "../features/verify/cache/cache-entry.ts";
import type { StoredEntry, StoredText } from "../features/verify/cache/evidence-scan.ts";
import type { SelfIdentity } from "../verification/classify/classify.ts";
import { type Evidence, evidenceBut } from "../verification/evidence.ts";
import { parseCommandLine, runCommand, type Terminal, UsageError } from "./command.ts";
import { type Reclassification, Reclassifier } from "./reclassification.ts";
import { storedResults } from "./reclassify-file.ts";

export const RECLASSIFY_USAGE =
  "usage: npm run reclassify -- [--apply | --file RESULTS.jsonl] [--examples N] [--json]";

const OPTIONS = {
  apply: { type: "boolean", default: false },
  file: { type: "string" },
  examples: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

interface Args {
  apply: boolean;
  file: string | null;
  examples: number;
  json: boolean;
}

/** The evidence cache, as this command needs it. */
export interface EvidenceStore {
  scan(): AsyncGenerator<StoredEntry[]>;
  /** @returns false: the entry has changed since, and is not replaced */
  replace(known: StoredText, entry: CacheEntry, mostS: number): Promise<boolean>;
}

export interface ReclassifyCommand extends Terminal {
  argv: string[];
  /** Our names and addresses on an egress route, as configured now; "": on any. */
  selfAt(path: string): SelfIdentity;
  /** Time to live of a probe's evidence, and whether other processes may use it. */
  keep(evidence: Evidence): { ttlS: number; shared: boolean };
  /** Opens the cache, only when the arguments are right and ask for it. */
  withEvidenceStore<T>(work: (shelf: EvidenceStore) => Promise<T>): Promise<T>;
}

/** @throws UsageError one line that names the fault */
function parseArgs(argv: string[]): Args {
  const config = { args: argv, options: OPTIONS } as const;
  const { apply, file = null, examples, json } = parseCommandLine(config, RECLASSIFY_USAGE).values;
  const { examples: standard, examplesMax } = LIMITS.reclassify;
  const count = examples === undefined ? standard : Number(examples);
  if (!/^\d+$/.test(examples ?? "0") || count > examplesMax)
    throw new UsageError(`--examples must be a whole number up to ${examplesMax}`);
  if (apply && file !== null) throw new UsageError("--apply is of the cache: a file is only read");
  return { apply, file, examples: count, json };
}

/**
 * The command `reclassify`: applies today's rules and verdict table to stored evidence and shows the changes; with
 * `--apply` it updates the cache. The exit code: 0 done, 2 wrong arguments or an unreadable file. The caller reports other
 * failures.
 */
export function runReclassify(command: ReclassifyCommand): Promise<number> {
  return runCommand("reclassify", command, async () => {
    const args = parseArgs(command.argv);
    const judge = new Reclassifier((path) => command.selfAt(path), args.examples);
    let written = 0;
    if (args.file !== null) await readFile(judge, args.file);
    else written = await command.withEvidenceStore((shelf) => readStore(judge, shelf, args, command));
    return args.json
      ? `${JSON.stringify(asJson(judge.report, args.apply ? written : null))}\n`
      : format(judge.report, args.apply ? written : null);
  });
}

async function readFile(judge: Reclassifier, path: string): Promise<void> {
  try {
    for await (const stored of storedResults(path))
      if (stored === "not_probed") judge.skip("not_probed");
      else judge.judge(stored);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new UsageError(`the file cannot be read: ${code}`);
  }
}

/** @returns how many entries were written */
async function readStore(
  judge: Reclassifier,
  shelf: EvidenceStore,
  { apply }: Args,
  { stderr, keep }: Pick<ReclassifyCommand, "stderr" | "keep">,
): Promise<number> {
  let written = 0;
  if (apply)
    stderr(
      "reclassify: what changes is written into the evidence cache, for no longer than it is kept now\n",
    );
  for await (const batch of shelf.scan())
    for (const known of batch) {
      const { entry } = known;
      if (entry === undefined) judge.skip("other_version");
      else if (entry === "orphan") judge.skip("orphan");
      else {
        const evidence = judge.judge({ evidence: entry.evidence, address: null });
        if (!apply || evidence === null) continue;
        const today = updatedEntry(entry, evidence, keep(evidence));
        // A replaced entry that is now invalid stays for its old time to live, so that processes with the old entry in
        // memory see it.
        const mostS = today.ttlS > 0 ? today.ttlS : entry.ttlS;
        if (await shelf.replace(known, today, mostS)) written += 1;
      }
    }
  return written;
}

/**
 * The entry with today's evidence. Evidence that must not be shared is left out: the entry then only says that the old one
 * is invalid.
 */
function updatedEntry(
  entry: CacheEntry,
  evidence: Evidence,
  { ttlS, shared }: ReturnType<ReclassifyCommand["keep"]>,
): CacheEntry {
  if (!shared || ttlS <= 0) return { ...entry, evidence: evidenceBut(evidence, { smtp: null }), ttlS: 0 };
  return { ...entry, evidence, ttlS: Math.min(entry.ttlS, ttlS) };
}

const byCount = (counts: Map<string, number>) => [...counts].sort((a, b) => b[1] - a[1]);

function asJson(report: Reclassification, written: number | null) {
  const { read, judged, changed, unjudged, classes, verdicts, rules, examples } = report;
  const transitions = (counts: Map<string, number>) => Object.fromEntries(byCount(counts));
  return {
    ...{ read, judged, changed, written, unjudged },
    classes: transitions(classes),
    verdicts: transitions(verdicts),
    rules: transitions(rules),
    examples,
  };
}

const UNJUDGED: Record<keyof Reclassification["unjudged"], string> = {
  not_probed: "mailbox was not asked about",
  no_reply: "no server replied",
  not_believed: "the site's answers are not believed",
  cut: "the reply was cut",
  named_us: "the reply named us by a name that is not ours now",
  other_version: "kept by another version, or damaged",
  orphan: "what it shares with others is not there now: ask again in some minutes, who knows it puts it back",
};

/** Escapes control characters of servers' and files' texts, which could change the terminal. */
function printable(line: string): string {
  return line.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "?");
}

function format(report: Reclassification, written: number | null): string {
  const { read, judged, changed, unjudged, classes, verdicts, rules, examples } = report;
  const lines = [
    `${read} read, ${judged} judged again by the names that we have now, ${changed} ${written === null ? "would change" : "changed"}`,
  ];
  if (written !== null) lines.push(`${written} written; running processes read them within minutes`);
  for (const [why, number] of Object.entries(unjudged))
    if (number > 0)
      lines.push(`${String(number).padStart(8)}  not judged: ${UNJUDGED[why as keyof typeof unjudged]}`);
  const tables = [
    ["classes", classes],
    ["verdicts", verdicts],
    ["rules", rules],
  ] as const;
  for (const [name, counts] of tables) {
    if (counts.size > 0) lines.push("", name);
    for (const [transition, number] of byCount(counts))
      lines.push(`${String(number).padStart(8)}  ${transition}`);
  }
  if (examples.length > 0) lines.push("", "examples");
  for (const { from, to, rule, reply } of examples) lines.push(`  ${from} → ${to} (${rule})`, `    ${reply}`);
  return lines.map((line) => `${printable(line)}\n`).join("");
}
