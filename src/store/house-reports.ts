import { createHash, randomBytes } from "node:crypto";
import type { HouseShare, SharedLook } from "../check/house/share.ts";
import { LIMITS } from "../core/limits.ts";
import type { RedisClients } from "./redis.ts";

/**
 * What was last found of our own house, for the processes of an egress whose ways out are the same.
 *
 * `rcpt:house:{<egress>}:<hash>` is the last look as JSON, for a day; `rcpt:house:{<egress>}:<hash>:lead` says whose turn it
 * is to look, until when. The hash is of all settings that decide what a look finds.
 */
const LEAD = `
local leader = redis.call('GET', KEYS[1])
if leader and leader ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`;

/**
 * @param settings what decides what is found: processes that differ in it do not share
 * @param egressId of `EGRESS_ID`; each call makes a process of its own of it
 */
export function createHouseShare(
  { commands }: Pick<RedisClients, "commands">,
  egressId: string,
  settings: string,
): HouseShare {
  const self = randomBytes(9).toString("base64url");
  const hash = createHash("sha256").update(settings).digest().subarray(0, 16).toString("base64url");
  const key = `rcpt:house:{${egressId}}:${hash}`;
  commands.defineCommand("rcptLeadHouse", { lua: LEAD, numberOfKeys: 1 });
  const { rcptLeadHouse } = commands as typeof commands & {
    rcptLeadHouse(key: string, self: string, ms: number): Promise<number>;
  };
  return {
    async read() {
      const text = await commands.get(key);
      return text === null ? null : parse(text);
    },
    lead: async (ms) => (await rcptLeadHouse.call(commands, `${key}:lead`, self, ms)) === 1,
    async tell(look) {
      await commands.set(key, JSON.stringify(look), "EX", LIMITS.house.sharedS);
    },
  };
}

/** null: another version of ours wrote it. */
function parse(text: string): SharedLook | null {
  try {
    const look = JSON.parse(text) as SharedLook;
    return look.v === 1 && Array.isArray(look.reports) && Array.isArray(look.exchangers) ? look : null;
  } catch {
    return null;
  }
}
