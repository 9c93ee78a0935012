import {
  type BeliefAuthority,
  type BeliefEvent,
  type BeliefStore,
  type BeliefSuspicion,
  createBeliefAuthority,
  type SharedBelief,
} from "../../src/check/belief/authority.ts";
import type { BeliefNews } from "../../src/check/belief/messages.ts";
import { type Beliefs, createBeliefs } from "../../src/check/belief/mirror.ts";
import { attachThread, type BeliefThread } from "../../src/check/belief/thread-end.ts";
import type { Clock } from "../../src/core/clock.ts";
import { silentLog } from "./store.ts";

/** What processes share, without Redis. */
export function memoryBeliefStore(): BeliefStore & { shared: Map<string, SharedBelief> } {
  const shared = new Map<string, SharedBelief>();
  return {
    shared,
    load: async () => [...shared.values()],
    put: async (belief) => void shared.set(belief.site, belief),
  };
}

export interface LocalBeliefs {
  authority: BeliefAuthority;
  events: BeliefEvent[];
  suspicions: BeliefSuspicion[];
}

/** The beliefs of a process by themselves, to whom `google` is a provider's name. @param random as it draws domains */
export function createLocalBeliefs(
  clock: Clock,
  store: BeliefStore = memoryBeliefStore(),
  random: () => number = () => 0,
): LocalBeliefs {
  const events: BeliefEvent[] = [];
  const suspicions: BeliefSuspicion[] = [];
  const onChange = (event: BeliefEvent) => void events.push(event);
  const authority = createBeliefAuthority({
    ...{ clock, log: silentLog, store, onChange, random },
    isProvider: (site) => site === "google",
    onSuspect: (suspicion) => void suspicions.push(suspicion),
  });
  return { authority, events, suspicions };
}

/** A thread's end of them, without messages in between. */
export function createLocalBeliefMirror(
  authority: BeliefAuthority,
  clock: Clock,
): { beliefs: Beliefs; end: BeliefThread } {
  let heard: (news: BeliefNews) => void = () => {};
  let end: BeliefThread | null = null;
  const beliefs = createBeliefs(clock, {
    report: (report) => end?.receive(report),
    note: (report) => end?.receive(report),
    listen(listener) {
      heard = listener;
    },
  });
  end = attachThread(authority, (news) => heard(news));
  return { beliefs, end };
}
