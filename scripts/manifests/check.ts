import { checkDrain } from "./checks/drain.ts";
import { checkNetwork } from "./checks/network.ts";
import { checkOrder } from "./checks/order.ts";
import { checkPods } from "./checks/pods.ts";
import { checkReach } from "./checks/reach.ts";
import { checkReferences } from "./checks/references.ts";
import { checkRuns } from "./checks/runs.ts";
import { checkScaling } from "./checks/scaling.ts";
import { checkSettings, unreadConfigs } from "./checks/settings.ts";
import type { Document, Finding } from "./documents.ts";

/** What no schema knows, by the name that the table gives it. */
export const CHECKS: readonly (readonly [
  name: string,
  check: (documents: readonly Document[]) => Finding[],
])[] = [
  ["references", checkReferences],
  ["pods", checkPods],
  ["runs", checkRuns],
  ["scaling", checkScaling],
  ["network", checkNetwork],
  ["reach", checkReach],
  ["drain", checkDrain],
  ["order", checkOrder],
  ["settings", (documents) => [...checkSettings(documents), ...unreadConfigs(documents)]],
];
