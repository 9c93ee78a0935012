import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { renderChartSchema } from "../../../../scripts/docs/chart-settings.ts";
import {
  CHART_BUILDS,
  type ChartBuild,
  compareForms,
  equalBuilds,
  renderBuild,
} from "../../../../scripts/manifests/chart.ts";
import { checkDrain } from "../../../../scripts/manifests/checks/drain.ts";
import type { ScaledObjectSpec } from "../../../../scripts/manifests/checks/figures.ts";
import { type Document, type PodSpec, workloadsOf } from "../../../../scripts/manifests/documents.ts";
import { environmentOf } from "../../../../scripts/manifests/environment.ts";
import { findHelms, renderChart } from "../../../../scripts/manifests/helm.ts";
import { built, ROOT, the } from "./built.ts";

/** The chart beside kustomize. Without Helm what needs it is skipped: `npm run manifests` builds one where Go is installed. */

const [helm = null] = await findHelms(ROOT);
const skip = helm === null && "no helm is installed, and `npm run manifests` has built none";
const work = mkdtempSync(join(tmpdir(), "rcpt-chart-"));
after(() => rmSync(work, { recursive: true, force: true }));

function render(build: Omit<ChartBuild, "name">): Promise<Document[]> {
  assert.ok(helm);
  return renderBuild(ROOT, helm, { name: "test", ...build }, work);
}
const buildNamed = (name: string) =>
  CHART_BUILDS.find((one) => one.name === `chart, ${name}`) ?? assert.fail(name);
const podsOf = (documents: Document[]) =>
  workloadsOf(documents).filter(({ labels }) => labels["app.kubernetes.io/name"]);
const podOf = (documents: Document[], role: string): PodSpec =>
  podsOf(documents).find(({ labels }) => labels["app.kubernetes.io/component"] === role)?.pod ??
  assert.fail(role);

describe("the two forms", () => {
  it("are compared field by field", async () => {
    const documents = await built("production");
    assert.deepEqual(compareForms(documents, documents), []);
    const other = structuredClone(documents);
    the<{ minReadySeconds: number }>(other, "Deployment", "rcpt-api").spec.minReadySeconds = 6;
    other.splice(
      other.findIndex(({ kind }) => kind === "ScaledObject"),
      1,
    );
    assert.deepEqual(
      compareForms(documents, other).map(({ where, text }) => `${where} ${text}`),
      [
        "Deployment/rcpt-api spec.minReadySeconds is 6 of the chart, and 5 of kustomize",
        "ScaledObject/rcpt-bulk the chart does not make it",
      ],
    );
    assert.deepEqual(compareForms(other, documents)[1]?.text, "only the chart makes it");
  });

  for (const one of equalBuilds(ROOT))
    it(`are equal: ${one.name}`, { skip }, async () =>
      assert.deepEqual(compareForms(await built(one.name), await render(one), one.lacks), []),
    );
});

describe("the values", () => {
  it("have each setting that is no secret and no pod's, as `npm run docs` writes them", () => {
    const text = readFileSync(join(ROOT, "k8s/chart/values.schema.json"), "utf8");
    assert.equal(text, renderChartSchema(text), "run `npm run docs`");
    const { settings } = JSON.parse(text).properties as { settings: { properties: object } };
    const names = Object.keys(settings.properties);
    assert.ok(names.includes("PUBLIC_URL") && !names.includes("DATABASE_URL") && !names.includes("ROLE"));
  });

  const refused: [string, object, RegExp][] = [
    ["a setting that there is not", { settings: { PUBLIC_ULR: "x" } }, /PUBLIC_ULR/],
    ["a secret among the settings", { settings: { DATABASE_URL: "postgres://" } }, /DATABASE_URL/],
    ["a value that there is not", { imagePullSecret: "x" }, /imagePullSecret/],
    ["a role's value that there is not", { api: { replica: 2 } }, /replica/],
    ["a tag that moves", { image: { tag: "latest" } }, /image/],
    ["a gateway that it has nothing for", { gateway: { implementation: "traefik" } }, /implementation/],
    ["less time to end than a pod needs", { pods: { terminationGracePeriodSeconds: 56 } }, /57/],
    ["a bound that is no quantity", { api: { scratch: { sizeLimit: "40 GB" } } }, /sizeLimit/],
    ["a malformed host among more", { extraHosts: ["https://a.example"] }, /extraHosts/],
    ["a malformed digest", { image: { digest: "sha256:1" } }, /digest/],
    ["an autoscaler that there is not", { bulk: { autoscaling: { by: "hpa" } } }, /autoscaling\/by/],
    ["more workers than one job feeds", { bulk: { autoscaling: { maxReplicas: 33 } } }, /maxReplicas/],
    [
      "both ways in",
      { gateway: { enabled: true }, ingress: { enabled: true } },
      /one of gateway and ingress/,
    ],
    [
      "a tag beside a digest, with both ways out",
      { image: { tag: "1.2.3", digest: `sha256:${"0".repeat(64)}` } },
      /image\.tag to "" to use the digest, or image\.digest to "" to use the tag/,
    ],
    ["a sidecar beside the migration, which would not end", { migrate: { sidecars: [] } }, /sidecars/],
  ];
  for (const [what, values, expected] of refused)
    it(`refuse ${what}`, { skip }, async () => assert.rejects(render({ values }), expected));

  it("make nothing of a chart whose links were lost", { skip }, async () => {
    assert.ok(helm);
    const links = ["base", "components"].map((name) => join(ROOT, "k8s/chart", name));
    const chart = join(work, "without-links");
    cpSync(join(ROOT, "k8s/chart"), chart, { recursive: true, filter: (path) => !links.includes(path) });
    await assert.rejects(renderChart(ROOT, helm, [], chart), /the chart has no base\/api\.yaml/);
  });
});

