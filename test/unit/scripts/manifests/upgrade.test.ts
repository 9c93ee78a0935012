import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, describe, it } from "node:test";
import { findBuilder } from "../../../../scripts/manifests/builds.ts";
import { parseDocuments } from "../../../../scripts/manifests/documents.ts";
import { ROOT } from "./built.ts";

/**
 * k8s/upgrade.sh with a stub of `kubectl`: no cluster is involved. The stub builds with the real kustomize, stores what
 * is applied and answers as each test says. docs/kubernetes.md lists what was tried on a real one.
 */

/** Answers by the beginning of the arguments, without `--namespace X`; an array: one a call, the last again and again. */
type Answer = { out?: string; err?: string; code?: number };
type Answers = Record<string, Answer | Answer[]>;

const STUB = `#!/usr/bin/env bash
[ "$1" != --namespace ] || shift 2
[ "$1" != kustomize ] || exec cat "$STUB_FOLDER/../$(basename "$2").yaml"
line="$*" chosen="" length=-1
while IFS=$'\\t' read -r key nth code out err; do
  case $line in "$key"*) ;; *) continue ;; esac
  called=$(awk -v key="$key" 'index($0, key) == 1' "$STUB_FOLDER/calls" | wc -l)
  [ "$nth" -le "$called" ] && [ "\${#key}" -ge "$length" ] && chosen="$code" chosenOut="$out" chosenErr="$err" length=\${#key}
done <"$STUB_FOLDER/answers"
echo "$line" >>"$STUB_FOLDER/calls"
if [ "$1" = apply ]; then
  while [ "$1" != -f ]; do shift; done
  cp "$2" "$STUB_FOLDER/applied.yaml"
fi
printf '%b' "$chosenOut"
printf '%b' "$chosenErr" >&2
exit "\${chosen:-0}"
`;

const folder = mkdtempSync(join(tmpdir(), "rcpt-upgrade-"));
after(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "kubectl"), STUB, { mode: 0o755 });
const builder = await findBuilder(ROOT);
const rendered = (overlay: string) => {
  const args = [...builder.args, `k8s/overlays/${overlay}`];
  return spawnSync(builder.command, args, { cwd: ROOT, encoding: "utf8" }).stdout;
};
for (const overlay of ["production", "local"])
  writeFileSync(join(folder, `${overlay}.yaml`), rendered(overlay));
let runs = 0;

/** The stub's table: key, from which call on, exit code, standard output, standard error. */
function tableOf(answers: Answers): string {
  return Object.entries(answers)
    .flatMap(([key, all]) =>
      [all].flat().map(({ out = "", err = "", code = 0 }, nth) => {
        const cells = [out, err].map((text) => text.replaceAll("\n", "\\n"));
        return `${[key, nth, code, ...cells.map((text) => text || "\\c")].join("\t")}\n`;
      }),
    )
    .join("");
}

const BEGUN: Answers = { "get job": [{ out: "" }, { out: "Complete " }], "apply --dry-run": {} };

function upgrade(answers: Answers, args: readonly string[] = ["k8s/overlays/production"]) {
  const state = join(folder, String(++runs));
  mkdirSync(state);
  writeFileSync(join(state, "answers"), tableOf({ ...BEGUN, ...answers }));
  writeFileSync(join(state, "calls"), "");
  const { status, stdout, stderr } = spawnSync(join(ROOT, "k8s/upgrade.sh"), args, {
    cwd: ROOT,
    encoding: "utf8",
    env: {
      ...process.env,
      PATH: `${folder}${delimiter}${process.env.PATH}`,
      STUB_FOLDER: state,
    },
  });
  const read = (name: string) => {
    try {
      return readFileSync(join(state, name), "utf8");
    } catch {
      return "";
    }
  };
  const calls = read("calls")
    .replaceAll(/-f \S+/g, "-f FILE")
    .split("\n")
    .slice(0, -1);
  return { status, stdout, stderr, calls, applied: () => parseDocuments(read("applied.yaml")) };
}

