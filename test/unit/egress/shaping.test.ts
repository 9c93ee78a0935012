import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { loadShaping } from "../../../src/egress/shaping.ts";
import { PROVIDER_MX_SUFFIXES } from "../../../src/verification/lists/providers.ts";

const shaping = loadShaping();
const file = createRequire(import.meta.url)("../../../src/egress/shaping.json");

describe("shaping", () => {
  it("treats everybody unknown alike", () => {
    const standard = {
      maxConnections: 10,
      transactionsPerSession: null,
      rejectionsPerSession: null,
      tls: "opportunistic",
      pipelineDepthMax: 10,
    };
    assert.deepEqual(shaping.policyFor(null), standard);
    assert.deepEqual(shaping.policyFor("nobody"), standard);
    assert.deepEqual(shaping.policyFor("__proto__"), standard);
  });

  it("takes from a provider what is given and the rest from the default", () => {
    assert.deepEqual(shaping.policyFor("google"), {
      maxConnections: 5,
      transactionsPerSession: 50,
      rejectionsPerSession: null,
      tls: "required",
      pipelineDepthMax: 10,
    });
    assert.equal(shaping.policyFor("orange").maxConnections, 2);
    assert.equal(shaping.policyFor("apple").transactionsPerSession, 5);
  });

  it("knows the sites whose answers are meaningless", () => {
    assert.equal(shaping.isUnverifiable("yahoo"), true);
    assert.equal(shaping.isUnverifiable("google"), false);
    assert.equal(shaping.isUnverifiable(null), false);
  });

  it("speaks of providers that sites roll up to", () => {
    for (const provider of Object.keys(file.providers)) assert.ok(provider in PROVIDER_MX_SUFFIXES, provider);
  });
});
