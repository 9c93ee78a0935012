import type { MessagePort } from "node:worker_threads";
import type { BreakerReport, BreakerUpdate } from "../../egress/breaker/messages.ts";
import type { ReportedDial } from "../../egress/network-health.ts";
import type { SilentDial } from "../../egress/route-health.ts";
import type { SelfCheckUpdate } from "../../egress/self-check/report.ts";
import type { SmtpTraceEvent } from "../../smtp/wire/trace.ts";
import type { CatchAllAnswer } from "../../verification/catch-all.ts";
import type { CatchAll } from "../../verification/evidence.ts";
import type { BehaviourReport, BehaviourUpdate } from "../learned-behaviour/messages.ts";
import type { ThreadReport } from "./thread-counts.ts";
import type { CheckAnswers, CheckBatch } from "./thread-tasks.ts";

/**
 * All messages between a check thread and the main thread, over one port: batches of checks and their answers, and the
 * thread's requests to the process. Connections and domains cause messages, addresses do not. Slots and catch-all answers
 * are in the main thread: one queue of waiters over all threads is fair, and one place can lease from other processes.
 */
export type ThreadMessage =
  | { type: "answers"; answers: CheckAnswers }
  | { type: "acquire"; id: number; site: string; max: number; waitMs: number }
  | { type: "take_over"; id: number; site: string; max: number }
  | { type: "release"; site: string; hasWorked: boolean }
  | { type: "crowded"; site: string }
  | { type: "claim"; id: number; key: string }
  | { type: "settle"; key: string; answer: CatchAllAnswer; retryAfterS: number | null }
  | { type: "abandon"; key: string }
  | { type: "silent"; dial: SilentDial }
  | { type: "failed"; dial: ReportedDial }
  | { type: "candidate"; address: string }
  | { type: "reached"; dial: ReportedDial }
  | { type: "counts"; report: ThreadReport }
  | { type: "trace"; event: SmtpTraceEvent }
  | BreakerReport
  | BehaviourReport
  | { type: "drained" };

export type MainMessage =
  | { type: "check"; batch: CheckBatch }
  /** To an `acquire` or a `take_over`. */
  | { type: "granted"; id: number; granted: boolean }
  /** To a `claim`. */
  | { type: "fact"; id: number; answer: CatchAll | "ask" }
  | { type: "wanted"; site: string; soon: boolean }
  | { type: "breaker"; news: BreakerUpdate }
  | { type: "behaviour"; news: BehaviourUpdate }
  | { type: "selfCheck"; news: SelfCheckUpdate }
  | { type: "drain" };

/** The message on a thread's parent port that hands over the main thread's end. */
export interface AttachMessage {
  type: "rcpt.attach";
  port: MessagePort;
}
