import { accounts } from "./0001-accounts.ts";
import { quota } from "./0002-quota.ts";

/** One step of the schema. Modules, not `.sql` files, so that `tsc` alone carries them into the build. */
export interface Migration {
  id: number;
  name: string;
  /** Any number of statements; runs in one transaction. Never changed once released: its checksum is recorded. */
  sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  { id: 1, name: "accounts", sql: accounts },
  { id: 2, name: "quota", sql: quota },
];
