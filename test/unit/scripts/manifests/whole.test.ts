import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { it } from "node:test";
import {
  type Build,
  build,
  findBuilder,
  listBuilds,
  readExamples,
} from "../../../../scripts/manifests/builds.ts";
import { CHECKS } from "../../../../scripts/manifests/check.ts";
import { checkAllSettings, NOT_SET, settingsSet } from "../../../../scripts/manifests/checks/settings.ts";
import { workloadsOf } from "../../../../scripts/manifests/documents.ts";
import { SETTING_NAMES } from "../../../../src/config/config.ts";
import { codeBlocksOf } from "../../../support/documented/blocks.ts";
import { findings } from "./broken.ts";
import { BUILDS, built, ROOT, the } from "./built.ts";

/** The builds without changes. */

/** Largest value of the setting. */
const VERIFY_DEADLINE_MAX_MS = 120_000;

it("nothing is found in any build", async () => {
  for (const name of BUILDS) {
    const documents = await built(name);
    for (const [check] of CHECKS) assert.deepEqual(findings(check, documents), [], `${name}: ${check}`);
  }
});

it("a build has each component but those that stand for one another", async () => {
  const kinds = async (name: string) => new Set((await built(name)).map(({ kind }) => kind));
  const all = await kinds("production and all else");
  for (const kind of [
    "ScaledObject",
    "HTTPRoute",
    "PodMonitor",
    "ExternalSecret",
    "PriorityClass",
    "PrometheusRule",
  ])
    assert.ok(all.has(kind), kind);
  const kedaFree = await kinds("without KEDA, by an Ingress");
  assert.ok(kedaFree.has("Ingress") && !kedaFree.has("HTTPRoute") && !kedaFree.has("ScaledObject"));
});

it("every component is part of a build", () => {
  const builds = listBuilds(join(ROOT, "k8s"), tmpdir());
  const texts = builds.map(
    ({ folder, text }) => text ?? readFileSync(join(folder, "kustomization.yaml"), "utf8"),
  );
  const components = readdirSync(join(ROOT, "k8s/components"));
  assert.ok(components.length > 15);
  for (const name of components)
    assert.ok(
      texts.some((text) => new RegExp(`components/${name}$`, "m").test(text)),
      name,
    );
});

/** The patches of docs/kubernetes.md, each as a whole block. */
const documentedPatches = codeBlocksOf("docs/kubernetes.md").filter(
  ({ language, text }) => language === "yaml" && text.includes("patch: |-"),
);

/** A copy of the production overlay with these patches at its end, as the document asks for. */
function copyWith(text: string, folder: string): Build {
  const overlay = join(ROOT, "k8s/overlays/production");
  const namespace = /^namespace: \S+/m.exec(text)?.[0] ?? "namespace: rcpt";
  const patches = text.replace(/^namespace: .*\n/m, "").replace(/^patches:\n/m, "");
  // A block in a list of the page has lost its indentation.
  const added = patches.startsWith("- ") ? patches.replaceAll(/^(?=.)/gm, "  ") : patches;
  const copied = readFileSync(join(overlay, "kustomization.yaml"), "utf8")
    .replace(/^namespace: rcpt$/m, namespace)
    .replace(/^components:$/m, "components:\n  - ../../components/identity-eks")
    .replaceAll("../../", `${relative(folder, join(ROOT, "k8s"))}/`);
  const files = Object.fromEntries(
    ["stores.yaml", "settings.env"].map((name) => [name, readFileSync(join(overlay, name), "utf8")]),
  );
  return { name: "a copy", folder, text: copied + added, files };
}

