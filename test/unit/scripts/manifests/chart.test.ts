import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
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
import { type Document, type PodSpec, workloadsOf } from "../../../../scripts/manifests/documents.ts";
import { environmentOf } from "../../../../scripts/manifests/environment.ts";
import { findHelm } from "../../../../scripts/manifests/helm.ts";
import { built, ROOT, the } from "./built.ts";

/** The chart beside kustomize. Without Helm what needs it is skipped: `npm run manifests` builds one where Go is installed. */

const helm = await findHelm(ROOT);
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
    ["a malformed digest", { image: { digest: "sha256:1" } }, /digest/],
    ["an autoscaler that there is not", { bulk: { autoscaling: { by: "hpa" } } }, /autoscaling\/by/],
    ["more workers than one job feeds", { bulk: { autoscaling: { maxReplicas: 33 } } }, /maxReplicas/],
    [
      "both ways in",
      { gateway: { enabled: true }, ingress: { enabled: true } },
      /one of gateway and ingress/,
    ],
  ];
  for (const [what, values, expected] of refused)
    it(`refuse ${what}`, { skip }, async () => assert.rejects(render({ values }), expected));
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
      assert.equal(sidecar?.name, "proxy");
      assert.deepEqual(pod.imagePullSecrets, [{ name: "registry" }]);
      assert.deepEqual(
        pod.nodeSelector,
        role === "bulk" ? { pool: "rcpt", egress: "yes" } : { pool: "rcpt" },
      );
      assert.deepEqual(pod.tolerations, [{ key: "dedicated", operator: "Exists" }]);
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
    const documents = await render({ preset: "production", args: ["--namespace", "staging"] });
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

  it("with a quota every container has limits of CPU, memory and disk", async () => {
    for (const { pod } of podsOf(await render(buildNamed("quota"))))
      for (const { resources } of pod.containers)
        assert.deepEqual(Object.keys(resources?.limits ?? {}).sort(), ["cpu", "ephemeral-storage", "memory"]);
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

describe("the migration", { skip }, () => {
  const jobOf = (documents: Document[]) => documents.filter(({ kind }) => kind === "Job");

  it("is made beside the pods at an install, so that waiting for them ends", async () => {
    const [job] = jobOf(await render({}));
    assert.equal(job?.metadata.name, "rcpt-migrate-1");
    assert.equal(job?.metadata.annotations?.["helm.sh/hook"], undefined);
  });

  it("is a hook before everything else at an upgrade, with the new settings", async () => {
    const documents = await render({
      values: { settings: { LOG_LEVEL: "debug" } },
      args: ["--is-upgrade"],
    });
    const [job, ...more] = jobOf(documents);
    assert.deepEqual(more, []);
    assert.equal(job?.metadata.annotations?.["helm.sh/hook"], "pre-upgrade");
    const hooks = documents.filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"] !== undefined);
    assert.deepEqual(
      hooks.map(({ metadata }) => metadata.name),
      ["rcpt-migrate-settings", "rcpt-migrate-shaping", "rcpt-migrate-1"],
    );
    const pod = podOf(documents, "migrate");
    assert.equal(pod.containers[0]?.envFrom?.[0]?.configMapRef?.name, "rcpt-migrate-settings");
    assert.ok(pod.volumes?.some(({ configMap }) => configMap?.name === "rcpt-migrate-shaping"));
    assert.equal(the(documents, "ConfigMap", "rcpt-migrate-settings").data?.LOG_LEVEL, "debug");
  });

  it("can be left out", async () =>
    assert.deepEqual(jobOf(await render({ values: { migrate: { enabled: false } } })), []));
});
