import { type Board, createBoard } from "../check/board.ts";
import { createBroker } from "../check/broker.ts";
import { createCatchAllFacts } from "../check/catch-all.ts";
import { createEgressSlots, type EgressSlots } from "../check/egress-slots.ts";
import { compileLists, type SharedLists } from "../check/lists/lists.ts";
import { createNetworkHealth } from "../check/network-health.ts";
import { type CheckPool, createCheckPool } from "../check/pool.ts";
import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { type Metrics, observeEngine } from "../core/metrics.ts";
import { createCatchAllStore } from "../store/evidence-cache.ts";
import type { RedisClients } from "../store/redis.ts";
import { createSlotLeases } from "../store/slot-leases.ts";

export interface Checks {
  pool: CheckPool;
  lists: SharedLists;
  slots: EgressSlots;
}

/** The check engine of a process: threads, what they share, and what they ask of the main thread. */
export function composeChecks(deps: {
  config: Config;
  log: Logger;
  metrics: Metrics;
  redis: RedisClients;
}): Checks {
  const { config, log, metrics, redis } = deps;
  const clock = systemClock;
  const lists = compileLists();
  const board = createBoard(LIMITS.check.tasksInFlight);
  const leases = createSlotLeases(redis, config.smtp.egressId, log);
  const slots = createEgressSlots({ leases, clock, log });
  const broker = createBroker({
    slots,
    facts: createCatchAllFacts(clock, createCatchAllStore(redis.commands)),
    health: watchNetwork(board, log, metrics),
    onCounts(probes, sessionsOpened) {
      metrics.sessionsOpened.inc(sessionsOpened);
      for (const [key, count] of Object.entries(probes)) {
        const [provider = "", outcome = ""] = key.split(" ");
        metrics.probes.inc({ provider, outcome }, count);
      }
    },
  });
  const setup = {
    smtp: config.smtp,
    dnsServers: config.dns.servers,
    lists,
    board: board.shared,
    logLevel: config.logLevel,
  };
  const pool = createCheckPool({ threads: config.verify.threads, setup, board, broker, log });
  observeEngine(metrics, () => {
    const { held, waiting } = slots.stats();
    return { checksInFlight: pool.inFlight, slotsHeld: held, slotWaiters: waiting };
  });
  return { lists, pool, slots };
}

function watchNetwork(board: Board, log: Logger, metrics: Metrics) {
  return createNetworkHealth(systemClock, (state) => {
    board.setNetwork(state);
    metrics.networkDown.set(state === "down" ? 1 : 0);
    if (state === "down") log.error("no mail server can be reached from here: is outbound port 25 open?");
    if (state === "fine") log.info("mail servers can be reached");
  });
}
