import { type Board, createBoard } from "../check/board.ts";
import { type CheckThreads, startCheckThreads } from "../check/check-threads.ts";
import { loadLists, type SharedLists } from "../check/lists/lists.ts";
import { loadShaping, type OwnShaping, type Shaping } from "../check/shaping.ts";
import type { Config } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { createPaths, type Paths } from "../smtp/path.ts";
import { ownShaping } from "./shaping.ts";

/** Check threads under way, and what they share with the main thread. */
export interface BegunThreads {
  threads: CheckThreads;
  lists: SharedLists;
  board: Board;
  own: OwnShaping;
  shaping: Shaping;
  paths: Paths;
}

/**
 * Begins the check threads of a process. They take longer to be ready than all else, on cores of their own: so this needs
 * few modules, and comes before the others are read. @throws ConfigError for a wrong entry of SHAPING
 */
export function beginThreads(config: Config, log: Logger): BegunThreads {
  const own = ownShaping(config);
  const shaping = loadShaping(own);
  const paths = createPaths(config.smtp, shaping.ways);
  const board = createBoard(LIMITS.check.tasksInFlight, paths.all.length);
  const lists = loadLists();
  const setup = {
    smtp: config.smtp,
    shaping: own,
    dnsServers: config.dns.servers,
    signals: config.signals,
    lists,
    board: board.shared,
    logLevel: config.logLevel,
  };
  const threads = startCheckThreads(setup, config.verify.threads, log);
  return { threads, lists, board, own, shaping, paths };
}