const APPLY_ALL = "apply -f FILE";
const PREPARE = `${APPLY_ALL} -l rcpt-phase=prepare`;
const changes = (calls: readonly string[]) =>
  calls.filter((line) => /^(apply|delete|rollout)/.test(line) && !line.includes("--dry-run"));

/** Kinds that are looked for by their plural: a policy by `policies`. */
const singular = (line: string) => line.replace("policies", "policys").replace("ingresses", "ingresss");

describe("an upgrade", () => {
  it("checks, migrates, applies and waits for each role, in this order", () => {
    const { status, stderr, calls } = upgrade({});
    assert.equal(status, 0, stderr);
    const checked = calls.indexOf("apply --dry-run=server -f FILE");
    assert.ok(checked >= 0 && checked < calls.indexOf(PREPARE), calls.join("\n"));
    assert.deepEqual(changes(calls), [
      PREPARE,
      APPLY_ALL,
      ...["api", "bulk", "relay"].map((role) => `rollout status deployment/rcpt-${role} --timeout 1700s`),
    ]);
  });

  it("names the Job after what the manifests say, and lets it go after a week", () => {
    const jobOf = (overlay: string) => {
      const { applied } = upgrade({}, [overlay]);
      const jobs = applied().filter(({ kind }) => kind === "Job");
      assert.equal(jobs.length, 1);
      return jobs[0];
    };
    const job = jobOf("k8s/overlays/production");
    assert.match(job?.metadata.name ?? "", /^rcpt-migrate-\d+$/);
    assert.equal(job?.spec.ttlSecondsAfterFinished, 604_800);
    assert.equal(jobOf("k8s/overlays/production")?.metadata.name, job?.metadata.name);
    assert.notEqual(jobOf("k8s/overlays/local")?.metadata.name, job?.metadata.name);
  });

  it("changes nothing else of the manifests", () => {
    const { applied } = upgrade({});
    const built = parseDocuments(rendered("production"));
    const others = (documents: typeof built) => documents.filter(({ kind }) => kind !== "Job");
    assert.deepEqual(others(applied()), others(built));
  });

  it("does not check beforehand where the namespace is new", () => {
    const { status, calls } = upgrade({
      "get namespace": { err: 'Error from server (NotFound): namespaces "rcpt" not found', code: 1 },
    });
    assert.equal(status, 0);
    assert.ok(!calls.some((line) => line.includes("--dry-run")));
  });

  it("replaces a Job of the same release that is over, and waits for one that runs", () => {
    const again = upgrade({ "get job": [{ out: "Failed " }, { out: "Complete " }] });
    assert.equal(again.status, 0, again.stderr);
    assert.match(changes(again.calls)[0] ?? "", /^delete job rcpt-migrate-\d+ --cascade=foreground$/);
    const beside = upgrade({});
    assert.ok(!beside.calls.some((line) => line.startsWith("delete")));
  });
});

