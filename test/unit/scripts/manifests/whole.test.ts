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
import { listGrants } from "../../../../scripts/manifests/checks/grants.ts";
import { checkReferences } from "../../../../scripts/manifests/checks/references.ts";
import { checkAllSettings, NOT_SET, settingsSet } from "../../../../scripts/manifests/checks/settings.ts";
import { GIVEN_SECRETS } from "../../../../scripts/manifests/checks/sources.ts";
import {
  type Document,
  parseDocuments,
  quantity,
  workloadsOf,
} from "../../../../scripts/manifests/documents.ts";
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

const PRODUCTION = readFileSync(join(ROOT, "k8s/overlays/production/kustomization.yaml"), "utf8");

/** Patches of the production overlay that are commented out, from the one of `target` on. */
function commented(target: RegExp): string {
  const text = PRODUCTION.split("\n").map((line) => line.replace(/^ {2}# ?/, ""));
  const from = text.findIndex((line) => target.test(line));
  assert.ok(from > 0, String(target));
  const length = text.slice(from).findIndex((line) => !/^(- target| {2,})/.test(line));
  return text.slice(from, length === -1 ? undefined : from + length).join("\n");
}

/** A copy of the production overlay, changed. */
async function changedProduction(change: (text: string) => string): Promise<Document[]> {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-manifests-"));
  try {
    const copy = copyWith("patches:\n", join(folder, "company"));
    return await build({ ...copy, text: change(copy.text ?? "") }, await findBuilder(ROOT));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

it("what the production overlay has for kube-prometheus-stack labels all that it is to read, when it is uncommented", async () => {
  const patch = commented(/^- target: \{ group: monitoring\.coreos\.com \}/);
  const documents = await changedProduction((text) => {
    const watched = text.replace(/^ {2}- (.*)pod-monitors$/m, "$&\n  - $1monitoring");
    return `${watched}${patch.replaceAll(/^(?=.)/gm, "  ")}`;
  });
  const watching = documents.filter(({ apiVersion }) => apiVersion.startsWith("monitoring.coreos.com/"));
  assert.equal(watching.length, 4);
  for (const { metadata } of watching) assert.equal(metadata.labels?.release, "kube-prometheus-stack");
});

it("the production overlay has an Ingress instead, by the patches that it has for it", async () => {
  const patch = commented(/^- target: \{ kind: Ingress/).replaceAll(
    "rcpt.example.com",
    "rcpt.company.example",
  );
  const documents = await changedProduction((text) =>
    text
      .replace(/components\/gateway$/m, "components/ingress")
      .replace(
        /^ {2}- target: \{ kind: HTTPRoute[\s\S]*?value: gateway-system$/m,
        patch.replaceAll(/^(?=.)/gm, "  "),
      ),
  );
  const text = JSON.stringify(the(documents, "Ingress", "rcpt-api").spec);
  assert.equal(text.match(/rcpt\.company\.example/g)?.length, 2);
  assert.ok(!text.includes("rcpt.example.com"));
  for (const [check] of CHECKS) assert.deepEqual(findings(check, documents), [], check);
});

it("the production overlay has workers without an autoscaler, by the patch that it has for it", async () => {
  const patch = commented(/^- target: \{ kind: Deployment, name: rcpt-bulk/).replaceAll(/^(?=.)/gm, "  ");
  const documents = await changedProduction(
    (text) =>
      `${text.replace(/^ {2}- .*components\/keda\n/m, "").replace(/^replacements:\n[\s\S]*?(?=^\w)/m, "")}${patch}`,
  );
  assert.equal(the<{ replicas: number }>(documents, "Deployment", "rcpt-bulk").spec.replicas, 4);
  for (const [check] of CHECKS) assert.deepEqual(findings(check, documents), [], check);
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

it("the figures of a quota in the document are those of the manifests", async () => {
  const documents = await built(BUILDS.find((one) => one.includes("quota")) ?? assert.fail());
  const sums = { cpu: 0, memory: 0, "ephemeral-storage": 0 };
  // The maxima, with what a roll-out adds.
  const most: Record<string, number> = { api: 30 + 8, bulk: 20 + 5, relay: 3, migrate: 1 };
  for (const { labels, pod } of workloadsOf(documents))
    for (const { resources } of pod.containers)
      for (const [name, amount] of Object.entries(resources?.limits ?? {}))
        sums[name as keyof typeof sums] +=
          quantity(String(amount)) * (most[labels["app.kubernetes.io/component"] ?? ""] ?? Number.NaN);
  const text = readFileSync(join(ROOT, "docs/kubernetes.md"), "utf8");
  const gib = (bytes: number) => `${(bytes / 2 ** 30).toLocaleString("en")} GiB`;
  for (const said of [
    `\`limits.cpu\` of ${sums.cpu} (`,
    `\`limits.memory\` of ${gib(sums.memory)}`,
    `\`limits.ephemeral-storage\` of ${gib(sums["ephemeral-storage"])}`,
  ])
    assert.ok(text.includes(said), said);
});

it("KEDA is given each key of its secret that the document names", async () => {
  type Refs = { secretTargetRef: { parameter: string; key: string }[] };
  const { spec } = the<Refs>(await built("production"), "TriggerAuthentication", "rcpt-redis");
  const keys = [...(GIVEN_SECRETS.get("rcpt-redis-scaler") ?? assert.fail())];
  assert.deepEqual(
    spec.secretTargetRef.map(({ parameter, key }) => [parameter, key]),
    keys.map((key) => [key, key]),
  );
  const text = readFileSync(join(ROOT, "docs/kubernetes.md"), "utf8");
  const [, said = ""] = /KEDA asks Redis with `rcpt-redis-scaler`:([^.]*)\./.exec(text) ?? [];
  for (const key of keys) assert.ok(said.includes(`\`${key}\``), key);
});

it("a build with two autoscalers of the workers fails, in either order", async () => {
  const work = mkdtempSync(join(tmpdir(), "rcpt-manifests-"));
  try {
    for (const both of [
      ["keda", "hpa-external"],
      ["hpa-external", "keda"],
    ]) {
      const folder = join(work, both.join("-"));
      const at = (path: string) => relative(folder, join(ROOT, "k8s", path));
      const text = [
        ...["namespace: rcpt", `resources: [${at("base")}]`],
        `components: [${both.map((name) => at(`components/${name}`)).join(", ")}]`,
      ].join("\n");
      await assert.rejects(
        build({ name: "both", folder, text }, await findBuilder(ROOT)),
        /testing value \/metadata\/annotations\/rcpt-autoscaler failed/,
      );
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
});

it("the policy of the document for proxies on the nodes lets them into the API alone", async () => {
  const [text, ...more] = codeBlocksOf("docs/kubernetes.md")
    .map((block) => block.text)
    .filter((one) => /^kind: NetworkPolicy$/m.test(one));
  assert.deepEqual(more, []);
  const [policy] = parseDocuments(text ?? "");
  const before = listGrants(await built("production"));
  const documents = [...(await built("production")), policy ?? assert.fail()];
  assert.deepEqual(checkReferences(documents), []);
  assert.deepEqual(
    listGrants(documents).filter(({ policy: name }) => !before.some((one) => one.policy === name)),
    [
      {
        policy: "rcpt-api-from-nodes",
        workload: "Deployment/rcpt-api",
        text: "ingress from private networks TCP/8080",
      },
    ],
  );
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
