import { type LookupAddress, lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { performance } from "node:perf_hooks";
import { LIMITS } from "../../config/limits/limits.ts";

type Resolve = (
  name: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type Known = { addresses: LookupAddress[]; untilMs: number };
type Waiter = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/**
 * Resolves proxies that are configured by name, for `connect`. It uses the host's own resolver, which knows the host's
 * files and containers. A look-up takes one of four threads that files and TLS also need, so a thousand tunnels must not
 * start one each: concurrent callers share a look-up, and an answer is cached for `LIMITS.smtp.proxyNameMs`; failures are
 * not. Names come from the settings, which bounds the cache.
 */
export function createProxyLookup(
  resolve: Resolve = lookup,
  nowMs: () => number = () => performance.now(),
): LookupFunction {
  const known = new Map<string, Known>();
  const waiting = new Map<string, Waiter[]>();

  function ask(name: string, waiter: Waiter): void {
    const others = waiting.get(name);
    if (others !== undefined) {
      others.push(waiter);
      return;
    }
    const all = [waiter];
    waiting.set(name, all);
    resolve(name, { all: true }, (error, addresses) => {
      waiting.delete(name);
      if (error === null && addresses.length > 0)
        known.set(name, { addresses, untilMs: nowMs() + LIMITS.smtp.proxyNameMs });
      for (const one of all) one(error, addresses);
    });
  }

  return (name, options, callback) => {
    const answer: Waiter = (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) callback(error ?? new Error("no address"), []);
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    };
    const fresh = known.get(name);
    if (fresh !== undefined && fresh.untilMs > nowMs())
      return void process.nextTick(answer, null, fresh.addresses);
    ask(name, answer);
  };
}
