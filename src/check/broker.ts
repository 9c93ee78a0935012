import type { MessagePort } from "node:worker_threads";
import type { Clock } from "../core/clock.ts";
import type { SlotSource } from "../smtp/slots.ts";
import type { BehaviourAuthority } from "./belief/authority.ts";
import { attachBehaviourThread as attachBeliefs, type BehaviourThread } from "./belief/thread-end.ts";
import type { BreakerAuthority } from "./breaker/authority.ts";
import { attachBreakerThread, type BreakerThread } from "./breaker/thread-end.ts";
import type { CatchAllFacts } from "./catch-all.ts";
import type { SelfCheckUpdate } from "./house/report.ts";
import { MessageBatcher, receiveBatches } from "./message-batcher.ts";
import type { NetworkReports } from "./network-health.ts";
import type { ThreadReport } from "./thread-counts.ts";
import type { MainMessage, ThreadMessage } from "./thread-link.ts";
import { createThreadSlots, type ThreadSlots } from "./thread-slots.ts";

/**
 * The main thread's end of the lines to the check threads: hands out connection slots and catch-all answers, gathers
 * what threads see of the network. What a thread holds is on record here, so that a thread that dies gives
 * everything back: its slots go to the next waiter, its unanswered catch-all claims are abandoned.
 */
export interface Broker {
  /** Takes over a thread's port. It is forgotten, and what it held is freed, when the port closes. */
  attach(port: MessagePort): void;
  /** Tells every thread, also those to come, what preflight found. */
  publishSelfCheck(news: SelfCheckUpdate): void;
  /** Asks every thread to finish and close its sessions; resolves when all have, or are gone. */
  drain(): Promise<void>;
  /** SMTP sessions of all threads that are there, as each last told. */
  sessionsOpen(): number;
}

export interface BrokerDeps {
  clock: Clock;
  slots: SlotSource;
  /** A thread met a limit of connections. */
  onCrowded(site: string): void;
  facts: CatchAllFacts;
  health: NetworkReports;
  breakers: BreakerAuthority;
  behaviours: BehaviourAuthority;
  onCounts(report: ThreadReport): void;
}

interface Thread {
  send(message: MainMessage): void;
  slots: ThreadSlots;
  claimedKeys: Set<string>;
  breakers: BreakerThread;
  behaviours: BehaviourThread;
  sessionsOpen: number;
  isClosed: boolean;
  onDrained: (() => void) | null;
}

export function createBroker(deps: BrokerDeps): Broker {
  const threads = new Set<Thread>();
  let house: SelfCheckUpdate | null = null;
  const slots = createThreadSlots(deps.slots, deps.clock);

  async function acquire(
    thread: Thread,
    message: Extract<ThreadMessage, { type: "acquire" }>,
  ): Promise<void> {
    const granted = await thread.slots.acquire(message);
    if (thread.isClosed) return;
    thread.send({ type: "granted", id: message.id, granted });
  }

  async function claim(thread: Thread, id: number, key: string): Promise<void> {
    const answer = await deps.facts.claim(key);
    if (answer === "ask" && thread.isClosed) return deps.facts.abandon(key);
    if (answer === "ask") thread.claimedKeys.add(key);
    thread.send({ type: "fact", id, answer });
  }

  function receive(thread: Thread, message: ThreadMessage): void {
    switch (message.type) {
      case "acquire":
        void acquire(thread, message);
        break;
      case "release":
        thread.slots.release(message.site);
        break;
      case "foresee":
        deps.facts.prefetch(message.key);
        break;
      case "crowded":
        deps.onCrowded(message.site);
        break;
      case "claim":
        void claim(thread, message.id, message.key);
        break;
      case "settle":
        if (thread.claimedKeys.delete(message.key))
          deps.facts.settle(message.key, message.answer, message.retryAfterS);
        break;
      case "abandon":
        if (thread.claimedKeys.delete(message.key)) deps.facts.abandon(message.key);
        break;
      case "silent":
        deps.health.onSilent(message.dial);
        break;
      case "failed":
        deps.health.onFailed(message.dial);
        break;
      case "reached":
        deps.health.onReached(message.dial);
        break;
      case "candidate":
        deps.health.addCandidate(message.address);
        break;
      case "counts":
        thread.sessionsOpen = message.report.sessionsOpen;
        deps.onCounts(message.report);
        break;
      case "blocked":
      case "passed":
      case "trial":
      case "tried":
        thread.breakers.receive(message);
        break;
      case "refused":
      case "controlled":
      case "accepted":
      case "refuses":
        thread.behaviours.receive(message);
        break;
      case "drained":
        thread.onDrained?.();
        break;
      default:
        // The compiler's: whoever adds a message finds this place.
        message satisfies never;
    }
  }

  function forget(thread: Thread): void {
    thread.isClosed = true;
    threads.delete(thread);
    thread.slots.close();
    for (const key of thread.claimedKeys) deps.facts.abandon(key);
    thread.breakers.close();
    thread.behaviours.close();
    thread.onDrained?.();
  }

  return {
    attach(port) {
      const mailbag = new MessageBatcher<MainMessage>(port);
      const send = (message: MainMessage) => mailbag.send(message);
      const thread: Thread = {
        send,
        slots: slots.attach((site, soon) => send({ type: "wanted", site, soon })),
        claimedKeys: new Set(),
        breakers: attachBreakerThread(deps.breakers, (news) => send({ type: "breaker", news })),
        behaviours: attachBeliefs(deps.behaviours, (news) => send({ type: "belief", news })),
        sessionsOpen: 0,
        isClosed: false,
        onDrained: null,
      };
      threads.add(thread);
      if (house !== null) send({ type: "house", news: house });
      receiveBatches(port, (message: ThreadMessage) => receive(thread, message));
      port.on("close", () => forget(thread));
      port.unref();
    },
    publishSelfCheck(news) {
      house = news;
      for (const thread of threads) thread.send({ type: "house", news });
    },
    sessionsOpen() {
      let open = 0;
      for (const thread of threads) open += thread.sessionsOpen;
      return open;
    },
    async drain() {
      await Promise.all(
        [...threads].map(
          (thread) =>
            new Promise<void>((resolve) => {
              thread.onDrained = resolve;
              thread.send({ type: "drain" });
            }),
        ),
      );
    },
  };
}
