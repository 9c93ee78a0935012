import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Report } from "../../bench/load/report/report.ts";
import { load } from "../../bench/load.ts";

export interface Loaded {
  code: number;
  stdout: string;
  stderr: string;
  /** null: the command wrote no report. */
  report: Report | null;
  html: string | null;
}

export interface LoadAsk {
  url: string;
  key: string;
  argv: readonly string[];
  interrupted?: AbortSignal;
}

const NEVER = new AbortController().signal;

function readIfAny(path: string): string | null {
  try {
    const text = readFileSync(path, "utf8");
    return text === "" ? null : text;
  } catch {
    return null;
  }
}

/** Runs the command in this process, with both files of a report. */
export async function runLoadCommand({ url, key, argv, interrupted = NEVER }: LoadAsk): Promise<Loaded> {
  const dir = mkdtempSync(join(tmpdir(), "rcpt-load-"));
  const [json, html] = [join(dir, "report.json"), join(dir, "report.html")];
  const stdout: string[] = [];
  const stderr: string[] = [];
  try {
    const code = await load({
      argv: ["--url", url, "--json", json, "--html", html, ...argv],
      env: { RCPT_KEY: key },
      stdout: { write: (text) => void stdout.push(text) },
      stderr: { write: (text) => void stderr.push(text) },
      interrupted,
      hurried: NEVER,
    });
    const text = readIfAny(json);
    return {
      ...{ code, stdout: stdout.join(""), stderr: stderr.join(""), html: readIfAny(html) },
      report: text === null ? null : (JSON.parse(text) as Report),
    };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
