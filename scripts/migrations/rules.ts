import { actionsOf, statementsOf } from "./statements.ts";

/** Why a statement cannot run beside the code before it, which goes on while processes are replaced. */
export type Fault =
  /** The code before it still uses what goes, or has it by another name. */
  | "drops"
  | "renames"
  /** The table is rewritten, or read completely, while no other session may use it. */
  | "rewrites"
  | "validates"
  /** It refuses rows that the previous code inserts. */
  | "requires"
  /** No other session can write while the index is built. */
  | "builds an index"
  /** Rows are locked until the end of the migration. */
  | "changes rows"
  /** No other session may use the table. */
  | "locks"
  /** A second table is locked, for readers too, while the first is waited for: queries of the second wait for both. */
  | "locks a second table";

export interface Finding {
  fault: Fault;
  /** As far as it takes to find it. */
  statement: string;
}

const NAME = String.raw`(?:if (?:not )?exists )?(?:only )?("[^"]+"|[a-z_][\w.]*)`;
const CREATED = new RegExp(`^create (?:unlogged |temporary |temp )?table ${NAME}`);
const ALTERED = new RegExp(`^alter table ${NAME} (.*)$`);
const INDEXED = /^create (?:unique )?index .*? ?on (?:only )?("[^"]+"|[a-z_][\w.]*)/;
const CHANGED = new RegExp(`^(?:update|delete from) ${NAME}`);
/** Volatile defaults are computed, and written, for each row. */
const VOLATILE = /default [^,]*\b(?:clock_timestamp|timeofday|random|gen_random_uuid|uuidv[47]|nextval)\s*\(/;
const TRIGGERED = /^create (?:or replace )?(?:constraint )?trigger .*? on ("[^"]+"|[a-z_][\w.]*)/;
const REFERENCED = /\breferences ("[^"]+"|[a-z_][\w.]*)/g;
const SHOWN = 80;

function faultOfColumn(action: string): Fault | null {
  if (VOLATILE.test(action) || /\bgenerated always as\b/.test(action)) return "rewrites";
  if (/\b(?:check|references|unique|primary key)\b/.test(action)) return "validates";
  return /\bnot null\b/.test(action) && !/\bdefault\b/.test(action) ? "requires" : null;
}

/** The fault of one action of an `alter table`. */
function faultOfAction(action: string): Fault | null {
  if (/^drop (?:default|not null)\b/.test(action)) return null;
  if (/^drop\b/.test(action)) return "drops";
  if (/^rename\b/.test(action) || /^set schema\b/.test(action)) return "renames";
  if (/^alter (?:column )?\S+ (?:set data )?type\b/.test(action)) return "rewrites";
  if (/^alter (?:column )?\S+ set not null\b/.test(action)) return "requires";
  if (/^(?:set (?:un)?logged|set tablespace|set access method)\b/.test(action)) return "rewrites";
  if (/^validate constraint\b/.test(action)) return null;
  if (/^add (?:constraint|check|foreign key|unique|primary key|exclude)\b/.test(action))
    return /\bnot valid$/.test(action) || /\busing index\b/.test(action) ? null : "validates";
  return /^add\b/.test(action) ? faultOfColumn(action) : null;
}

function faultsOf(statement: string, made: ReadonlySet<string>): Fault[] {
  const altered = ALTERED.exec(statement);
  if (altered !== null) {
    if (made.has(altered[1] ?? "")) return [];
    return actionsOf(altered[2] ?? "").flatMap((action) => faultOfAction(action) ?? []);
  }
  const indexed = INDEXED.exec(statement);
  if (indexed !== null) return made.has(indexed[1] ?? "") ? [] : ["builds an index"];
  if (/^drop\b/.test(statement)) return ["drops"];
  if (/^alter \w+ .*\brename\b/.test(statement)) return ["renames"];
  const changed = CHANGED.exec(statement);
  if (changed !== null) return made.has(changed[1] ?? "") ? [] : ["changes rows"];
  return /^(?:lock|truncate|cluster|vacuum|reindex)\b/.test(statement) ? ["locks"] : [];
}

/** Tables that a statement locks, at least against writers: its own and the referenced ones, in the order of locking. */
function lockedBy(statement: string): string[] {
  const own = [ALTERED, INDEXED, CHANGED, TRIGGERED].map((pattern) => pattern.exec(statement)?.[1]);
  const pointedAt = [...statement.matchAll(REFERENCED)].map((match) => match[1]);
  return [...own, ...pointedAt].filter((table) => table !== undefined);
}

/** The table that a statement locks for readers too; null: no table. */
function shutBy(statement: string): string | null {
  const altered = ALTERED.exec(statement);
  const forWriters = /^(?:add (?:constraint \S+ )?foreign key|validate constraint)\b/;
  if (altered === null || actionsOf(altered[2] ?? "").every((action) => forWriters.test(action))) return null;
  return altered[1] ?? null;
}

/** A check of each statement in turn: whether it waits for a table while another is locked. */
function createLockRule(made: ReadonlySet<string>): (statement: string) => Fault[] {
  const shut = new Set<string>();
  return (statement) => {
    const own = shutBy(statement);
    if (own !== null && !made.has(own) && shut.size === 0) shut.add(own);
    const waitsFor = lockedBy(statement).filter((table) => !made.has(table) && !shut.has(table));
    return shut.size > 0 && waitsFor.length > 0 ? ["locks a second table"] : [];
  };
}

/**
 * Faults of a migration: what does not work together with the previous code, or blocks other sessions for a time that
 * grows with a table. A table that the migration itself creates is not in use yet: anything is allowed there.
 *
 * It reads text, not PostgreSQL's grammar. What it accepts is not proven safe; what it reports must be done in steps
 * (docs/upgrades.md).
 */
export function findFaults(sql: string): Finding[] {
  const made = new Set<string>();
  const locking = createLockRule(made);
  return statementsOf(sql).flatMap((statement) => {
    const created = CREATED.exec(statement)?.[1];
    if (created !== undefined) made.add(created);
    const faults = [...faultsOf(statement, made), ...locking(statement)];
    return faults.map((fault) => ({ fault, statement: statement.slice(0, SHOWN) }));
  });
}
