import assert from "node:assert/strict";
import { it } from "node:test";
import { CHECKS } from "../../../../scripts/manifests/check.ts";
import { checkAllSettings, NOT_SET, settingsSet } from "../../../../scripts/manifests/checks/settings.ts";
import { SETTING_NAMES } from "../../../../src/core/config.ts";
import { findings } from "./broken.ts";
import { BUILDS, built } from "./built.ts";

/** What there is, as it is. */

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
    "Ingress",
    "PodMonitor",
    "ExternalSecret",
    "PriorityClass",
    "PrometheusRule",
  ])
    assert.ok(all.has(kind), kind);
  const kedaFree = await kinds("without KEDA, by a gateway");
  assert.ok(kedaFree.has("HTTPRoute") && !kedaFree.has("Ingress") && !kedaFree.has("ScaledObject"));
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