describe("at its end an upgrade", () => {
  const BEFORE = "registry.example.com/rcpt@sha256:0123";

  it("names its image and that to go back to", () => {
    const { stdout } = upgrade({ "get deployment rcpt-api": { out: BEFORE } });
    assert.match(
      stdout,
      /done: ghcr\.io\/rcpt\/rcpt:\d\S+ \nupgrade: to go back: .*sha256:0123 in the overlay\n$/,
    );
    const { stdout: failed, stderr } = upgrade({
      "get deployment rcpt-api": { out: BEFORE },
      "rollout status deployment/rcpt-api": { code: 1 },
    });
    assert.match(failed, /registry\.example\.com\/rcpt@sha256:0123 -> ghcr\.io\/rcpt\/rcpt:/);
    assert.match(stderr, /the image of the version before \(registry\.example\.com\/rcpt@sha256:0123\)/);
  });

  it("names no image to go back to where it went on with its own", () => {
    const own = /image: (\S+)/.exec(rendered("production"))?.[1] ?? assert.fail();
    const { stdout } = upgrade({ "get deployment rcpt-api": { out: own } });
    assert.match(stdout, /done: \S+ \n$/);
  });

  it("names what no manifest has, but what another object owns", () => {
    const { status, stdout } = upgrade({
      "get horizontalpodautoscalers.autoscaling": {
        out: "rcpt-api \nrcpt-bulk \nkeda-hpa-rcpt-bulk ScaledObject\n",
      },
      "get networkpolicies.networking.k8s.io": { out: "rcpt-dns \nrcpt-api-from-ingress \n" },
      "get podmonitors.monitoring.coreos.com": { err: "the server doesn't have a resource type", code: 1 },
    });
    assert.equal(status, 0);
    assert.match(
      stdout,
      /\n.* {2}kubectl --namespace rcpt delete networkpolicies\.networking\.k8s\.io\/rcpt-api-from-ingress horizontalpodautoscalers\.autoscaling\/rcpt-bulk\n/,
    );
    assert.doesNotMatch(upgrade({}).stdout, /delete/);
  });

  it("looks for every kind that manifests make, but those that a way back may need", () => {
    const { calls, applied } = upgrade({});
    const kept = ["Namespace", "ConfigMap", "Job", "Secret", "ExternalSecret"];
    for (const { kind } of applied())
      assert.ok(
        kept.includes(kind) ||
          calls.some((line) => new RegExp(`^get ${kind}s[. ]`, "i").test(singular(line))),
        kind,
      );
  });
});

