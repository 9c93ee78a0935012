import { setTimeout as wait } from "node:timers/promises";
import { DOMAINS, domainName } from "../deployment/site-world.ts";
import { createLeanClient, type LeanClient } from "../overload/lean-client.ts";
import { bodyOf } from "../traffic/asking.ts";

/** What the victim asks for, each at its even distance whatever becomes of the requests before. */
export const QUESTIONS = ["cached", "uncached", "usage", "post"] as const;
export type QuestionName = (typeof QUESTIONS)[number];

const PER_S: Record<QuestionName, number> = { cached: 40, uncached: 15, usage: 10, post: 4 };
const CONNECTIONS = 64;
const TICK_MS = 1;
const TIMEOUT_MS = 20_000;
const SWEEP_MS = 500;
const CACHED_EMAIL = `exists.cached@${domainName(0)}`;

/** What came of the victim's questions in one or more periods. */
export interface Suffered {
  /** From when it was due to its answer, in milliseconds. */
  latenciesMs: Record<QuestionName, number[]>;
  /** Answers of 500 and above, and those that never came, by `question status code`. */
  failures: Record<string, number>;
  /** Answers that are neither these nor what was asked for, such as 429. */
  refusals: Record<string, number>;
  /** How late the client itself was to send, in milliseconds. */
  lateMs: number[];
}

export function noneSuffered(): Suffered {
  const latenciesMs = { cached: [], uncached: [], usage: [], post: [] };
  return { latenciesMs, failures: {}, refusals: {}, lateMs: [] };
}

/** A well-behaved customer with one key. */
export interface Victim {
  /** Asks for so long, and adds what came of it to `suffered`, which it returns. */
  askFor(forMs: number, suffered: Suffered): Promise<Suffered>;
  close(): void;
}

export async function startVictim(port: number, key: string): Promise<Victim> {
  const client = createLeanClient(port, CONNECTIONS);
  await client.open();
  const sweeping = setInterval(() => client.sweep(TIMEOUT_MS), SWEEP_MS);
  // Numbers go on from period to period: an address that was asked for is cached.
  let next = 0;

  function requestOf(question: QuestionName): string {
    const head = (line: string) => `${line} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n`;
    const verify = (email: string) => head(`GET /v1/verify?email=${encodeURIComponent(email)}`);
    const n = next++;
    switch (question) {
      case "cached":
        return `${verify(CACHED_EMAIL)}\r\n`;
      case "uncached":
        return `${verify(`exists.victim${n}@${domainName(n % DOMAINS)}`)}\r\n`;
      case "usage":
        return `${head("GET /v1/usage")}\r\n`;
      case "post": {
        const body = JSON.stringify({ domain: `blocked-${n}.test` });
        const fields = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
        return `${head("POST /v1/blocklist")}${fields}\r\n${body}`;
      }
    }
  }

  return {
    askFor: (forMs, suffered) => askFor(client, requestOf, forMs, suffered),
    close() {
      clearInterval(sweeping);
      client.close();
    },
  };
}

async function askFor(
  client: LeanClient,
  requestOf: (question: QuestionName) => string,
  forMs: number,
  suffered: Suffered,
): Promise<Suffered> {
  const startedMs = performance.now();
  const answers: Promise<void>[] = [];
  const sent: Record<QuestionName, number> = { cached: 0, uncached: 0, usage: 0, post: 0 };
  const ask = (question: QuestionName, dueMs: number) =>
    new Promise<void>((resolve) => {
      suffered.lateMs.push(performance.now() - dueMs);
      client.send(requestOf(question), ({ status, body }) => {
        note(suffered, question, { status, body, ms: performance.now() - dueMs });
        resolve();
      });
    });
  while (performance.now() - startedMs < forMs) {
    for (const question of QUESTIONS) {
      const due = Math.floor(((performance.now() - startedMs) * PER_S[question]) / 1_000);
      while (sent[question] < due) {
        sent[question] += 1;
        answers.push(ask(question, startedMs + (sent[question] * 1_000) / PER_S[question]));
      }
    }
    await wait(TICK_MS);
  }
  await Promise.all(answers);
  return suffered;
}

function note(
  { latenciesMs, failures, refusals }: Suffered,
  question: QuestionName,
  { status, body, ms }: { status: number; body: string; ms: number },
): void {
  latenciesMs[question].push(ms);
  if (status >= 200 && status < 300) return;
  const code = status === 0 ? body : String(bodyOf(body)?.code ?? "");
  const into = status === 0 || status >= 500 ? failures : refusals;
  const how = `${question} ${status} ${code}`.trim();
  into[how] = (into[how] ?? 0) + 1;
}
