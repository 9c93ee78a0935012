import { createHash, randomBytes } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";
import type { RedisClients } from "../../stores/redis.ts";
import type { SelfCheckShare, SharedSelfCheck } from "./share.ts";

/**
 * The last self-check, shared by the processes of an egress with the same egress routes.
 *
 * `rcpt:house:{<egress>}:<hash>` is the last report as JSON, for a day; `rcpt:house:{<egress>}:<hash>:lead` is the process
 * that runs the self-check, with the end of its lease. The hash covers all settings that decide the findings.
 */
const LEAD = `
local leader = redis.call('GET', KEYS[1])
if leader and leader ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`;

/**
 * @param settings those that decide the findings: processes that differ in them do not share
 * @param egressId of `EGRESS_ID`; each call acts as a process of its own
 */
export function createSelfCheckShare(
  { commands }: Pick<RedisClients, "commands">,
  egressId: string,
  settings: string,
): SelfCheckShare {
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
    acquireLead: async (ms) => (await rcptLeadHouse.call(commands, `${key}:lead`, self, ms)) === 1,
    async publish(look) {
      await commands.set(key, JSON.stringify(look), "EX", LIMITS.selfCheck.sharedS);
    },
  };
}

/** null: another version of ours wrote it. */
function parse(text: string): SharedSelfCheck | null {
  try {
    const look = JSON.parse(text) as SharedSelfCheck;
    return look.v === 1 && Array.isArray(look.reports) && Array.isArray(look.exchangers) ? look : null;
  } catch {
    return null;
  }
}
