import type { ChecksConfig } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { loadShaping, type OperatorShaping, type Shaping } from "../../egress/shaping.ts";
import { createSharedBoard, type SharedBoard } from "../../egress/shared-board.ts";
import { type CheckThreads, startCheckThreads } from "../../engine/threads/check-threads.ts";
import type { Logger } from "../../platform/log.ts";
import { createEgressRoutes, type EgressRoutes } from "../../smtp/wire/egress-routes.ts";
import { loadLists, type SharedLists } from "../../verification/lists/lists.ts";
import { ownShaping } from "./shaping.ts";

/** Started check threads, and the memory they share with the main thread. */
export interface StartedThreads {
  threads: CheckThreads;
  lists: SharedLists;
  board: SharedBoard;
  ownShaping: OperatorShaping;
  shaping: Shaping;
  paths: EgressRoutes;
}

/**
 * Begins the check threads of a process. They take longer to be ready than all else, on cores of their own: so this needs
 * few modules, and comes before the others are read. @throws ConfigError for a wrong entry of SHAPING
 */
export function startThreads(config: ChecksConfig, log: Logger, isSmtpTraced = false): StartedThreads {
  const own = ownShaping(config);
  const shaping = loadShaping(own);
  const paths = createEgressRoutes(config.smtp, shaping.routes);
  const board = createSharedBoard(LIMITS.check.tasksInFlight, paths.all.length);
  const lists = loadLists();
  const setup = {
    smtp: config.smtp,
    shaping: own,
    dnsServers: config.dns.servers,
    signals: config.signals,
    lists,
    board: board.shared,
    logLevel: config.logLevel,
    isSmtpTraced,
  };
  const threads = startCheckThreads(setup, config.verify.threads, log);
  return { threads, lists, board, ownShaping: own, shaping, paths };
}
