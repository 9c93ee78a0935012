import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Cores, pinBehind } from "../../../bench/setup/pin.ts";
import { hashSecret, newSecret, secretHint } from "../../../src/features/identity/api-key.ts";
import { newId } from "../../../src/platform/ids.ts";
import type { Guard } from "../../embedded/guard.ts";
import type { ChaosDeployment } from "../deployment/deployment.ts";
import type { Member } from "../deployment/member.ts";
import { giveCore } from "../deployment/own-core.ts";
import type { AttackCounts, AttackOrder } from "./attack-order.ts";
import { ATTACKERS, type Attacker, type AttackerTeam } from "./attackers.ts";
import { noneSuffered, type Suffered, startVictim, type Victim } from "./victim.ts";

const ATTACK = fileURLToPath(new URL("./attack.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");
const WARM_MS = 6_000;
/** Number of turns. The victim runs alone and beside the attacker by turns, so that other load affects both equally. */
const TURNS = 3;
const TURN_MS = 5_000;
/** The longest attack lasts less. */
const ATTACK_MAX_MS = 20_000;
/** Time from the attacker's start until it sends at its full rate. */
const ONSET_MS = 1_500;
/**
 * Rests of REST_MS after an attack, at most RESTS, until the victim is answered within RESTED_MS: effects of the attack must not
 * count for the victim alone.
 */
const REST_MS = 1_000;
const RESTED_MS = 50;
const RESTS = 20;
const END_WITHIN_MS = 10_000;

/** Effect of one attacker on the victim. */
export interface Meeting {
  attacker: Attacker;
  alone: Suffered;
  beside: Suffered;
  attack: AttackCounts;
  /** The API process ended, or was restarted. */
  crashed: boolean;
}

interface Attack {
  stop(): Promise<AttackCounts>;
}

/** Every attacker beside the same victim, one after the other, against one process of the API on a core of its own. */
export async function runNeighbours(
  deployment: ChaosDeployment,
  { cores, guard, say }: { cores: Cores; guard: Guard; say(line: string): void },
): Promise<Meeting[]> {
  const api = deployment.members.find(({ role }) => role === "api");
  if (api === undefined || api.pid === null) throw new Error("there is no API to attack");
  await giveCore(api.pid, cores, guard);
  const { key } = await deployment.team("victim", "enterprise");
  const victim = startVictim(api.url, key);
  await victim.askFor(WARM_MS, noneSuffered());
  const meetings: Meeting[] = [];
  for (const attacker of ATTACKERS) {
    say(`neighbour ${attacker.name}`);
    meetings.push(await meet(attacker, { deployment, api, victim, guard, cores }));
  }
  victim.close();
  return meetings;
}

async function meet(
  attacker: Attacker,
  at: { deployment: ChaosDeployment; api: Member; victim: Victim; guard: Guard; cores: Cores },
): Promise<Meeting> {
  const { deployment, api, victim, guard, cores } = at;
  const { pid } = api;
  const order = { name: attacker.name, port: api.port, keys: await keysFor(attacker, deployment) };
  const alone = noneSuffered();
  const beside = noneSuffered();
  const attack: AttackCounts = {};
  for (let turn = 0; turn < TURNS; turn++) {
    await victim.askFor(TURN_MS, alone);
    const attacking = await startAttack(order, { guard, cores });
    await wait(ONSET_MS);
    await victim.askFor(attacker.turnMs ?? TURN_MS, beside);
    for (const [how, count] of Object.entries(await attacking.stop()))
      attack[how] = (attack[how] ?? 0) + count;
    await rest(victim);
  }
  return { attacker, alone, beside, attack, crashed: api.pid !== pid || api.crashes.length > 0 };
}

async function rest(victim: Victim): Promise<void> {
  for (let n = 0; n < RESTS; n++) {
    const { latenciesMs, failures } = await victim.askFor(REST_MS, noneSuffered());
    const slowest = Math.max(...Object.values(latenciesMs).flat());
    if (slowest < RESTED_MS && Object.keys(failures).length === 0) return;
  }
}

async function keysFor({ name, team }: Attacker, deployment: ChaosDeployment): Promise<string[]> {
  if (team === null) return [];
  const made = await deployment.team(`attacker-${name}`, team.tier);
  await addBlocklist(deployment, made.id, team);
  return [made.key, ...(await addKeys(deployment, made.id, team.keys - 1))];
}

async function addBlocklist(
  { sql }: ChaosDeployment,
  teamId: string,
  { blocklistRows }: AttackerTeam,
): Promise<void> {
  await sql`
    insert into blocklist (team_id, domain, include_subdomains)
    select ${teamId}, 'row-' || n || '.test', true from generate_series(1, ${blocklistRows}::integer) n`;
}

async function addKeys({ sql }: ChaosDeployment, teamId: string, count: number): Promise<string[]> {
  const [owner] = await sql<[{ user_id: string }]>`
    select user_id from memberships where team_id = ${teamId} limit 1`;
  const secrets = Array.from({ length: count }, () => newSecret("live"));
  for (const secret of secrets) {
    const { prefix, last4 } = secretHint(secret);
    await sql`
      insert into api_keys (id, team_id, user_id, label, env, role, hash, prefix, last4)
      values (${newId("key")}, ${teamId}, ${owner.user_id}, 'attack', 'live', 'owner',
              ${Buffer.from(hashSecret(secret), "hex")}, ${prefix}, ${last4})`;
  }
  return secrets;
}

/**
 * On the core that is not the API's, at low priority: the attacker's load on the stores there is not the API's doing.
 */
async function startAttack(
  order: AttackOrder,
  { guard, cores }: { guard: Guard; cores: Cores },
): Promise<Attack> {
  const child = spawn(process.execPath, ["--import", TSX, ATTACK], {
    stdio: ["pipe", "pipe", "inherit", "ipc"],
    env: { ...process.env, ...guard.env },
  });
  if (child.pid === undefined) throw new Error(`the attack of ${order.name} cannot be started`);
  guard.hold(child.pid, "SIGKILL", 0);
  child.stdin?.end(JSON.stringify(order));
  let output = "";
  child.stdout?.on("data", (piece) => {
    output += piece;
  });
  const closed = once(child, "close", { signal: AbortSignal.timeout(ATTACK_MAX_MS + 6 * END_WITHIN_MS) });
  closed.catch(() => child.kill("SIGKILL"));
  await pinBehind([child.pid], cores.load);
  return {
    async stop() {
      child.send("stop");
      const [code] = await closed;
      if (code !== 0) throw new Error(`the attack of ${order.name} ended with ${code}`);
      return JSON.parse(output) as AttackCounts;
    },
  };
}
