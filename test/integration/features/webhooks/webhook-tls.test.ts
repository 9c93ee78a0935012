import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { selfSignedCertificate } from "../../../support/mail-world/certificate.ts";

const FIXTURE = resolve(import.meta.dirname, "webhook-tls.fixture.ts");

describe("a delivery over TLS", () => {
  it("trusts the system's CAs, for the name of the URL and no other, whatever the environment says", async (t) => {
    const { key, cert } = selfSignedCertificate("hooks.example.com");
    const folder = mkdtempSync(join(tmpdir(), "rcpt-tls-"));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "trusted.pem"), cert);
    let served = 0;
    const server = createServer({ key, cert }, (_, response) => {
      served += 1;
      response.writeHead(204).end();
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    t.after(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const hosts = ["hooks.example.com", "other.example.com", "127.0.0.1"];

    const outcomes = (trusted: boolean) =>
      new Promise<unknown>((told, failed) => {
        const child = fork(
          FIXTURE,
          hosts.map((host) => `https://${host}:${port}/`),
          {
            execArgv: ["--import", "tsx"],
            env: {
              ...process.env,
              NODE_TLS_REJECT_UNAUTHORIZED: "0",
              NODE_NO_WARNINGS: "1",
              ...(trusted ? { NODE_EXTRA_CA_CERTS: join(folder, "trusted.pem") } : {}),
            },
          },
        );
        child.once("message", told);
        child.once("exit", () => failed(new Error("ended without a word")));
      });
    assert.deepEqual(await outcomes(true), [204, "tls_failure", "tls_failure"]);
    assert.deepEqual(await outcomes(false), ["tls_failure", "tls_failure", "tls_failure"]);
    assert.equal(served, 1);
  });
});
