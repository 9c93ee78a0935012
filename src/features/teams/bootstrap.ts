import { LIMITS } from "../../config/limits/limits.ts";
import type { Tier } from "../../config/tiers.ts";
import { newId } from "../../platform/ids.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";
import {
  insertApiKey,
  insertMembership,
  insertSession,
  insertTeam,
  type NewKey,
  upsertUser,
} from "../identity/account-sql.ts";
import { hashSecret, newSecret, secretHint } from "../identity/api-key.ts";
import { insertUser } from "../identity/users.ts";
import { OperationError } from "./operations.ts";

export interface BootstrapInput {
  email: string;
  team: string;
  tier: Tier;
  /** The team runs the deployment and may read its state. */
  operator?: boolean;
  /** The address may have an account already. */
  existingUser?: boolean;
}

/** The secrets are stored only as hashes. */
export interface Bootstrapped {
  teamId: string;
  userId: string;
  sessionToken: string;
  liveKey: string;
  testKey: string;
}

function newKey(env: NewKey["env"], teamId: string, userId: string): { secret: string; row: NewKey } {
  const secret = newSecret(env);
  const row: NewKey = {
    id: newId("key"),
    teamId,
    userId,
    label: `bootstrap ${env}`,
    env,
    role: "owner",
    hash: Buffer.from(hashSecret(secret), "hex"),
    ...secretHint(secret),
  };
  return { secret, row };
}

/**
 * The user of the address. A registration does not prove the address: without the check, the team would belong to the person who
 * registered it first.
 */
async function ownerFor(tx: Transaction, { email, existingUser = false }: BootstrapInput): Promise<string> {
  const id = newId("usr");
  if (existingUser) return upsertUser(tx, id, email);
  if (await insertUser(tx, { id, email, passwordHash: null })) return id;
  throw new OperationError(
    "this address has an unverified account already: pass --existing-user to give it the team",
  );
}

/**
 * Creates a team of a tier, its owner, a session and a key of each kind, in one transaction. With `existingUser` an
 * existing account becomes the owner of this team too: a user may own several. A new user has no password and signs in by
 * the session.
 * @throws OperationError when the address has an account already
 */
export async function bootstrap(sql: Database, input: BootstrapInput): Promise<Bootstrapped> {
  const teamId = newId("team");
  const sessionToken = newSecret("sess");
  return sql.begin(async (tx) => {
    const { team: name, tier, operator = false } = input;
    await insertTeam(tx, { id: teamId, name, tier, operator });
    const userId = await ownerFor(tx, input);
    await insertMembership(tx, { teamId, userId, role: "owner" });
    const live = newKey("live", teamId, userId);
    const test = newKey("test", teamId, userId);
    await insertApiKey(tx, live.row);
    await insertApiKey(tx, test.row);
    await insertSession(tx, {
      id: newId("sess"),
      userId,
      teamId,
      hash: Buffer.from(hashSecret(sessionToken), "hex"),
      ttlMs: LIMITS.keys.sessionTtlMs,
    });
    return { teamId, userId, sessionToken, liveKey: live.secret, testKey: test.secret };
  });
}
