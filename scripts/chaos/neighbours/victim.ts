import { setTimeout as wait } from "node:timers/promises";
import { DOMAINS, domainName } from "../deployment/site-world.ts";
import { bodyOf, type Client, createClient, type Question, type Reply } from "../traffic/asking.ts";

/** The victim's requests, each at fixed intervals whatever becomes of earlier ones. */
export const QUESTIONS = ["cached", "uncached", "usage", "post"] as const;
export type QuestionName = (typeof QUESTIONS)[number];

const PER_S: Record<QuestionName, number> = { cached: 40, uncached: 15, usage: 10, post: 4 };
const TICK_MS = 1;
const TIMEOUT_MS = 20_000;
const CACHED_EMAIL = `exists.cached@${domainName(0)}`;

/** Results of the victim's requests in one or more periods. */
export interface Suffered {
  /** From when it was due to its answer, in milliseconds. */
  latenciesMs: Record<QuestionName, number[]>;
  /** Answers of 500 and above, and those that never came, by `question status code`. */
  failures: Record<string, number>;
  /** Other answers without the wanted result, such as 429, by the same keys. */
  refusals: Record<string, number>;
  /** Milliseconds by which the client itself sent late. */
  lateMs: number[];
}

export function noneSuffered(): Suffered {
  const latenciesMs = { cached: [], uncached: [], usage: [], post: [] };
  return { latenciesMs, failures: {}, refusals: {}, lateMs: [] };
}

/** A well-behaved customer with one key. */
export interface Victim {
  /** Sends requests for `forMs`, and adds their results to `suffered`, which it returns. */
  askFor(forMs: number, suffered: Suffered): Promise<Suffered>;
  close(): void;
}

export function startVictim(url: string, key: string): Victim {
  const client = createClient(url);
  // Numbers go on from period to period: an address that was asked for is cached.
  let next = 0;

  function questionOf(name: QuestionName): Question {
    const n = next++;
    const get = (path: string): Question => ({ method: "GET", path, key, timeoutMs: TIMEOUT_MS });
    const verify = (email: string) => get(`/v1/verify?email=${encodeURIComponent(email)}`);
    switch (name) {
      case "cached":
        return verify(CACHED_EMAIL);
      case "uncached":
        return verify(`exists.victim${n}@${domainName(n % DOMAINS)}`);
      case "usage":
        return get("/v1/usage");
      case "post": {
        const body = JSON.stringify({ domain: `blocked-${n}.test` });
        const headers = { "content-type": "application/json" };
        return { ...get("/v1/blocklist"), method: "POST", body, headers };
      }
    }
  }

  return {
    askFor: (forMs, suffered) => askFor(client, questionOf, forMs, suffered),
    close: () => client.close(),
  };
}

async function askFor(
  client: Client,
  questionOf: (name: QuestionName) => Question,
  forMs: number,
  suffered: Suffered,
): Promise<Suffered> {
  const startedMs = performance.now();
  const answers: Promise<void>[] = [];
  const sent: Record<QuestionName, number> = { cached: 0, uncached: 0, usage: 0, post: 0 };
  const ask = async (name: QuestionName, dueMs: number) => {
    suffered.lateMs.push(performance.now() - dueMs);
    const reply = await client.ask(questionOf(name));
    note(suffered, name, reply, performance.now() - dueMs);
  };
  while (performance.now() - startedMs < forMs) {
    for (const name of QUESTIONS) {
      const due = Math.floor(((performance.now() - startedMs) * PER_S[name]) / 1_000);
      while (sent[name] < due) {
        sent[name] += 1;
        answers.push(ask(name, startedMs + (sent[name] * 1_000) / PER_S[name]));
      }
    }
    await wait(TICK_MS);
  }
  await Promise.all(answers);
  return suffered;
}

function note(
  { latenciesMs, failures, refusals }: Suffered,
  name: QuestionName,
  reply: Reply,
  ms: number,
): void {
  latenciesMs[name].push(ms);
  if (reply.status !== null && reply.status >= 200 && reply.status < 300) return;
  const into = reply.status === null || reply.status >= 500 ? failures : refusals;
  const why = reply.status === null ? reply.how : `${reply.status} ${bodyOf(reply.text)?.code ?? ""}`;
  const how = `${name} ${why}`.trim();
  into[how] = (into[how] ?? 0) + 1;
}
