import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import type { OpenQuestions } from "../../platform/open-questions.ts";
import {
  type CatchAllAnswer,
  type CatchAllFact,
  type CatchAllFacts,
  isLastingCatchAllAnswer,
} from "../../verification/catch-all.ts";
import type { CatchAll } from "../../verification/evidence.ts";
import type { ThreadMessage } from "./thread-messages.ts";

/** A check thread's catch-all answers: it asks the main thread once a key, not once an address. */
export class ThreadCatchAllFacts implements CatchAllFacts {
  readonly #post: (message: ThreadMessage) => void;
  readonly #claims: OpenQuestions<CatchAll | "ask">;
  readonly #recent = new LRUCache<string, CatchAllFact>({
    max: LIMITS.check.catchAllPerThread,
    ttl: LIMITS.check.catchAllPerThreadMs,
  });
  /** Checks that wait for the answer which another check of this thread requests. */
  readonly #waiting = new Map<string, ((answer: CatchAll) => void)[]>();

  constructor(post: (message: ThreadMessage) => void, claims: OpenQuestions<CatchAll | "ask">) {
    this.#post = post;
    this.#claims = claims;
  }

  known(key: string): CatchAllFact | undefined {
    return this.#recent.get(key);
  }

  async claim(key: string): Promise<CatchAll | "ask"> {
    const answer = this.#recent.get(key);
    if (answer !== undefined) return answer;
    const others = this.#waiting.get(key);
    if (others !== undefined) return new Promise((resolve) => others.push(resolve));
    this.#waiting.set(key, []);
    const fact = await this.#claims.ask((id) => this.#post({ type: "claim", id, key }));
    if (fact !== "ask") this.#wake(key, fact);
    return fact;
  }

  settle(key: string, answer: CatchAllAnswer, retryAfterS: number | null): void {
    this.#post({ type: "settle", key, answer, retryAfterS });
    this.#wake(key, answer);
  }

  abandon(key: string): void {
    this.#post({ type: "abandon", key });
    this.#wake(key, "not_probed");
  }

  #wake(key: string, answer: CatchAll): void {
    const others = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    if (isLastingCatchAllAnswer(answer)) this.#recent.set(key, answer);
    for (const resolve of others) resolve(answer);
  }
}
