import { createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { VerificationResult } from "../../src/features/verify/answer/verification-result.ts";
import { freePort } from "../embedded/ports.ts";
import type { Containers, Ended, Named } from "./containers.ts";

/** Result of one check: `what` was checked, the value `found`, and whether it is `ok`. */
export interface Shown {
  what: string;
  found: string;
  ok: boolean;
}

const HEALTHY_WITHIN_MS = 90_000;
const JOB_WITHIN_MS = 90_000;
const ANSWER_WITHIN_MS = 30_000;
const EVERY_MS = 250;
const LINES_SHOWN = 6;
const ROLES = ["api", "bulk", "relay"] as const;
type Role = (typeof ROLES)[number];

const lastOf = (text: string) => text.trim().split("\n").slice(-LINES_SHOWN).join("\n");
const isDone = ({ how }: Ended) => how === "exit code 0";

/** Program for `node -e` that prints its surroundings as one line of JSON. */
const LOOK = `
const { writeFileSync, rmSync } = require("node:fs");
const canWrite = (folder) => {
  try { const file = folder + "/.probe-" + process.pid; writeFileSync(file, ""); rmSync(file); return true; }
  catch { return false; }
};
const folders = [process.cwd(), process.cwd() + "/dist", process.cwd() + "/node_modules"];
console.log(JSON.stringify({
  node: process.versions.node, abi: process.versions.modules, pid: process.pid, uid: process.getuid(), gid: process.getgid(),
  groups: process.getgroups(), glibc: process.report.getReport().header.glibcVersionRuntime,
  written: folders.filter(canWrite), scratch: canWrite(process.env.SCRATCH_DIR),
}));`;

interface Looked {
  node: string;
  abi: string;
  pid: number;
  uid: number;
  gid: number;
  groups: number[];
  glibc: string;
  /** Folders that are writable but must not be. */
  written: string[];
  scratch: boolean;
}

/** Checks the user, the process id, the Node.js and the writable folders of a container. */
export async function lookAround(
  containers: Containers,
  expected: { uid: number; pid?: number },
): Promise<Shown[]> {
  const ended = await containers.evaluate(LOOK);
  if (!isDone(ended)) return [{ what: "runs at all", found: lastOf(ended.output), ok: false }];
  const seen = JSON.parse(ended.output.trim().split("\n").at(-1) ?? "") as Looked;
  const { node, abi, glibc, uid, gid, pid, groups, written, scratch } = seen;
  const others = groups.filter((group) => group !== gid);
  return [
    { what: "on", found: `Node.js ${node}, ABI ${abi}, glibc ${glibc}`, ok: true },
    {
      what: "as",
      found: `${uid}:${gid}${others.length > 0 ? ` and groups ${others}` : ""}, process ${pid}`,
      ok: uid === expected.uid && others.length === 0 && (expected.pid ?? pid) === pid,
    },
    {
      what: "writes",
      found: `${written.length === 0 ? "nowhere in /app" : written.join(", ")}, ${scratch ? "" : "not "}in the scratch folder`,
      ok: written.length === 0 && scratch,
    },
  ];
}

async function ask<T>(url: string, key: string, init: RequestInit = {}): Promise<T> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(url, { ...init, headers, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${new URL(url).pathname}: HTTP ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

interface Running {
  role: Role;
  named: Named;
  /** Settings of this role only; the health check needs them too. */
  env: Record<string, string>;
  port: string;
}

async function startRole(containers: Containers, role: Role): Promise<Running> {
  const [port, metricsPort] = [await freePort(), await freePort()].map(String);
  const env = { ROLE: role, PORT: port ?? "", METRICS_PORT: metricsPort ?? "" };
  return { role, named: containers.start([], env), env, port: env.PORT };
}

/** Asks the image's own health check until it says yes. */
async function becomesHealthy(containers: Containers, { role, named, env }: Running): Promise<Shown> {
  const startedMs = performance.now();
  for (;;) {
    const ended = await containers.health(env);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    if (isDone(ended)) return { what: `${role} is healthy`, found: `after ${seconds} s`, ok: true };
    const isLate = performance.now() - startedMs > HEALTHY_WITHIN_MS;
    if (isLate || named.container.process.ended !== null) {
      const found = `${lastOf(ended.output)}\n${lastOf(named.output())}`;
      return { what: `${role} is healthy`, found, ok: false };
    }
    await wait(EVERY_MS);
  }
}

async function verify(url: string, key: string): Promise<Shown[]> {
  const expected = { "exists@plain.test": "valid", "missing@plain.test": "invalid" };
  return Promise.all(
    Object.entries(expected).map(async ([address, verdict]) => {
      const query = `email=${encodeURIComponent(address)}`;
      const found = await ask<VerificationResult>(`${url}/v1/verify?${query}`, key);
      return { what: `verifies ${address}`, found: found.verdict, ok: found.verdict === verdict };
    }),
  );
}

interface Job {
  id: string;
  status: string;
  verdicts: Record<string, number>;
}

async function workOnJob(url: string, key: string): Promise<Shown> {
  const emails = ["exists1@plain.test", "exists2@plain.test", "missing@plain.test", "not an address"];
  const body = JSON.stringify({ emails });
  const { id } = await ask<Job>(`${url}/v1/verify/bulk`, key, { method: "POST", body });
  const deadline = performance.now() + JOB_WITHIN_MS;
  for (;;) {
    const job = await ask<Job>(`${url}/v1/bulk-jobs/${id}`, key);
    const { valid = 0, invalid = 0 } = job.verdicts;
    const found = `${job.status}: ${valid} valid, ${invalid} invalid`;
    if (job.status === "completed")
      return { what: "works on a job", found, ok: valid === 2 && invalid === 2 };
    if (job.status === "failed" || performance.now() > deadline)
      return { what: "works on a job", found, ok: false };
    await wait(EVERY_MS);
  }
}

async function stopRole({ role, named }: Running): Promise<Shown> {
  const startedMs = performance.now();
  named.container.signal("SIGTERM");
  const how = await named.container.process.exited;
  const found = `${how} after ${Math.round(performance.now() - startedMs)} ms`;
  return { what: `${role} ends on SIGTERM`, found, ok: how === "exit code 0" };
}

/** Runs every role from start to end: it must get healthy, work, and stop on a signal. */
export async function serve(containers: Containers): Promise<Shown[]> {
  const migrated = await containers.run(["migrate"]);
  const shown: Shown[] = [{ what: "migrate", found: migrated.how, ok: isDone(migrated) }];
  if (!isDone(migrated)) return [...shown, { what: "it said", found: lastOf(migrated.output), ok: false }];
  const team = ["--email", "owner@example.com", "--team", "image", "--tier", "enterprise", "--json"];
  const made = await containers.run(["bootstrap", ...team]);
  shown.push({ what: "bootstrap", found: made.how, ok: isDone(made) });
  if (!isDone(made)) return [...shown, { what: "it said", found: lastOf(made.output), ok: false }];
  const line = made.output.split("\n").find((text) => text.startsWith("{")) ?? "";
  const { live_key: key } = JSON.parse(line) as { live_key: string };
  const roles = await Promise.all(ROLES.map((role) => startRole(containers, role)));
  shown.push(...(await Promise.all(roles.map((role) => becomesHealthy(containers, role)))));
  if (shown.some(({ ok }) => !ok)) return shown;
  const url = `http://127.0.0.1:${roles.find(({ role }) => role === "api")?.port}`;
  shown.push(...(await verify(url, key)), await workOnJob(url, key));
  shown.push(...(await Promise.all(roles.map(stopRole))));
  const [api] = roles;
  const dead = await containers.health(api?.env ?? {});
  shown.push({ what: "then the check says", found: lastOf(dead.output), ok: dead.how === "exit code 1" });
  return shown;
}

/** Verbs that hang, on a database that accepts and never answers, end on SIGTERM: process 1 must ask for that. */
export async function endVerbs(containers: Containers): Promise<Shown[]> {
  let connected = 0;
  const silent = createServer(() => {
    connected += 1;
  });
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as { port: number };
  const shown: Shown[] = [];
  for (const args of [["migrate"], ["team", "list"]]) {
    const before = connected;
    const { container, output } = containers.start(args, {
      DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/x`,
    });
    const deadline = performance.now() + ANSWER_WITHIN_MS;
    while (connected === before && container.process.ended === null && performance.now() < deadline)
      await wait(EVERY_MS / 10);
    if (container.process.ended === null) container.signal("SIGTERM");
    const how = await Promise.race([
      container.process.exited,
      wait(ANSWER_WITHIN_MS, "it went on", { ref: false }),
    ]);
    const ok = how === "exit code 143";
    shown.push({
      what: `${args.join(" ")} ends on SIGTERM`,
      found: ok ? how : `${how}\n${lastOf(output())}`,
      ok,
    });
  }
  silent.close();
  return shown;
}
