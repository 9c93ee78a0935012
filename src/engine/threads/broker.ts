import type { MessagePort } from "node:worker_threads";
import type { BreakerAuthority } from "../../egress/breaker/authority.ts";
import { attachBreakerThread, type BreakerThread } from "../../egress/breaker/thread-end.ts";
import type { NetworkReports } from "../../egress/network-health.ts";
import type { SelfCheckUpdate } from "../../egress/self-check/report.ts";
import type { Clock } from "../../platform/time/clock.ts";
import type { SlotSource } from "../../smtp/pool/slots.ts";
import type { SmtpTraceEvent } from "../../smtp/wire/trace.ts";
import type { CatchAllFacts } from "../../verification/catch-all.ts";
import type { BehaviourAuthority } from "../learned-behaviour/authority.ts";
import { attachBehaviourThread, type BehaviourThread } from "../learned-behaviour/thread-end.ts";
import type { CheckBatches, CheckThread } from "./check-batches.ts";
import { MessageBatcher, receiveBatches } from "./message-batcher.ts";
import type { ThreadReport } from "./thread-counts.ts";
import type { MainMessage, ThreadMessage } from "./thread-messages.ts";
import { createThreadSlots, type SharedThreadSlots, type ThreadSlots } from "./thread-slots.ts";

/**
 * The main thread's end of the ports to the check threads: passes checks on, hands out connection slots and catch-all
 * answers, and gathers the threads' reports on the network. It records what each thread holds, so that a dead thread gives
 * everything back: its slots go to the next waiter, its unanswered catch-all claims are abandoned.
 */
export interface Broker {
  /** Takes over a thread's port. When the port closes, the thread is forgotten, and all it held is freed. */
  attach(port: MessagePort): void;
  /** Sends preflight's result to every thread, also to later ones. */
  publishSelfCheck(news: SelfCheckUpdate): void;
  /** Asks every thread to finish and close its sessions; resolves when all have, or are gone. */
  drain(): Promise<void>;
  /** SMTP sessions of all running threads, as each last reported. */
  sessionsOpen(): number;
}

export interface BrokerDeps {
  clock: Clock;
  checks: Pick<CheckBatches, "attach">;
  slots: SlotSource;
  /** A thread met a limit of connections. */
  onCrowded(site: string): void;
  facts: CatchAllFacts;
  health: NetworkReports;
  breakers: BreakerAuthority;
  behaviours: BehaviourAuthority;
  onCounts(report: ThreadReport): void;
  /** Absent: threads are not traced. */
  onTrace?: ((event: SmtpTraceEvent) => void) | undefined;
}

export function createBroker(deps: BrokerDeps): Broker {
  const threads = new Set<BrokeredThread>();
  let selfCheck: SelfCheckUpdate | null = null;
  const slots = createThreadSlots(deps.slots, deps.clock);
  return {
    attach(port) {
      const thread = new BrokeredThread(deps, slots, port);
      threads.add(thread);
      if (selfCheck !== null) thread.send({ type: "selfCheck", news: selfCheck });
      port.on("close", () => {
        threads.delete(thread);
        thread.close();
      });
    },
    publishSelfCheck(news) {
      selfCheck = news;
      for (const thread of threads) thread.send({ type: "selfCheck", news });
    },
    sessionsOpen() {
      let open = 0;
      for (const thread of threads) open += thread.sessionsOpen;
      return open;
    },
    async drain() {
      await Promise.all([...threads].map((thread) => thread.drain()));
    },
  };
}

class BrokeredThread {
  readonly #deps: BrokerDeps;
  readonly #outbox: MessageBatcher<MainMessage>;
  readonly #checks: CheckThread;
  readonly #slots: ThreadSlots;
  readonly #claimedKeys = new Set<string>();
  readonly #breakers: BreakerThread;
  readonly #behaviours: BehaviourThread;
  sessionsOpen = 0;
  #isClosed = false;
  #onDrained: (() => void) | null = null;

  constructor(deps: BrokerDeps, slots: SharedThreadSlots, port: MessagePort) {
    this.#deps = deps;
    this.#outbox = new MessageBatcher(port);
    receiveBatches(port, (message: ThreadMessage) => this.#receive(message));
    port.unref();
    const send = (message: MainMessage) => this.send(message);
    this.#slots = slots.attach((site, soon) => send({ type: "wanted", site, soon }));
    this.#breakers = attachBreakerThread(deps.breakers, (news) => send({ type: "breaker", news }));
    this.#behaviours = attachBehaviourThread(deps.behaviours, (news) => send({ type: "behaviour", news }));
    this.#checks = deps.checks.attach({ send, setBusy: (isBusy) => (isBusy ? port.ref() : port.unref()) });
  }

  send(message: MainMessage): void {
    this.#outbox.send(message);
  }

  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      this.send({ type: "drain" });
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#checks.close();
    this.#slots.close();
    for (const key of this.#claimedKeys) this.#deps.facts.abandon(key);
    this.#breakers.close();
    this.#behaviours.close();
    this.#onDrained?.();
  }

  async #grant(id: number, request: Promise<boolean>): Promise<void> {
    const granted = await request;
    if (!this.#isClosed) this.send({ type: "granted", id, granted });
  }

  async #claim(id: number, key: string): Promise<void> {
    const answer = await this.#deps.facts.claim(key);
    if (answer === "ask" && this.#isClosed) return this.#deps.facts.abandon(key);
    if (answer === "ask") this.#claimedKeys.add(key);
    this.send({ type: "fact", id, answer });
  }

  #receive(message: ThreadMessage): unknown {
    const { facts, health } = this.#deps;
    switch (message.type) {
      case "answers":
        return this.#checks.onAnswers(message.answers);
      case "acquire":
        return void this.#grant(message.id, this.#slots.acquire(message));
      case "take_over":
        return void this.#grant(message.id, this.#slots.takeOver(message.site, message.max));
      case "release":
        return this.#slots.release(message.site, message.hasWorked);
      case "crowded":
        return this.#deps.onCrowded(message.site);
      case "claim":
        return void this.#claim(message.id, message.key);
      case "settle":
        if (this.#claimedKeys.delete(message.key))
          facts.settle(message.key, message.answer, message.retryAfterS);
        return;
      case "abandon":
        if (this.#claimedKeys.delete(message.key)) facts.abandon(message.key);
        return;
      case "silent":
        return health.onSilent(message.dial);
      case "failed":
        return health.onFailed(message.dial);
      case "reached":
        return health.onReached(message.dial);
      case "candidate":
        return health.addCandidate(message.address);
      case "counts":
        this.sessionsOpen = message.report.sessionsOpen;
        return this.#deps.onCounts(message.report);
      case "trace":
        return this.#deps.onTrace?.(message.event);
      case "blocked":
      case "passed":
      case "trial":
      case "tried":
        return this.#breakers.receive(message);
      case "refused":
      case "controlled":
      case "accepted":
      case "refuses":
        return this.#behaviours.receive(message);
      case "drained":
        return this.#onDrained?.();
      default:
        // A message type without a case does not compile.
        return message satisfies never;
    }
  }
}
