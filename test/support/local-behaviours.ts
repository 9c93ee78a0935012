import {
  type BehaviourAuthority,
  type BehaviourSuspicion,
  createBehaviourAuthority,
} from "../../src/engine/learned-behaviour/authority.ts";
import type {
  BehaviourEvent,
  BehaviourStore,
  SharedBehaviour,
} from "../../src/engine/learned-behaviour/known-behaviours.ts";
import type { BehaviourUpdate } from "../../src/engine/learned-behaviour/messages.ts";
import { createSiteBehaviours, type SiteBehaviours } from "../../src/engine/learned-behaviour/mirror.ts";
import {
  attachBehaviourThread,
  type BehaviourThread,
} from "../../src/engine/learned-behaviour/thread-end.ts";
import type { Clock } from "../../src/platform/time/clock.ts";
import { silentLog } from "./store.ts";

/** The store of learned behaviours that processes share, in memory instead of Redis. */
export function memoryBehaviourStore(): BehaviourStore & { shared: Map<string, SharedBehaviour> } {
  const shared = new Map<string, SharedBehaviour>();
  return {
    shared,
    load: async () => [...shared.values()],
    put: async (behaviour) => void shared.set(behaviour.site, behaviour),
  };
}

export interface LocalBehaviours {
  authority: BehaviourAuthority;
  events: BehaviourEvent[];
  suspicions: BehaviourSuspicion[];
}

/** The learned behaviours of one process; `google` is a known provider. @param random draws the domains to ask */
export function createLocalBehaviours(
  clock: Clock,
  store: BehaviourStore = memoryBehaviourStore(),
  random: () => number = () => 0,
): LocalBehaviours {
  const events: BehaviourEvent[] = [];
  const suspicions: BehaviourSuspicion[] = [];
  const onChange = (event: BehaviourEvent) => void events.push(event);
  const authority = createBehaviourAuthority({
    ...{ clock, log: silentLog, store, onChange, random },
    isProvider: (site) => site === "google",
    onSuspect: (suspicion) => void suspicions.push(suspicion),
  });
  return { authority, events, suspicions };
}

/** A thread's copy of them, updated without messages. */
export function createLocalBehaviourMirror(
  authority: BehaviourAuthority,
  clock: Clock,
): { behaviours: SiteBehaviours; end: BehaviourThread } {
  let heard: (news: BehaviourUpdate) => void = () => {};
  let end: BehaviourThread | null = null;
  const behaviours = createSiteBehaviours(clock, {
    report: (report) => end?.receive(report),
    reportLater: (report) => end?.receive(report),
    listen(listener) {
      heard = listener;
    },
  });
  end = attachBehaviourThread(authority, (news) => heard(news));
  return { behaviours, end };
}
