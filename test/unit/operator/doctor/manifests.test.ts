import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { asRead } from "../../../../scripts/manifests/checks/settings.ts";
import { quantity, workloadsOf } from "../../../../scripts/manifests/documents.ts";
import { ownContainers } from "../../../../scripts/manifests/environment.ts";
import { diagnoseConfig } from "../../../../src/config/config.ts";
import { judgeConfiguration } from "../../../../src/operator/doctor/configuration.ts";
import type { DoctorFinding, DoctorGroup } from "../../../../src/operator/doctor/finding.ts";
import { judgeHost } from "../../../../src/operator/doctor/host.ts";
import { MAIL_GROUP } from "../../../../src/operator/doctor/mail.ts";
import { SECRETS_GROUP } from "../../../../src/operator/doctor/secrets.ts";
import { systemClock } from "../../../../src/platform/time/clock.ts";
import { BUILDS, built } from "../../scripts/manifests/built.ts";

/** The doctor accepts the pods of the manifests, which have only the settings and resources that their role needs. */
const GIB = 1_073_741_824;
const ROLES = ["api", "bulk", "relay"];
/** Settings that only the overlay can know, and that these builds leave out. */
const LEFT_OUT: Record<string, string[]> = {
  local: ["warn SMTP_HELO_NAME"],
  "without KEDA, by an Ingress": ["warn TRUSTED_PROXIES", "warn SMTP_HELO_NAME"],
};

/** For each role's container in a build: the environment that the doctor would see there, and its limits. */
async function podsOf(build: string) {
  const documents = await built(build);
  return ownContainers(documents, workloadsOf(documents)).flatMap(({ container, environment }) => {
    const role = environment.values.get("ROLE") ?? "";
    if (!ROLES.includes(role)) return [];
    const { env, missing } = asRead(environment);
    assert.deepEqual(missing, []);
    const diagnosis = diagnoseConfig({ ...env, KUBERNETES_SERVICE_HOST: "10.0.0.1" });
    const heapMib = Number(/max-old-space-size=(\d+)/.exec(env.NODE_OPTIONS ?? "")?.[1]);
    return [{ role, diagnosis, heapMib, memory: quantity(container.resources?.limits?.memory ?? "") }];
  });
}

const notInOrder = (findings: readonly DoctorFinding[]) =>
  findings
    .filter(({ state }) => state === "warn" || state === "fail")
    .map(({ state, check }) => `${state} ${check}`);

for (const build of BUILDS)
  describe(`the pods of ${build}`, () => {
    it("have settings in order", async () => {
      const pods = await podsOf(build);
      assert.deepEqual(pods.map(({ role }) => role).sort(), ROLES);
      for (const { role, diagnosis } of pods) {
        const found = notInOrder(judgeConfiguration(diagnosis));
        assert.deepEqual(
          found.filter((one) => !LEFT_OUT[build]?.includes(one)),
          [],
          role,
        );
      }
    });

    it("have the memory that they need", async () => {
      for (const { role, diagnosis, heapMib, memory } of await podsOf(build)) {
        const host = {
          node: "24.1.0",
          glibc: "2.41",
          cores: 8,
          cpuLimit: null,
          memoryBytes: 64 * GIB,
          memoryLimitBytes: memory,
          heapLimitBytes: heapMib * 1_048_576,
          openFiles: 1_048_576,
          scratch: { dir: "/scratch", error: null, isMemory: false, freeBytes: 16 * GIB },
          inKubernetes: true,
        };
        assert.deepEqual(notInOrder(judgeHost(host, diagnosis.config)), [], role);
      }
    });
  });

/** The findings of a group before it makes any request: a group that makes one fails here, where no server listens. */
async function withoutAsking(group: DoctorGroup, role: string): Promise<DoctorFinding[]> {
  const diagnosis = diagnoseConfig({
    ROLE: role,
    DATABASE_URL: "postgres://u:p@127.0.0.1:1/rcpt",
    REDIS_URL: "redis://127.0.0.1:1",
    SECRETS_KEY: Buffer.alloc(32, 1).toString("base64"),
    PUBLIC_URL: "https://rcpt.example.com",
    SMTP_OUT_URL: "smtp://127.0.0.1:1",
    SMTP_OUT_FROM: "rcpt@example.com",
  });
  const found: DoctorFinding[] = [];
  const closings: (() => unknown)[] = [];
  await group.examine(
    { diagnosis, config: diagnosis.config, clock: systemClock, online: false },
    { note: (...some) => void found.push(...some), atEnd: (close) => void closings.push(close) },
  );
  for (const close of closings) await close();
  return found;
}

describe("what only some roles may reach or open", () => {
  for (const [role, mail, opens] of [
    ["api", false, true],
    ["bulk", false, false],
    ["relay", true, true],
    ["all", true, true],
  ] as const)
    it(`${role}: ${mail ? "hands on mails" : "hands on none"}, ${opens ? "opens secrets" : "opens none"}`, async () => {
      const words = (findings: DoctorFinding[]) =>
        findings.map(({ state, seen }) => `${state}: ${seen}`).join();
      assert.match(
        words(await withoutAsking(MAIL_GROUP, role)),
        mail ? /^fail: 127\.0\.0\.1:1 does not let us in/ : /^skipped: .*run the doctor there too/,
      );
      assert.match(
        words(await withoutAsking(SECRETS_GROUP, role)),
        opens ? /^skipped: What is stored cannot be read/ : /^skipped: .*needs no key/,
      );
    });
});
