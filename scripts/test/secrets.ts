import { closeSync, mkdtempSync, openSync, readdirSync, readSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Patterns of secrets, which no log may contain, each with an example. Each repetition is bounded: a line may be long.
 */
const SHAPES: readonly [what: string, shape: RegExp, canary: string][] = [
  ["a key or session", /rcpt_(?:live|test|sess)_[0-9A-Za-z]{20}/, `rcpt_live_${"a1B2".repeat(5)}`],
  ["a token of ours", /rcpt_[a-z]{2,8}_[0-9A-Za-z]{27}/, `rcpt_inv_${"a1B".repeat(9)}`],
  ["a webhook's secret", /whsec_[0-9A-Za-z+/=]{16}/, `whsec_${"a1B2".repeat(4)}`],
  ["a Stripe key", /\b[sr]k_(?:live|test)_[0-9A-Za-z]{4}/, "sk_test_a1B2"],
  ["a credential", /\bBearer\s{1,9}(?!realm=)[0-9A-Za-z._~+/-]{8}/i, "Bearer a1B2a1B2"],
  [
    "a header with a credential",
    /"(?:authorization|cookie|stripe-signature)":"(?!\[Redacted\])/i,
    '"authorization":"a1B2"',
  ],
  [
    "a password of a test",
    /correct horse|\$argon2id\$|"password(?:_hash)?":"(?!\[Redacted\])/i,
    "correct horse",
  ],
  [
    "a password in a URL",
    /\b[a-z]{2,12}:\/\/[^\s:/@"]{0,80}:[^\s:/@"]{1,200}@/i,
    "redis://user:a1B2@127.0.0.1",
  ],
  [
    "an address",
    /[^\s"'<>()[\]:;,\\@]{1,64}@[a-z0-9.-]{1,253}\.(?:test|com|org|net|example)\b/i,
    "canary@plain.test",
  ],
  ["an address in a URL", /%40[a-z0-9.-]{1,253}\.(?:test|com|org|net|example)\b/i, "canary%40plain.test"],
];

export interface Finding {
  /** Line of the file, from 1. */
  line: number;
  what: string;
  /** The text around it, truncated. */
  text: string;
}

const AROUND_CHARS = 160;

/** The first secret in a line of a log; null: none. */
export function secretIn(text: string): Omit<Finding, "line"> | null {
  for (const [what, shape] of SHAPES) {
    const found = shape.exec(text);
    if (found === null) continue;
    const start = Math.max(0, found.index - AROUND_CHARS / 2);
    return { what, text: text.slice(start, start + AROUND_CHARS) };
  }
  return null;
}

const CHUNK_BYTES = 1_048_576;
/** Most bytes read of one file. FINDINGS_MAX: most findings reported; more add nothing. */
const FILE_BYTES_MAX = 67_108_864;
const FINDINGS_MAX = 50;

function* linesOf(path: string): Generator<string> {
  const file = openSync(path, "r");
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let rest = "";
    for (let at = 0; at < FILE_BYTES_MAX; ) {
      const bytes = readSync(file, chunk, 0, CHUNK_BYTES, at);
      if (bytes === 0) break;
      at += bytes;
      const lines = (rest + chunk.toString("latin1", 0, bytes)).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    if (rest !== "") yield rest;
  } finally {
    closeSync(file);
  }
}

/** Looks through every file of a folder. `lines`: how many there were; findings are written as `FILE:LINE what: text`. */
export function secretsInLogs(folder: string): { lines: number; findings: string[] } {
  const findings: string[] = [];
  let lines = 0;
  for (const name of readdirSync(folder).sort()) {
    let line = 0;
    for (const text of linesOf(join(folder, name))) {
      line += 1;
      const found = findings.length < FINDINGS_MAX ? secretIn(text) : null;
      if (found !== null) findings.push(`${name}:${line} ${found.what}: ${found.text}`);
    }
    lines += line;
  }
  return { lines, findings };
}

/**
 * Plants one secret of each kind in a log of its own and searches that. Returns the kinds that were not found: if any,
 * the search is broken.
 */
function unseenKinds(): string[] {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-canaries-"));
  try {
    const planted = SHAPES.map(([, , canary]) => `{"level":"info","msg":"x",${canary}}`);
    writeFileSync(join(folder, "canaries.jsonl"), planted.join("\n"));
    const { findings } = secretsInLogs(folder);
    const isSeen = (what: string, at: number) =>
      findings.some((finding) => finding.startsWith(`canaries.jsonl:${at + 1} ${what}: `));
    return SHAPES.map(([what]) => what).filter((what, at) => !isSeen(what, at));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Judges the logs of a run. They must contain no secret, by a search that finds each kind, and have at least `linesMin`
 * lines: an empty log proves nothing.
 */
export function judgeLogs(folder: string, linesMin: number): { lines: number; faults: string[] } {
  const { lines, findings } = secretsInLogs(folder);
  const faults = [
    ...findings.map((finding) => `secret logged: ${finding}`),
    ...unseenKinds().map((what) => `the search for secrets does not see ${what}`),
  ];
  if (lines < linesMin) faults.push(`only ${lines} lines were logged, of ${linesMin} at least`);
  return { lines, faults };
}
