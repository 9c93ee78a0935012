import { setMaxListeners } from "node:events";
import { type ChecksConfig, loadChecksConfig } from "../config/config.ts";
import { LIMITS } from "../config/limits/limits.ts";
import type { EvidenceFinding } from "../features/verify/answer/evidence-finding.ts";
import type { VerificationAsker } from "../features/verify/answer/examine.ts";
import type { VerificationResult } from "../features/verify/answer/verification-result.ts";
import type { LifecyclePart } from "../platform/lifecycle.ts";
import { createLog, type Logger } from "../platform/log.ts";
import { mapInOrder } from "../platform/map-in-order.ts";
import { createMetrics } from "../platform/telemetry/metrics.ts";
import { systemClock } from "../platform/time/clock.ts";
import type { SmtpTraceEvent } from "../smtp/wire/trace.ts";
import { createRedis } from "../stores/redis.ts";
import { checkParts } from "./checks/check-parts.ts";
import { startThreads } from "./checks/check-threads.ts";
import { composeChecks } from "./checks/checks.ts";
import { composeExaminers } from "./checks/examiner.ts";
import type { SelfCheckStatus } from "./checks/self-check.ts";

export interface VerifyOptions {
  /** False: no mail server is asked. Default: true. */
  probe?: boolean;
  /** Adds the mail server's reply and its classification. Default: false. */
  evidence?: boolean;
  /** Aborted when the caller does not wait any more: the check ends, and the promise rejects. */
  signal?: AbortSignal;
}

/** A result, with `input` if the text had more than the address. */
export type Verified = VerificationResult & { input?: string };

/**
 * Verifies addresses in this process, without a server, a database or Redis. It has the service's engine, threads and
 * memory cache; all of them end with it.
 */
export interface Verifier {
  /**
   * The same answer as `GET /v1/verify`.
   * @param text an address, or a text with one
   * @throws AppError `overloaded` when LIMITS.check.tasksInFlight are in progress; Error when the verifier is closed
   */
  verify(text: string, options?: VerifyOptions): Promise<Verified>;
  /**
   * Verifies the texts, LIMITS.verifier.atOnce at a time, and yields the results in their order, without waiting for
   * further texts. When the caller stops reading, checks in progress are ended.
   */
  verifyAll(
    texts: Iterable<string> | AsyncIterable<string>,
    options?: VerifyOptions,
  ): AsyncGenerator<Verified>;
  /** Our sender identity, as far as preflight has checked it. */
  preflight(): SelfCheckStatus;
  /** Ends checks in progress, and the threads. Idempotent. */
  close(): Promise<void>;
}

export interface VerifierOptions {
  /**
   * Settings by their names in a deployment (docs/configuration.md): `SMTP_HELO_NAME`, `DNS_SERVERS`, `SMTP_PROXIES`,
   * `VERIFY_DEADLINE_MS` and so on. Default: the environment's.
   */
  settings?: Record<string, string | undefined>;
  /** False: preflight does not look how mail servers see us, and nothing should be probed. Default: true. */
  preflight?: boolean;
  /** Receives the SMTP traffic as it happens, with the raw bytes of mail servers. Runs one check thread then. */
  onTrace?: (event: SmtpTraceEvent) => void;
}

const ASKER: VerificationAsker = {
  teamId: "",
  probing: true,
  overlay: { isBlocked: () => false, isDisposable: () => false },
};

/** Connections that are closed: whatever shares by Redis is alone, as where Redis is away. */
function closedRedis(log: Logger) {
  const redis = createRedis({ url: "redis://127.0.0.1", name: "rcpt", log });
  redis.stop();
  return redis;
}

function composeEngine(config: ChecksConfig, onTrace: VerifierOptions["onTrace"]) {
  const log = createLog(config.logLevel, { role: "verifier" });
  const metrics = createMetrics();
  const redis = closedRedis(log);
  const begun = startThreads(config, log, onTrace !== undefined);
  const checks = composeChecks({ config, log, metrics, redis, begun, onTrace });
  const { examiner, rechecks } = composeExaminers({
    ...{ config, log, metrics, checks, stores: { redis } },
    promoted: { covers: () => false },
    deadlineMs: config.verify.deadlineMs,
  });
  return { checks, examiner, rechecks };
}

const KEEP_ALIVE_MS = 60_000;

/** A process with nothing else to do does not end while this is waited for: threads and their ports let it. */
async function keepingAlive<T>(work: T | Promise<T>): Promise<T> {
  if (!(work instanceof Promise)) return work;
  const timer = setInterval(() => {}, KEEP_ALIVE_MS);
  return work.finally(() => clearInterval(timer));
}

async function startAll(parts: readonly LifecyclePart[]): Promise<void> {
  for (const part of parts) await part.start?.();
}

async function stopAll(parts: readonly LifecyclePart[]): Promise<void> {
  for (const part of parts.toReversed()) await part.stop?.();
}

/** @throws ConfigError for a wrong setting */
export async function createVerifier(options: VerifierOptions = {}): Promise<Verifier> {
  const { settings, preflight = true, onTrace } = options;
  const loaded = loadChecksConfig(settings);
  const config = onTrace === undefined ? loaded : { ...loaded, verify: { ...loaded.verify, threads: 1 } };
  const { checks, examiner, rechecks } = composeEngine(config, onTrace);
  const parts = checkParts(checks).filter(({ name }) => preflight || name !== "self-check");
  await keepingAlive(startAll(parts));
  let closing: Promise<void> | null = null;

  async function verify(text: string, asked: VerifyOptions = {}): Promise<Verified> {
    const { probe = true, evidence = false, signal } = asked;
    signal?.throwIfAborted();
    if (closing !== null) throw new Error("The verifier is closed.");
    const question = examiner.understand(text, evidence, { ...ASKER, probing: probe, declined: !probe });
    // A signal may outlive many checks: each takes its listener back.
    const ended = new AbortController();
    const waiter = {
      startedMs: systemClock.monotonic(),
      cancelled: () => signal?.aborted === true,
      onCancel: (callback: () => void) =>
        signal?.addEventListener("abort", callback, { once: true, signal: ended.signal }),
    };
    const arrival = { settled: (found: EvidenceFinding) => found, failed: () => {} };
    const finding = await keepingAlive(examiner.find(question, false, waiter, arrival)).finally(() =>
      ended.abort(),
    );
    signal?.throwIfAborted();
    const { result } = examiner.answer(question, finding);
    return question.unwrapped ? { ...result, input: text } : result;
  }

  async function* verifyAll(
    texts: Iterable<string> | AsyncIterable<string>,
    asked: VerifyOptions = {},
  ): AsyncGenerator<Verified> {
    const left = new AbortController();
    const signal = AbortSignal.any(asked.signal === undefined ? [left.signal] : [asked.signal, left.signal]);
    // Each check in progress listens to the signal, and so does the reader of texts: there may be more than ten listeners.
    setMaxListeners(0, signal);
    try {
      yield* mapInOrder(texts, (text) => verify(text, { ...asked, signal }), {
        atOnce: LIMITS.verifier.atOnce,
        signal,
      });
    } finally {
      left.abort(new Error("the results are not read any more"));
    }
  }

  return {
    verify,
    verifyAll,
    preflight: () => checks.selfCheck.status(),
    close() {
      closing ??= keepingAlive(
        (async () => {
          await rechecks.stop();
          await stopAll(parts);
        })(),
      );
      return closing;
    },
  };
}