for (const { line, text } of documentedPatches)
  it(`the patches of docs/kubernetes.md:${line} can be applied, and nothing is found then`, async () => {
    const work = mkdtempSync(join(tmpdir(), "rcpt-manifests-"));
    try {
      const documents = await build(copyWith(text, join(work, "company")), await findBuilder(ROOT));
      const own = new Map(CHECKS);
      // Namespaces and secrets of others, whose names the other checks know as they are here, are no fault.
      for (const name of ["pods", "runs", "scaling", "network", "drain", "order"])
        assert.deepEqual(own.get(name)?.(documents), [], name);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  });

it("the document has patches", () => assert.equal(documentedPatches.length, 2));

it("a gateway closes idle connections before the server does, by an object of its own", async () => {
  const secondsOf = (text: unknown) => Number(/^(\d+)s$/.exec(String(text))?.[1]);
  type Envoy = { timeout: { http: { connectionIdleTimeout: string } } };
  type Istio = { host: string; trafficPolicy: { connectionPool: { http: { idleTimeout: string } } } };
  type Nginx = { keepAlive: { timeout: string } };
  const on = (gateway: string) => BUILDS.find((name) => name.includes(gateway)) ?? assert.fail(gateway);
  const [envoy, istio, nginx] = await Promise.all(["Envoy", "Istio", "NGINX"].map((name) => built(on(name))));
  assert.ok(envoy && istio && nginx);
  const rule = the<Istio>(istio, "DestinationRule", "rcpt-api").spec;
  the(istio, "Service", rule.host);
  for (const timeout of [
    the<Envoy>(envoy, "BackendTrafficPolicy", "rcpt-api").spec.timeout.http.connectionIdleTimeout,
    rule.trafficPolicy.connectionPool.http.idleTimeout,
    the<Nginx>(nginx, "UpstreamSettingsPolicy", "rcpt-api").spec.keepAlive.timeout,
  ])
    assert.equal(secondsOf(timeout), 5, timeout);
});

it("nginx takes any body, waits as long as an answer may take, and forwards events as they come", async () => {
  const name = BUILDS.find((one) => one.includes("NGINX")) ?? assert.fail();
  const documents = await built(name);
  const { body } = the<{ body: object }>(documents, "ClientSettingsPolicy", "rcpt-api").spec;
  assert.deepEqual(body, { maxSize: "0" });
  type Proxy = { buffering: { disable: boolean }; timeout: { read: string; send: string } };
  const { buffering, timeout } = the<Proxy>(documents, "ProxySettingsPolicy", "rcpt-api").spec;
  assert.equal(buffering.disable, true);
  const ingress = the(await built("without KEDA, by an Ingress"), "Ingress", "rcpt-api").metadata;
  const annotation = (key: string) => ingress.annotations?.[`nginx.ingress.kubernetes.io/proxy-${key}`];
  assert.deepEqual([annotation("body-size"), annotation("buffering")], ["0", "off"]);
  for (const [way, seconds] of Object.entries(timeout)) {
    assert.equal(seconds, `${annotation(`${way}-timeout`)}s`);
    assert.ok(Number.parseInt(seconds, 10) * 1_000 > VERIFY_DEADLINE_MAX_MS, way);
  }
});

it("a namespace with a quota finds a limit of each resource in every container", async () => {
  const name = BUILDS.find((one) => one.includes("quota")) ?? assert.fail();
  for (const { pod, name: workload } of workloadsOf(await built(name)))
    for (const { resources } of pod.containers)
      assert.deepEqual(
        Object.keys(resources?.limits ?? {}).sort(),
        ["cpu", "ephemeral-storage", "memory"],
        workload,
      );
});

it("a balancer is told to let go of idle connections before the server does", () => {
  const [config, ...more] = readExamples(join(ROOT, "k8s"));
  assert.equal(more.length, 0);
  assert.equal(config?.metadata.name, "ingress-nginx-controller");
  // uWebSockets.js: 10 s.
  const seconds = Number(config?.data?.["upstream-keepalive-timeout"]);
  assert.ok(seconds > 0 && seconds < 10, String(seconds));
});

it("what the production overlay has for kube-prometheus-stack labels all that it is to read, when it is uncommented", async () => {
  const text = readFileSync(join(ROOT, "k8s/overlays/production/kustomization.yaml"), "utf8");
  const commented = /^ {2}# (- target: \{ group: monitoring\.coreos\.com \}\n(?: {2}# .*\n?)+)/m.exec(
    text,
  )?.[1];
  assert.ok(commented);
  const patch = commented.replaceAll(/^ {2}# /gm, "");
  const folder = mkdtempSync(join(tmpdir(), "rcpt-manifests-"));
  try {
    const wanted = listBuilds(join(ROOT, "k8s"), folder).find(
      ({ name }) => name === "production and all else",
    );
    assert.ok(wanted);
    const documents = await build(
      { ...wanted, text: `${wanted.text}\npatches:\n${patch}` },
      await findBuilder(ROOT),
    );
    const watching = documents.filter(({ apiVersion }) => apiVersion.startsWith("monitoring.coreos.com/"));
    assert.equal(watching.length, 4);
    for (const { metadata } of watching) assert.equal(metadata.labels?.release, "kube-prometheus-stack");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it("the figures of connections to Postgres in the document are those of the manifests", async () => {
  const documents = await built("production");
  const spec = <S>(kind: string, name: string) => the<S>(documents, kind, name).spec;
  const most = {
    api: spec<{ maxReplicas: number }>("HorizontalPodAutoscaler", "rcpt-api").maxReplicas,
    bulk: spec<{ maxReplicaCount: number }>("ScaledObject", "rcpt-bulk").maxReplicaCount,
    relay: spec<{ replicas: number }>("Deployment", "rcpt-relay").replicas,
  };
  type Rolling = { strategy: { rollingUpdate: { maxSurge: string | number } } };
  let still = 0;
  let rolling = 1;
  for (const [role, pods] of Object.entries(most)) {
    const { maxSurge } = spec<Rolling>("Deployment", `rcpt-${role}`).strategy.rollingUpdate;
    still += pods;
    rolling +=
      pods +
      (typeof maxSurge === "number" ? maxSurge : Math.ceil((pods * Number.parseInt(maxSurge, 10)) / 100));
  }
  const each = Number(the(documents, "ConfigMap", "rcpt-settings").data?.DATABASE_MAX_CONNECTIONS);
  const text = readFileSync(join(ROOT, "docs/kubernetes.md"), "utf8");
  for (const pods of [still, rolling, 2 * still + 1])
    assert.ok(text.includes((pods * each).toLocaleString("en")), String(pods * each));
});

async function set(): Promise<Set<string>> {
  const names = new Set<string>();
  for (const name of BUILDS) for (const setting of settingsSet(await built(name))) names.add(setting);
  return names;
}

it("every setting is set by a manifest, or is said not to be, and why", async () => {
  const names = await set();
  assert.deepEqual(checkAllSettings(names), []);
  for (const [name, why] of Object.entries(NOT_SET)) assert.ok(why.length > 8, name);
  assert.equal(names.size + Object.keys(NOT_SET).length, SETTING_NAMES.length);
});

it("a setting that nothing sets is found, and one that is said not to be set and is", async () => {
  const names = await set();
  names.delete("S3_BUCKET");
  names.add("HOST");
  assert.deepEqual(
    checkAllSettings(names).map(({ text }) => text.split(":")[0]),
    ["S3_BUCKET", "HOST"],
  );
});
