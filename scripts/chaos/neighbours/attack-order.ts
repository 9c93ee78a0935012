/** What an attacking process is told on standard input, as JSON. */
export interface AttackOrder {
  /** Of `ATTACKERS`. */
  name: string;
  port: number;
  keys: readonly string[];
}

/** What it prints in the end: how many answers it got, by status and code, or by how there was none. */
export type AttackCounts = Record<string, number>;
