import { LIMITS } from "../core/limits.ts";
import { RecentMap } from "../core/recent-map.ts";
import { limitText } from "../services/limits-view.ts";
import type { Desk } from "../services/verify/ready-answers.ts";
import { type AnswerHead, createAnswerHead, type LimitNumbers } from "./answer-head.ts";
import { readNumbers } from "./desk-numbers.ts";
import type { RequestIds } from "./request-id.ts";

interface StatusWriter {
  writeStatus(status: string | Uint8Array): unknown;
}

/** Status and fields of the answers with 200 of the short ways: all are written with the status, see answer-head.ts. */
export interface ShortHeads {
  /** @param theirs the caller's id; null: it gets the next one of ours, which is the last then */
  write(response: StatusWriter, desk: Desk, theirs: string | null, nowMs: number): void;
}

/** What stands before the id. */
const STATUS_AND_ID = "200 OK\r\nX-Request-Id: ";
/** As respond.ts writes them. */
const fieldsBefore = (policy: string) =>
  "\r\nX-Content-Type-Options: nosniff\r\nContent-Type: application/json\r\nCache-Control: no-store" +
  `\r\nRateLimit-Policy: ${policy}\r\nRateLimit: `;

export function createShortHeads(ids: RequestIds): ShortHeads {
  const heads = new RecentMap<string, AnswerHead>(LIMITS.http.readyHeads);
  const numbers: LimitNumbers = { rate: 0, rateResetS: 0, quota: 0, quotaResetS: 0 };

  function headOf(policy: string): AnswerHead {
    let head = heads.get(policy);
    if (head === undefined) {
      head = createAnswerHead(STATUS_AND_ID, fieldsBefore(policy), ids);
      heads.set(policy, head);
    }
    return head;
  }

  return {
    write(response, desk, theirs, nowMs) {
      readNumbers(desk, nowMs, numbers);
      const head =
        theirs === null
          ? headOf(desk.policy).fill(numbers)
          : STATUS_AND_ID + theirs + fieldsBefore(desk.policy) + limitText(numbers);
      response.writeStatus(head);
    },
  };
}
