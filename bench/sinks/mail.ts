import type { Zone } from "../../test/support/mail-world/zone.ts";
import type { MailServers } from "../processes/mail-servers.ts";
import { type Child, startChild } from "../setup/child.ts";
import type { BenchContext } from "../setup/context.ts";
import type { Keep } from "../setup/pinned-server.ts";
import type { SinkDelays } from "./sink-account.ts";

/** The internet of a section: DNS zone and addresses of mail servers. */
export interface Internet {
  zone: Zone;
  addresses: string[];
}

export const NO_DELAYS: SinkDelays = { latencyMs: 0, recipientMs: 0 };

/** Starts it in a process of its own. */
export async function startMail(
  context: BenchContext,
  keep: Keep,
  internet: Internet,
  delays: SinkDelays = NO_DELAYS,
): Promise<Awaited<ReturnType<MailServers["start"]>> & { mail: Child<MailServers> }> {
  const mail = keep(await startChild<MailServers>("mail-servers", context));
  return { mail, ...(await mail.call("start", { ...internet, delays })) };
}
