import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { NetworkState } from "./board.ts";

/**
 * Tells "that server does not answer" from "nothing answers from here" (port 25 closed by the provider, no route).
 *
 * Every attempt to connect to a site whose MX records say that it receives mail is reported. When failures of
 * distinct sites add up to `suspicion` within `windowMs` and not one attempt succeeded, our network is down: checks
 * answer `our_network` at once, and one trial probe every `trialEveryS` finds out when it is back. A site of a
 * known provider counts double: Google does not go away, so two of those are proof enough. One success ends it.
 */
export interface NetworkHealth {
  connected(): void;
  failed(site: string, provider: string | null): void;
}

export function createNetworkHealth(clock: Clock, onChange: (state: NetworkState) => void): NetworkHealth {
  const { windowMs, suspicion, sitesRemembered } = LIMITS.network;
  const failures = new Map<string, { at: number; weight: number }>();
  let state: NetworkState = "fine";

  function become(next: NetworkState): void {
    if (state === next) return;
    state = next;
    onChange(state);
  }

  return {
    connected() {
      failures.clear();
      become("fine");
    },
    failed(site, provider) {
      const now = clock.monotonic();
      failures.delete(site);
      failures.set(site, { at: now, weight: provider === null ? 1 : 2 });
      if (failures.size > sitesRemembered) failures.delete(failures.keys().next().value ?? site);
      let weight = 0;
      for (const failure of failures.values()) if (now - failure.at <= windowMs) weight += failure.weight;
      if (weight >= suspicion) become("down");
      else if (state === "fine") become("suspected");
    },
  };
}
