import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type ChartBuild, renderBuild } from "../../../../scripts/manifests/chart.ts";
import { checkOrder } from "../../../../scripts/manifests/checks/order.ts";
import { type Document, type PodSpec, workloadsOf } from "../../../../scripts/manifests/documents.ts";
import { findHelms } from "../../../../scripts/manifests/helm.ts";
import { ROOT, the } from "./built.ts";

/** How the chart migrates: before each release, and with all that it needs. */

const [helm = null] = await findHelms(ROOT);
const skip = helm === null && "no helm is installed, and `npm run manifests` has built none";
const work = mkdtempSync(join(tmpdir(), "rcpt-chart-"));
after(() => rmSync(work, { recursive: true, force: true }));

function render(build: Omit<ChartBuild, "name">): Promise<Document[]> {
  assert.ok(helm);
  return renderBuild(ROOT, helm, { name: "test", ...build }, work);
}
const podOf = (documents: Document[]): PodSpec =>
  workloadsOf(documents).find(({ document }) => document.kind === "Job")?.pod ?? assert.fail();
const egress = (cidr: string) => ({ to: [{ ipBlock: { cidr } }], ports: [{ protocol: "TCP", port: 5432 }] });

describe("the migration", { skip }, () => {
  const jobOf = (documents: Document[]) => documents.filter(({ kind }) => kind === "Job");

  const hooksOf = (documents: Document[]) =>
    documents.filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"] !== undefined);

  it("is a hook before everything else, at an install as at an upgrade, with what it needs", async () => {
    const values = { settings: { LOG_LEVEL: "debug" }, migrate: { extraEgress: [egress("10.9.0.0/24")] } };
    const documents = await render({ preset: ["production"], values });
    assert.deepEqual(await render({ preset: ["production"], values, args: ["--is-upgrade"] }), documents);
    const [job, ...more] = jobOf(documents);
    assert.deepEqual(more, []);
    // Without Argo CD's annotations, which it would take in place of Helm's.
    assert.deepEqual(job?.metadata.annotations, { "helm.sh/hook": "pre-install,pre-upgrade" });
    assert.deepEqual(
      hooksOf(documents).map(({ kind, metadata }) => `${kind}/${metadata.name}`),
      [
        "NetworkPolicy/rcpt-migrate",
        "ServiceAccount/rcpt-migrate",
        "ConfigMap/rcpt-migrate-settings",
        "ConfigMap/rcpt-migrate-shaping",
        "Job/rcpt-migrate-1",
        "ExternalSecret/rcpt-migrate-secrets",
      ],
    );
    for (const { metadata } of hooksOf(documents).filter((one) => one !== job)) {
      assert.equal(metadata.annotations?.["helm.sh/hook-weight"], "-1", metadata.name);
      assert.match(metadata.annotations?.["helm.sh/hook-delete-policy"] ?? "", /hook-succeeded/);
    }
    const pod = podOf(documents);
    assert.equal(pod.containers[0]?.envFrom?.[0]?.configMapRef?.name, "rcpt-migrate-settings");
    assert.ok(pod.volumes?.some(({ configMap }) => configMap?.name === "rcpt-migrate-shaping"));
    const secrets = pod.containers[0]?.env?.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []);
    assert.deepEqual(new Set(secrets), new Set(["rcpt-migrate-secrets"]));
    assert.equal(the(documents, "ConfigMap", "rcpt-migrate-settings").data?.LOG_LEVEL, "debug");
    const ways = JSON.stringify(documents.find(({ metadata }) => metadata.name === "rcpt-migrate")?.spec);
    for (const cidr of ["10.20.0.0/24", "10.9.0.0/24", "169.254.20.10/32"])
      assert.ok(ways.includes(cidr), cidr);
  });

  it("reads the Secret that is there before the release, where no store has it", async () => {
    const documents = await render({ values: { secretName: "company" } });
    const text = JSON.stringify(podOf(documents));
    assert.ok(text.includes('"company"') && !text.includes("rcpt-migrate-secrets"));
  });

  it("reads the copy of a store's secrets wherever its pod reads them", async () => {
    const source = { secret: { name: "company", items: [{ key: "ca.crt", path: "ca" }] } };
    const added = {
      envFrom: [{ secretRef: { name: "company" } }, { secretRef: { name: "other" } }],
      volumes: [
        { name: "files", secret: { secretName: "company" } },
        { name: "more", projected: { sources: [source] } },
      ],
      initContainers: [
        {
          ...{ name: "proxy", image: "registry.example.com/proxy:1.0.0" },
          env: [{ name: "URL", valueFrom: { secretKeyRef: { name: "company", key: "DATABASE_URL" } } }],
        },
      ],
    };
    const documents = await render({
      preset: ["production"],
      values: { secretName: "company", privateCa: { secretName: "company" }, pods: added },
    });
    assert.deepEqual(checkOrder(documents), []);
    const text = JSON.stringify(podOf(documents));
    assert.ok(!text.includes('"company"') && text.includes('"other"'), text);
    for (const { document, pod } of workloadsOf(documents).filter((one) => one.document.kind !== "Job")) {
      const read = JSON.stringify(pod);
      assert.ok(read.includes('"company"') && !read.includes("rcpt-migrate-secrets"), document.metadata.name);
    }
    const job = podOf(documents);
    const breaks: [string, () => void][] = [
      ["envFrom", () => job.containers[0]?.envFrom?.push({ secretRef: { name: "company" } })],
      ["a volume", () => job.volumes?.push({ name: "x", secret: { secretName: "company" } })],
      ["a part of one", () => job.volumes?.push({ name: "x", projected: { sources: [source] } })],
    ];
    for (const [what, breakIt] of breaks) {
      const before = structuredClone(job);
      breakIt();
      const found = checkOrder(documents).map(({ where }) => where);
      assert.ok(found.includes("ExternalSecret/company"), what);
      Object.assign(job, before);
    }
  });

  const name = "rcpt";
  const shared: [string, object, RegExp | null][] = [
    [
      "the chart makes for it, and deletes",
      { migrate: { serviceAccount: { name } }, relay: { serviceAccount: { create: false, name } } },
      /migrate\.serviceAccount\.name is rcpt, as relay\.serviceAccount\.name is/,
    ],
    [
      "the chart makes for others, after it",
      { migrate: { serviceAccount: { create: false, name } }, api: { serviceAccount: { name } } },
      /Give it a name of its own, or make the account yourself/,
    ],
    [
      "is there before",
      {
        migrate: { serviceAccount: { create: false, name } },
        api: { serviceAccount: { create: false, name } },
      },
      null,
    ],
    [
      "it has not, since it is left out",
      { migrate: { enabled: false, serviceAccount: { name } }, api: { serviceAccount: { name } } },
      null,
    ],
  ];
  for (const [what, values, refused] of shared)
    it(`${refused === null ? "may share" : "cannot share"} an account that ${what}`, async () => {
      if (refused !== null) await assert.rejects(render({ values }), refused);
      else await render({ values });
    });

  it("has no part in a rollback: no object of the release is its own", async () => {
    const values = { migrate: { extraEgress: [egress("10.9.0.0/24")] } };
    const documents = await render({ preset: ["production"], values });
    const kept = documents.filter((one) => !hooksOf([one]).length);
    assert.ok(!JSON.stringify(kept).includes("rcpt-migrate"));
  });

  it("lacks what comes with the release after it, and the check says so", async () => {
    const documents = await render({ preset: ["production"] });
    assert.deepEqual(checkOrder(documents), []);
    for (const name of ["rcpt-migrate", "rcpt-migrate-settings", "rcpt-migrate-secrets"])
      for (const one of documents.filter(({ metadata }) => metadata.name === name))
        delete one.metadata.annotations;
    assert.deepEqual([...new Set(checkOrder(documents).map(({ where }) => where))].sort(), [
      ...["ConfigMap/rcpt-migrate-settings", "ExternalSecret/rcpt-migrate-secrets"],
      ...["NetworkPolicy/rcpt-dns", "NetworkPolicy/rcpt-https", "NetworkPolicy/rcpt-migrate"],
      ...["NetworkPolicy/rcpt-stores", "ServiceAccount/rcpt-migrate"],
    ]);
  });

  it("can be left out", async () =>
    assert.deepEqual(jobOf(await render({ values: { migrate: { enabled: false } } })), []));
});