describe("an upgrade stops", () => {
  it("when the API server refuses something, before anything is changed", () => {
    const { status, stderr, calls } = upgrade({
      "apply --dry-run": { err: 'no matches for kind "ScaledObject"', code: 1 },
    });
    assert.equal(status, 1);
    assert.match(stderr, /ScaledObject.*does not accept the manifests\nupgrade: Nothing was changed/s);
    assert.deepEqual(changes(calls), []);
  });

  it("when KEDA would ask the relay of another namespace", () => {
    const staging = join(folder, "staging");
    mkdirSync(staging);
    const text = rendered("production").replaceAll("namespace: rcpt\n", "namespace: staging\n");
    writeFileSync(`${staging}.yaml`, text);
    const { status, stderr, calls } = upgrade({}, [staging]);
    assert.equal(status, 1);
    assert.match(stderr, /by the backlog of the namespace rcpt, not of staging/);
    assert.deepEqual(changes(calls), []);
    writeFileSync(`${staging}.yaml`, text.replaceAll("metrics.rcpt.svc", "metrics.staging.svc"));
    assert.equal(upgrade({}, [staging]).status, 0);
  });

  it("when the cluster does not answer", () => {
    const { status, stderr, calls } = upgrade({
      "get namespace": { err: "connection refused", code: 1 },
    });
    assert.equal(status, 1);
    assert.match(stderr, /does not answer: connection refused/);
    assert.deepEqual(changes(calls), []);
  });

  it("when the migration fails: pods stay, its log is shown, and how to go on", () => {
    const { status, stderr, calls } = upgrade({
      "get job": [{ out: "" }, { out: "FailureTarget Failed " }, { out: "Failed: BackoffLimitExceeded" }],
      logs: { out: "rcpt: migration 24 (labels) could not lock a table\n" },
    });
    assert.equal(status, 1);
    assert.deepEqual(changes(calls), [PREPARE]);
    assert.match(stderr, /the migration failed\nupgrade: No pod was changed/);
    assert.match(stderr, /run the same command again/);
    assert.ok(calls.some((line) => /^logs -l job-name=rcpt-migrate-\d+ --prefix/.test(line)));
  });

  it("when the migration waits for a ConfigMap to mount, and says so", () => {
    const { applied } = upgrade({});
    const job = applied().find(({ kind }) => kind === "Job")?.metadata.name ?? assert.fail();
    const waiting: Answers = {
      "get job": {},
      "get pods -l job-name": { out: "pod ContainerCreating ContainersNotReady " },
      [`get pods -l job-name=${job} -o jsonpath={range .items[*]}{.metadata.name}`]: { out: `${job}-x2x4z ` },
    };
    const stdoutWith = (events: string) =>
      upgrade({ ...waiting, "get events -o jsonpath": { out: events } }, [
        "k8s/overlays/production",
        "--timeout",
        "0",
      ]).stdout;
    const failed = `FailedMount other-1\nFailedMount ${job}-x2x4z\n`;
    assert.match(stdoutWith(failed), /the migration's pod does not start: FailedMount \n/);
    for (const events of [
      `FailedMount other-1\nFailedMount ${job}-gone\n`,
      // It was mounted since: the image is being pulled.
      `${failed}Pulling ${job}-x2x4z\n`,
    ])
      assert.doesNotMatch(stdoutWith(events), /does not start/);
  });

  it("where the API server refuses the manifests, and names an autoscaler that may be why", () => {
    const { status, stdout, calls } = upgrade({
      "apply --dry-run": { err: "already managed by the hpa", code: 1 },
      "get horizontalpodautoscalers.autoscaling": { out: "rcpt-bulk-old \n" },
    });
    assert.equal(status, 1);
    assert.match(stdout, /delete horizontalpodautoscalers\.autoscaling\/rcpt-bulk-old/);
    assert.deepEqual(changes(calls), []);
  });

  it("when the migration is not done in time, and says why its pod does not start", () => {
    const { status, stdout, stderr, calls } = upgrade(
      { "get job": {}, "get pods -l job-name": { out: "CreateContainerConfigError PodInitializing" } },
      ["k8s/overlays/production", "--timeout", "0"],
    );
    assert.equal(status, 1);
    assert.match(stdout, /the migration's pod does not start: CreateContainerConfigError \n/);
    assert.match(stderr, /not done after 0 s/);
    assert.deepEqual(changes(calls), [PREPARE]);
  });

  it("when something cannot be applied", () => {
    const { status, stderr, calls } = upgrade({
      "apply -f": [{}, { err: "denied by a webhook", code: 1 }],
    });
    assert.equal(status, 1);
    assert.match(stderr, /denied by a webhook.*not everything could be applied/s);
    assert.ok(!calls.some((line) => line.startsWith("rollout")));
  });

  it("at the first role whose pods do not become ready, and shows their log", () => {
    const { status, stderr, calls } = upgrade({
      "rollout status deployment/rcpt-bulk": { err: "timed out waiting for the condition", code: 1 },
      "get pods -l app.kubernetes.io/name=rcpt,app.kubernetes.io/component=bulk --no-headers": {
        out: "rcpt-bulk-1  1/1  Running  0  1h\nrcpt-bulk-2  0/1  Running  0  1m\n",
      },
      logs: { out: "" },
    });
    assert.equal(status, 1);
    assert.ok(!calls.some((line) => line.includes("deployment/rcpt-relay")));
    assert.deepEqual(
      calls.filter((line) => line.startsWith("logs")),
      ["logs rcpt-bulk-2 --tail=20"],
    );
    assert.match(
      stderr,
      /rcpt-bulk do not become ready.*run it with the manifests and the image of the version before/s,
    );
  });

  it("with what a quota or an admission says of pods that it refuses", () => {
    const event = (pods: string) => `1m Warning FailedCreate replicaset/${pods} exceeded quota: limits\n`;
    const { stderr } = upgrade({
      "rollout status deployment/rcpt-api": { err: "timed out waiting for the condition", code: 1 },
      "get events --field-selector reason=FailedCreate": {
        out: event("rcpt-bulk-7d9") + event("rcpt-api-5c6").repeat(7),
      },
    });
    assert.equal(stderr.match(/replicaset\/rcpt-api-5c6 exceeded quota/g)?.length, 5);
    assert.doesNotMatch(stderr, /rcpt-bulk-7d9/);
  });

  for (const args of [[], ["--timeout"], ["a", "b"], ["k8s/nowhere"], ["k8s/base", "--timeout", "1h"]])
    it(`at wrong arguments: ${args.join(" ") || "none"}`, () => {
      const { status, calls } = upgrade({}, args);
      assert.equal(status, 2);
      assert.deepEqual(calls, []);
    });
});
