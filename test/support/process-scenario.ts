import { after, before } from "node:test";
import { createProcesses, type MainProcess } from "./processes.ts";
import { type Answer, createDeployment, type TestDeployment } from "./service.ts";
import { createClosing } from "./store.ts";

/** A deployment whose roles run in processes of their own, which a test may kill. */
export interface ProcessScenario {
  readonly deployment: TestDeployment;
  /** With these settings alone. */
  startWith(settings: Record<string, string>): MainProcess;
  /** With the deployment's settings, and these. */
  start(role: string, settings?: Record<string, string>): MainProcess;
}

/** Makes it before the tests of the calling file, and ends its processes after them. */
export function useProcesses(): ProcessScenario {
  const closing = createClosing();
  const processes = createProcesses();
  let deployment: TestDeployment;
  before(async () => {
    deployment = await createDeployment();
    closing.after(() => deployment.stop());
    closing.after(() => processes.close());
  });
  after(closing.close);
  return {
    get deployment() {
      return deployment;
    },
    startWith: (settings) => processes.start(settings),
    start: (role, settings = {}) => processes.start({ ...deployment.settings, ROLE: role, ...settings }),
  };
}

/** `GET /v1/verify` of a process. */
export async function verifyAt(url: string, key: string, email: string): Promise<Answer> {
  const response = await fetch(`${url}/v1/verify?email=${encodeURIComponent(email)}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as Answer["body"] };
}

/** Number of samples that were answered with a result. */
export const answeredOf = (samples: readonly { status: number | null }[]): number =>
  samples.filter(({ status }) => status === 200).length;
