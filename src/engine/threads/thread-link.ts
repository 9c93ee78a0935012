import type { MessagePort } from "node:worker_threads";
import { LRUCache } from "lru-cache";
import { LIMITS } from "../../config/limits/limits.ts";
import type { BreakerUpdate } from "../../egress/breaker/messages.ts";
import type { BreakerPort } from "../../egress/breaker/mirror.ts";
import type { NetworkReports } from "../../egress/network-health.ts";
import type { SelfCheckUpdate } from "../../egress/self-check/report.ts";
import { OpenQuestions } from "../../platform/open-questions.ts";
import type { ThreadSlotSource } from "../../smtp/pool/slots.ts";
import type { SmtpTraceEvent } from "../../smtp/wire/trace.ts";
import type { CatchAllFacts } from "../../verification/catch-all.ts";
import type { CatchAll } from "../../verification/evidence.ts";
import type { RouteTrust } from "../engine.ts";
import type { BehaviourUpdate } from "../learned-behaviour/messages.ts";
import type { BehaviourPort } from "../learned-behaviour/mirror.ts";
import type { CheckTaskRunner } from "./check-task-runner.ts";
import { MessageBatcher, receiveBatches } from "./message-batcher.ts";
import { ThreadCatchAllFacts } from "./thread-catch-all.ts";
import type { ThreadReport } from "./thread-counts.ts";
import type { MainMessage, ThreadMessage } from "./thread-messages.ts";

/** The main thread's requests to a check thread. */
export interface ThreadWork {
  runner: Pick<CheckTaskRunner, "start" | "takeAnswers">;
  /** Closes all sessions. */
  drain(): Promise<void>;
}

/** A check thread's end of its port to the main thread, see `ThreadMessage`. The main thread's end is `broker.ts`. */
export class ThreadLink {
  readonly #outbox: MessageBatcher<ThreadMessage>;
  readonly #grants = new OpenQuestions<boolean>();
  readonly #claims = new OpenQuestions<CatchAll | "ask">();
  readonly #crowded = new LRUCache<string, true>({
    max: LIMITS.learned.sites,
    ttl: LIMITS.learned.crowdedEveryMs,
  });
  #selfCheck: SelfCheckUpdate = { distrusted: [], seenAs: {} };
  #work: ThreadWork | null = null;
  #onWanted: (site: string, soon: boolean) => void = () => {};
  #onBreaker: (news: BreakerUpdate) => void = () => {};
  #onBehaviour: (news: BehaviourUpdate) => void = () => {};

  readonly slots: ThreadSlotSource;
  readonly facts: CatchAllFacts;
  readonly reach: NetworkReports;
  readonly breaker: BreakerPort;
  readonly behaviours: BehaviourPort;
  /** The result of the last self-check for each route. */
  readonly routeTrust: RouteTrust = { trusts: (path) => !this.#selfCheck.distrusted.includes(path) };

  constructor(port: MessagePort) {
    this.#outbox = new MessageBatcher(port, () => this.#gathered());
    const post = (message: ThreadMessage) => this.#outbox.send(message);
    const postLater = (message: ThreadMessage) => this.#outbox.sendLater(message);
    this.slots = {
      acquire: (site, max, waitMs) =>
        this.#grants.ask((id) => post({ type: "acquire", id, site, max, waitMs })),
      takeOver: (site, max) => this.#grants.ask((id) => post({ type: "take_over", id, site, max })),
      release: (site, hasWorked = false) => post({ type: "release", site, hasWorked }),
      onWanted: (listener) => {
        this.#onWanted = listener;
      },
    };
    this.facts = new ThreadCatchAllFacts(post, this.#claims);
    this.reach = {
      onSilent: (dial) => post({ type: "silent", dial }),
      onFailed: (dial) => post({ type: "failed", dial }),
      addCandidate: (address) => post({ type: "candidate", address }),
      onReached: (dial) => postLater({ type: "reached", dial }),
    };
    this.breaker = {
      report: post,
      listen: (listener) => {
        this.#onBreaker = listener;
      },
    };
    this.behaviours = {
      report: post,
      reportLater: postLater,
      listen: (listener) => {
        this.#onBehaviour = listener;
      },
    };
    receiveBatches(port, (message: MainMessage) => this.#receive(message));
  }

  /** Starts to serve the main thread's requests. Call it before the main thread has the port's other end. */
  serve(work: ThreadWork): void {
    this.#work = work;
  }

  /** The runner has answers: they leave with the other messages of this tick. */
  onAnswers(): void {
    this.#outbox.flushSoon();
  }

  /** Too many connections are open to `site`, a key of slots: reported at most once in `LIMITS.learned.crowdedEveryMs`. */
  reportCrowded(site: string): void {
    if (this.#crowded.get(site)) return;
    this.#crowded.set(site, true);
    this.#outbox.send({ type: "crowded", site });
  }

  sendTrace(event: SmtpTraceEvent): void {
    this.#outbox.send({ type: "trace", event });
  }

  sendCounts(report: ThreadReport): void {
    this.#outbox.sendLater({ type: "counts", report });
  }

  /** The address that mail servers see us come from over a route, as far as preflight knows. */
  seenAs(path: string): string | null {
    return this.#selfCheck.seenAs[path] ?? null;
  }

  #gathered(): ThreadMessage | null {
    const answers = this.#work?.runner.takeAnswers() ?? null;
    return answers === null ? null : { type: "answers", answers };
  }

  #receive(message: MainMessage): unknown {
    switch (message.type) {
      case "check":
        return this.#work?.runner.start(message.batch);
      case "granted":
        return this.#grants.answer(message.id, message.granted);
      case "fact":
        return this.#claims.answer(message.id, message.answer);
      case "wanted":
        return this.#onWanted(message.site, message.soon);
      case "breaker":
        return this.#onBreaker(message.news);
      case "behaviour":
        return this.#onBehaviour(message.news);
      case "selfCheck":
        this.#selfCheck = message.news;
        return;
      case "drain":
        return void this.#work?.drain().finally(() => this.#outbox.send({ type: "drained" }));
    }
  }
}
