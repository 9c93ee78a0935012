import type { SourceFile } from "typescript/unstable/ast";
import { templatesOf } from "./syntax.ts";

/**
 * Subselects that lock rows or are limited, in the SQL of a source.
 *
 * The planner may execute `update … where id in (select … limit 1000 for update)` as a nested loop, which runs the
 * subselect once for each row of the table. It does so once the plan is generic. Each run finds other rows, because of
 * `skip locked` or because the first ones have changed, and so all rows are taken. A CTE that is `materialized` runs
 * once, whatever the plan.
 */

/**
 * Context of a subselect. `materialized`: in such a CTE, or joined laterally within one; `membership`: operand of `in`,
 * `any` or similar; `expression`: in other parentheses; `fragment`: of a statement that is not in the source text;
 * `statement`: it is a statement itself.
 */
export type Holder =
  | "materialized"
  | "cte"
  | "lateral"
  | "membership"
  | "expression"
  | "fragment"
  | "statement";

export interface Subselect {
  holder: Holder;
  locks: boolean;
  /** Index of the clause that locks or limits. */
  index: number;
}

const CLAUSES =
  /\bfor\s+(?<locks>(?:no\s+key\s+)?update|(?:key\s+)?share)\b|\b(?:limit|offset)\s+(?:[$(\d]|(?:\w+\.\w|p_|v_|greatest|least))|\bfetch\s+(?:first|next)\b/gi;
const HOLDERS: readonly [Holder, RegExp][] = [
  ["materialized", /\bas\s+materialized\s*$/i],
  ["cte", /\bas(\s+not\s+materialized)?\s*$/i],
  ["lateral", /\blateral\s*$/i],
  ["membership", /(?<!\b(union|intersect|except)\s+)\b(in|any|all|some)\s*\(*\s*$/i],
];
const STATEMENT = /^\s*\(?\s*(select|with|insert|update|delete|merge|create|alter|declare|explain)\b/i;

/** The SQL with blanks in place of quoted strings and comments. */
function bare(sql: string): string {
  return sql.replaceAll(/'[^']*'|--[^\n]*|\/\*[\s\S]*?\*\//g, (token) => token.replaceAll(/[^\n]/g, " "));
}

/** Index of the parenthesis that encloses `index`, or -1. */
function openedAt(sql: string, index: number): number {
  let depth = 0;
  for (let i = index - 1; i >= 0; i--) {
    if (sql[i] === ")") depth++;
    else if (sql[i] === "(" && depth-- === 0) return i;
  }
  return -1;
}

function holderOf(sql: string, index: number): Holder {
  const open = openedAt(sql, index);
  if (open < 0) return STATEMENT.test(sql) ? "statement" : "fragment";
  const before = sql.slice(0, open);
  const holder = HOLDERS.find(([, pattern]) => pattern.test(before))?.[0] ?? "expression";
  // It runs once for each row that it is joined to: few rows in a CTE, but all rows of the table in a statement.
  return holder === "lateral" && holderOf(sql, open) === "materialized" ? "materialized" : holder;
}

/** @param sql statements, or the body of a function */
export function subselectsOf(sql: string): Subselect[] {
  const text = bare(sql);
  return [...text.matchAll(CLAUSES)].map(({ index, groups }) => ({
    holder: holderOf(text, index),
    locks: groups?.locks !== undefined,
    index,
  }));
}

/** Released migrations are never changed; a test looks at the functions that are in force after all of them. */
const RELEASED = /^src\/stores\/postgres\/migrations\/0001-to-0015\//;

/** Lines of a source where a subselect may run more than once, and why. */
export function repeatableSubselects(path: string, file: SourceFile): { line: number; why: string }[] {
  if (RELEASED.test(path)) return [];
  return templatesOf(file).flatMap(({ start, text }) =>
    subselectsOf(text).flatMap(({ holder, locks, index }) => {
      const why = objection(holder, locks);
      return why === null ? [] : [{ line: file.text.slice(0, start + index).split("\n").length, why }];
    }),
  );
}

function objection(holder: Holder, locks: boolean): string | null {
  if (locks && holder === "fragment")
    return "writes a lock outside of its statement, where the reader does not see what it is part of";
  if (locks && holder !== "materialized" && holder !== "statement")
    return "locks rows in a subselect: take them in a CTE `as materialized (…)`, which runs once whatever the plan";
  if (!locks && holder === "membership")
    return "limits a subselect of `in (…)`: take its rows in a CTE `as materialized (…)`, which runs once whatever the plan";
  return null;
}