describe("what values do", { skip }, () => {
  it("all pods have what is said of all, and a role what is said of it", async () => {
    const documents = await render(buildNamed("all values"));
    for (const { labels, pod, document } of podsOf(documents)) {
      const role = labels["app.kubernetes.io/component"] ?? "";
      const [container, sidecar] = pod.containers;
      assert.equal(labels["azure.workload.identity/use"], "true");
      assert.equal(document.metadata.labels?.team, "mail");
      assert.equal(container?.image, `ghcr.io/rcpt/rcpt@sha256:${"0".repeat(64)}`);
      assert.equal(container?.imagePullPolicy, "Always");
      assert.equal(sidecar?.name, role === "migrate" ? undefined : "proxy");
      assert.deepEqual(pod.imagePullSecrets, [{ name: "registry" }]);
      assert.deepEqual(
        pod.nodeSelector,
        role === "bulk" ? { pool: "rcpt", egress: "yes" } : { pool: "rcpt" },
      );
      assert.deepEqual(pod.tolerations, [{ key: "dedicated", operator: "Exists" }]);
      assert.deepEqual(
        pod.initContainers?.map(({ name }) => name),
        ["first"],
      );
      assert.equal(pod.priorityClassName, "company");
      assert.deepEqual(
        pod.topologySpreadConstraints?.map(({ maxSkew }) => maxSkew),
        [2],
      );
      // A role's own replaces that of all.
      const nodes = JSON.stringify(pod.affinity);
      assert.equal(nodes.includes('"zone"'), role === "api");
      assert.equal(nodes.includes("kubernetes.io/arch"), role !== "api");
      assert.ok(
        pod.volumes?.some(({ name, configMap }) => name === "private-ca" && configMap?.name === "company-ca"),
      );
      const workload = podsOf(documents).find((one) => one.pod === pod) ?? assert.fail();
      const { values } = environmentOf(documents, workload, container ?? assert.fail());
      assert.equal(values.get("NODE_EXTRA_CA_CERTS"), "/etc/rcpt/ca/root.pem");
      assert.equal(values.get("DOMAIN_SIGNALS"), "spf");
      assert.equal(values.get("RETENTION_DAYS"), "7");
      assert.equal(
        container?.env?.filter(({ name }) => name === "CHECK_THREADS").length,
        role === "api" || role === "bulk" ? 1 : 0,
      );
      if (role === "bulk") assert.equal(values.get("CHECK_THREADS"), "4");
    }
    assert.equal(podOf(documents, "migrate").serviceAccountName, "migrator");
    const account = the(documents, "ServiceAccount", "rcpt-api").metadata;
    assert.match(account.annotations?.["eks.amazonaws.com/role-arn"] ?? "", /role\/rcpt/);
    assert.equal(the<{ replicas: number }>(documents, "Deployment", "rcpt-api").spec.replicas, 3);
    assert.ok(!documents.some(({ kind }) => kind === "NetworkPolicy" || kind === "HorizontalPodAutoscaler"));
  });

  it("another namespace is that of every object, and of the relay that KEDA asks", async () => {
    const documents = await render({ preset: ["production"], args: ["--namespace", "staging"] });
    for (const { kind, metadata } of documents) assert.equal(metadata.namespace, "staging", kind);
    const text = JSON.stringify(the(documents, "ScaledObject", "rcpt-bulk"));
    assert.ok(text.includes("http://rcpt-relay-metrics.staging.svc:9090/metrics"));
  });

  it("a big number stays one", async () => {
    const documents = await render({ values: { settings: { DEFERRAL_MAX_S: 1234567890 } } });
    assert.equal(the(documents, "ConfigMap", "rcpt-settings").data?.DEFERRAL_MAX_S, "1234567890");
  });

  it("on OpenShift the namespace chooses users and groups, and a pod is still not root", async () => {
    for (const { pod } of podsOf(await render(buildNamed("openshift"))))
      assert.deepEqual(pod.securityContext, {
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
      });
  });

  it("on OpenShift the routers are let in by their label, and have their own certificate", async () => {
    const documents = await render(buildNamed("openshift"));
    type Policy = { ingress: { from: { namespaceSelector: object }[] }[] };
    assert.deepEqual(the<Policy>(documents, "NetworkPolicy", "rcpt-api-from-ingress").spec.ingress[0]?.from, [
      { namespaceSelector: { matchLabels: { "policy-group.network.openshift.io/ingress": "" } } },
    ]);
    const { spec, metadata } = the<{ tls: object[] }>(documents, "Ingress", "rcpt-api");
    assert.deepEqual(spec.tls, [{}]);
    assert.deepEqual(metadata.annotations, {
      "argocd.argoproj.io/sync-wave": "2",
      "haproxy.router.openshift.io/timeout": "180s",
    });
    const other = { openshift: true, ingress: { enabled: true, namespace: "ingress-nginx" } };
    const text = JSON.stringify(await render({ values: other }));
    assert.ok(text.includes('"ingress-nginx"') && !text.includes("policy-group"));
  });

  it("with a quota every container has limits of CPU, memory and disk", async () => {
    for (const { pod } of podsOf(await render(buildNamed("quota"))))
      for (const { resources } of pod.containers)
        assert.deepEqual(Object.keys(resources?.limits ?? {}).sort(), ["cpu", "ephemeral-storage", "memory"]);
  });

  it("what a cluster asks for is where it belongs", async () => {
    const documents = await render(buildNamed("a special cluster"));
    const graceOf = (role: string) => podOf(documents, role).terminationGracePeriodSeconds;
    assert.deepEqual(["api", "bulk", "relay", "migrate"].map(graceOf), [90, 120, 90, 90]);
    const scratchOf = (role: string) =>
      podOf(documents, role).volumes?.find(({ name }) => name === "scratch")?.emptyDir?.sizeLimit;
    assert.deepEqual([scratchOf("api"), scratchOf("bulk")], ["40Gi", "20Gi"]);
    const { spec, metadata } = the<{ hostnames: string[] }>(documents, "HTTPRoute", "rcpt-api");
    assert.deepEqual(spec.hostnames, ["rcpt.example.com", "verify.example.com"]);
    assert.deepEqual(metadata.annotations, {
      "argocd.argoproj.io/sync-wave": "2",
      "external-dns.alpha.kubernetes.io/ttl": "60",
    });
    const service = the(documents, "Service", "rcpt-api").metadata;
    assert.deepEqual(service.annotations, { "service.kubernetes.io/topology-mode": "Auto" });
    assert.equal(the(documents, "Service", "rcpt-relay-metrics").metadata.annotations, undefined);
    const { triggers } = the<ScaledObjectSpec>(documents, "ScaledObject", "rcpt-bulk").spec;
    assert.deepEqual(
      triggers.map(({ type, metadata: own }) => [type, own.databaseIndex]),
      [...Array(3).fill(["redis-streams", "3"]), ["metrics-api", undefined]],
    );
  });

  it("a role alone has its own egress, before the migration as the stores have", async () => {
    const documents = await render(buildNamed("a special cluster"));
    const extra = documents.filter(
      ({ kind, metadata }) => kind === "NetworkPolicy" && metadata.name.endsWith("-extra"),
    ) as unknown as Document<{ podSelector: { matchLabels: Record<string, string> }; egress: object[] }>[];
    assert.deepEqual(
      extra.map(({ metadata, spec }) => [
        metadata.name,
        spec.podSelector.matchLabels["app.kubernetes.io/component"],
        metadata.labels?.["rcpt-phase"],
        JSON.stringify(spec.egress).includes("ipBlock"),
      ]),
      [
        ["rcpt-bulk-extra", "bulk", "prepare", true],
        ["rcpt-relay-extra", "relay", "prepare", true],
      ],
    );
    const open = {
      networkPolicy: { enabled: false },
      relay: { extraEgress: [{}] },
      gateway: { enabled: true, implementation: "cilium" },
    };
    const none = await render({ values: open });
    assert.ok(!none.some(({ kind }) => kind.endsWith("NetworkPolicy")));
  });

  it("alerts may be those of the release's namespace alone", async () => {
    type Rules = { groups: { rules: { record?: string; expr: string }[] }[] };
    const rulesOf = async (monitoring: object) =>
      the<Rules>(
        await render({ values: { monitoring: { enabled: true, ...monitoring } } }),
        "PrometheusRule",
        "rcpt",
      ).spec.groups.flatMap(({ rules }) => rules);
    const all = await rulesOf({});
    const own = await rulesOf({ onlyOwnNamespace: true });
    assert.ok(all.length > 30);
    const metric = /\b(?:rcpt|kube|container|nodejs|process)[_:][a-z0-9_:]+/g;
    for (const [at, { expr }] of own.entries()) {
      const metrics = [...expr.matchAll(metric)];
      assert.ok(metrics.length > 0, expr);
      for (const { index, 0: name } of metrics)
        assert.ok(expr.slice(index + name.length).startsWith('{namespace="rcpt"'), expr);
      const without = expr.replaceAll(/\{namespace="rcpt"(?:, |(\}))/g, (_, end) => (end ? "" : "{"));
      assert.equal(without, all[at]?.expr);
      assert.equal(own[at]?.record, all[at]?.record);
    }
    const bare = await render({ values: { monitoring: { enabled: true, dashboard: false } } });
    assert.ok(!bare.some(({ metadata }) => metadata.name === "rcpt-dashboard"));
  });

  it("an Ingress serves each host, by one certificate", async () => {
    const values = { ingress: { enabled: true }, extraHosts: ["verify.example.com"] };
    const { spec } = the<{ rules: { host: string; http: object }[]; tls: { hosts: string[] }[] }>(
      await render({ values }),
      "Ingress",
      "rcpt-api",
    );
    const hosts = ["rcpt.example.com", "verify.example.com"];
    assert.deepEqual(
      spec.rules.map(({ host }) => host),
      hosts,
    );
    assert.deepEqual(spec.rules[0]?.http, spec.rules[1]?.http);
    assert.deepEqual(spec.tls[0]?.hosts, hosts);
  });

  it("annotations of one's own take the place of ours", async () => {
    const annotations = { "argocd.argoproj.io/sync-wave": "3" };
    for (const [kind, values] of [
      ["HTTPRoute", { gateway: { enabled: true, annotations } }],
      ["Ingress", { ingress: { enabled: true, annotations } }],
    ] as const)
      assert.deepEqual(the(await render({ values }), kind, "rcpt-api").metadata.annotations, annotations);
  });

  it("the least time to end is what checks ask for", async () => {
    const documents = await render({ values: { pods: { terminationGracePeriodSeconds: 57 } } });
    assert.deepEqual(checkDrain(documents), []);
    for (const { document } of podsOf(documents))
      (document.spec.template as { spec: PodSpec }).spec.terminationGracePeriodSeconds = 56;
    assert.match(
      checkDrain(documents)[0]?.text ?? "",
      /is killed 56 s after it is told to stop, and needs 57 s/,
    );
  });

  it("another secret is read everywhere", async () => {
    const documents = await render({ values: { secretName: "company", billing: { enabled: true } } });
    const text = JSON.stringify(podsOf(documents));
    assert.ok(text.includes('"company"') && !text.includes('"rcpt-secrets"'));
  });

  it("changed settings replace the pods", async () => {
    const annotation = async (values: object) => {
      const { template } = the<{ template: { metadata: { annotations: Record<string, string> } } }>(
        await render({ values }),
        "Deployment",
        "rcpt-relay",
      ).spec;
      return template.metadata.annotations["checksum/settings"];
    };
    const first = await annotation({});
    assert.match(first ?? "", /^[0-9a-f]{64}$/);
    assert.equal(await annotation({ api: { replicas: 4 } }), first);
    assert.notEqual(await annotation({ settings: { LOG_LEVEL: "debug" } }), first);
    assert.notEqual(await annotation({ shaping: { sites: { a: {} } } }), first);
  });
});
