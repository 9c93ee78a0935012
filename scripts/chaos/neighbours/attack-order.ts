/** Order to an attacking process, as JSON on its standard input. */
export interface AttackOrder {
  /** Name in `ATTACKERS`. */
  name: string;
  port: number;
  keys: readonly string[];
}

/** Its output at the end: number of answers by status and code, or by how the request failed. */
export type AttackCounts = Record<string, number>;
