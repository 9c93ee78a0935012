import { answerParent } from "../child.ts";
import {
  CAPPED_CONNECTIONS,
  CAPPED_DEPTH,
  CAPPED_TRANSACTIONS,
  cappedAddress,
  type SlowRow,
  slowRows,
} from "../slow-list.ts";
import { Dialogue } from "../smtp-dialogue.ts";

const EHLO = "EHLO bench.test\r\n";
const TRANSACTION_REPLIES = 3;

const commandsOf = ({ email }: SlowRow) => `MAIL FROM:<>\r\nRCPT TO:<${email}>\r\nRSET\r\n`;

const isWrong = ({ verdict }: SlowRow, code: string | undefined) =>
  code !== (verdict === "valid" ? "250" : "550");

function take(left: Iterator<SlowRow>, count: number): SlowRow[] {
  const rows: SlowRow[] = [];
  for (let next = left.next(); !next.done; next = left.next()) {
    rows.push(next.value);
    if (rows.length === count) break;
  }
  return rows;
}

/** One connection, which asks about as many as it may. */
async function talk(port: number, left: Iterator<SlowRow>): Promise<{ asked: number; wrong: number }> {
  const dialogue = await Dialogue.open(cappedAddress, port);
  await dialogue.ask(EHLO, 1);
  let wrong = 0;
  let asked = 0;
  while (asked < CAPPED_TRANSACTIONS) {
    const rows = take(left, Math.min(CAPPED_DEPTH, CAPPED_TRANSACTIONS - asked));
    if (rows.length === 0) break;
    const codes = await dialogue.ask(rows.map(commandsOf).join(""), rows.length * TRANSACTION_REPLIES);
    wrong += rows.filter((row, at) => isWrong(row, codes[at * TRANSACTION_REPLIES + 1])).length;
    asked += rows.length;
  }
  await dialogue.quit();
  return { asked, wrong };
}

const verbs = {
  /** What the caps of the provider allow: all its connections at once, each full, one after the other without a pause. */
  async ask({ run, rows, port }: { run: number; rows: number; port: number }) {
    const left = slowRows(run, "capped", rows);
    let asked = 0;
    let wrong = 0;
    const startedMs = performance.now();
    async function connectOn(): Promise<void> {
      for (;;) {
        const session = await talk(port, left);
        asked += session.asked;
        wrong += session.wrong;
        if (session.asked === 0) return;
      }
    }
    await Promise.all(Array.from({ length: CAPPED_CONNECTIONS }, connectOn));
    return { perS: (asked * 1_000) / (performance.now() - startedMs), wrong };
  },
};

export type SlowClient = typeof verbs;

answerParent(verbs, async () => {});
