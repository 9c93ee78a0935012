import { composeRole, type ServingRole } from "../../src/app/role.ts";
import { loadConfig } from "../../src/config/config.ts";
import { createLog } from "../../src/platform/log.ts";
import { usageNow } from "../cpu/busy.ts";
import { answerParent } from "../setup/child.ts";

let role: ServingRole | null = null;

const verbs = {
  /** The role `api` as in production, its log at the usual level. */
  async start(settings: Record<string, string>) {
    const config = loadConfig(settings);
    role = await composeRole({ ...config, role: "api" }, createLog(config.logLevel, { role: "api" }));
    await role.lifecycle.start();
    const { port, metricsPort } = role.ports();
    return { port: port ?? 0, metricsPort, pid: process.pid };
  },

  usage: usageNow,
};

export type ApiProcess = typeof verbs;

answerParent(verbs, async () => {
  await role?.lifecycle.stop();
});
