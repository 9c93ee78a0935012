import { setTimeout as wait } from "node:timers/promises";
import { parse } from "csv-parse/sync";
import type { Ask } from "./tally.ts";

/** A list that was handed in and became a job. */
interface SentList {
  id: string;
  rows: readonly string[];
  completed: boolean;
}

/** Outcome of all lists. */
export interface ListsOutcome {
  jobs: number;
  completed: number;
  rowsIn: number;
  rowsOut: number;
  /** Rows that are not there, there twice, elsewhere or answered wrongly: in words. */
  faults: string[];
}

/** The lists of a run: handed in, looked at, downloaded. */
export interface Lists {
  handInline(): Promise<void>;
  handUpload(): Promise<void>;
  lookAtJob(): Promise<void>;
  download(): Promise<void>;
  /** Waits for all jobs to end, then reads all results. */
  settle(): Promise<ListsOutcome>;
}

const INLINE_ROWS = 6;
const UPLOAD_ROWS = 30;
/** Duration of an upload: so long that most uploads reach a process that begins to leave. */
const UPLOAD_OVER_MS = 2_000;
/** Number of uploads at once. A process accepts at most four of a team, and at times only two processes get all uploads. */
const UPLOADS_AT_ONCE = 4;
const SETTLED_WITHIN_MS = 60_000;
const POLL_MS = 250;
const MISSING_EVERY = 5;
const FAULTS_KEPT = 20;

const verdictOf = (address: string) => (address.startsWith("missing") ? "invalid" : "valid");

/** Rows `from` on of a list, each another address than any in all lists. */
export function rowsOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const kind = i % MISSING_EVERY === MISSING_EVERY - 1 ? "missing" : "exists";
    return `${kind}-${name}-${i}@plain.test`;
  });
}

/** Faults of CSV results, compared with the submitted rows. */
export function faultsOf(rows: readonly string[], csv: string): { rows: number; faults: string[] } {
  const records = parse(csv, { columns: true }) as Record<string, string>[];
  const faults: string[] = [];
  if (records.length !== rows.length) faults.push(`${records.length} rows of ${rows.length}`);
  for (const [i, address] of rows.entries()) {
    const record = records[i];
    if (record?.email !== address) faults.push(`row ${i}: ${record?.email} instead of ${address}`);
    else if (record.rcpt_verdict !== verdictOf(address))
      faults.push(`row ${i}: ${address} is ${record.rcpt_verdict} (${record.rcpt_reason})`);
  }
  return { rows: records.length, faults: faults.slice(0, FAULTS_KEPT) };
}

/** Reads all results. */
async function outcomeOf(
  lists: readonly SentList[],
  results: (list: SentList) => Promise<string | null>,
): Promise<ListsOutcome> {
  const outcome: ListsOutcome = { jobs: lists.length, completed: 0, rowsIn: 0, rowsOut: 0, faults: [] };
  for (const list of lists) {
    outcome.rowsIn += list.rows.length;
    const csv = list.completed ? await results(list) : null;
    if (csv === null) {
      outcome.faults.push(`${list.id}: not completed, or no results`);
      continue;
    }
    outcome.completed += 1;
    const found = faultsOf(list.rows, csv);
    outcome.rowsOut += found.rows;
    outcome.faults.push(...found.faults.map((fault) => `${list.id} ${fault}`));
  }
  return outcome;
}

export function createLists(name: string, ask: Ask): Lists {
  const lists: SentList[] = [];
  let made = 0;
  let looked = 0;
  let downloads = 0;
  let uploads = 0;

  async function submit(rows: readonly string[], source: Record<string, unknown>): Promise<void> {
    const body = JSON.stringify(source);
    const post = {
      method: "POST",
      path: "/v1/verify/bulk",
      headers: { "content-type": "application/json" },
      body,
    } as const;
    const reply = await ask("bulk job", post, 202);
    if (reply !== null) lists.push({ id: JSON.parse(reply).id, rows, completed: false });
  }

  async function look(list: SentList): Promise<void> {
    const reply = await ask("job", { method: "GET", path: `/v1/bulk-jobs/${list.id}` }, 200);
    if (reply !== null) list.completed = JSON.parse(reply).status === "completed";
  }

  const results = (list: SentList) =>
    ask("results", { method: "GET", path: `/v1/bulk-jobs/${list.id}/results?format=csv` }, 200);

  return {
    handInline() {
      const rows = rowsOf(`${name}-i${made++}`, INLINE_ROWS);
      return submit(rows, { emails: rows });
    },
    async handUpload() {
      if (uploads >= UPLOADS_AT_ONCE) return;
      uploads += 1;
      const rows = rowsOf(`${name}-u${made++}`, UPLOAD_ROWS);
      const body = `email\r\n${rows.join("\r\n")}\r\n`;
      const put = {
        method: "PUT",
        path: "/v1/uploads/list.csv",
        headers: { "content-type": "text/csv" },
        body,
      } as const;
      const reply = await ask("upload", { ...put, bodyOverMs: UPLOAD_OVER_MS }, 201);
      uploads -= 1;
      if (reply !== null) await submit(rows, { upload_id: JSON.parse(reply).id });
    },
    async lookAtJob() {
      const open = lists.filter(({ completed }) => !completed);
      const list = open[looked++ % Math.max(1, open.length)];
      if (list !== undefined) await look(list);
    },
    async download() {
      const done = lists.filter(({ completed }) => completed);
      const list = done[downloads++ % Math.max(1, done.length)];
      if (list !== undefined) await results(list);
    },
    async settle() {
      const deadlineMs = performance.now() + SETTLED_WITHIN_MS;
      for (const list of lists)
        while (!list.completed && performance.now() < deadlineMs) {
          await look(list);
          if (!list.completed) await wait(POLL_MS);
        }
      return outcomeOf(lists, results);
    },
  };
}
