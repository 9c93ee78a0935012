import assert from "node:assert/strict";
import { until } from "./until.ts";

interface Answered {
  status: number;
  headers: Headers;
  body: unknown;
}

/** Whether an answer is a 503 for want of a store. */
const isUnavailable = ({ status, body }: Answered) =>
  status === 503 && (body as { code?: unknown } | null)?.code === "unavailable";

/**
 * Asks until the answer is not refused for want of a store, which has to say when to come again: on a busy machine Postgres
 * may take longer than a request waits. For tests in which that is no result, about processes whose own bounds hold.
 */
export function askAgain<T extends Answered>(ask: () => Promise<T>): Promise<T> {
  return until("another answer than 503", async () => {
    const answer = await ask();
    if (!isUnavailable(answer)) return answer;
    assert.ok(Number(answer.headers.get("retry-after")) >= 1, "a 503 says when to come again");
    return null;
  });
}
