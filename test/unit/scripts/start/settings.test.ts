import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseEnv } from "node:util";
import { publicUrlSetting, wantedServices, writeEnvFile } from "../../../../scripts/start/settings.ts";

const folder = mkdtempSync(join(tmpdir(), "rcpt-settings-"));
after(() => rmSync(folder, { recursive: true }));

test("a service that the user has is not started", () => {
  assert.deepEqual(wantedServices({}), ["postgres", "redis", "objects"]);
  assert.deepEqual(wantedServices({ DATABASE_URL: "postgres://x/y" }), ["redis", "objects"]);
  assert.deepEqual(wantedServices({ DATABASE_URL_FILE: "/run/secrets/db", REDIS_URL: "redis://x" }), [
    "objects",
  ]);
  assert.deepEqual(wantedServices({ S3_BUCKET: "b" }), ["postgres", "redis"]);
  assert.deepEqual(wantedServices({ DATABASE_URL: "", S3_ENDPOINT: "http://x" }), ["postgres", "redis"]);
});

test("the service gets its public URL, unless it is set or the port is unknown", () => {
  assert.deepEqual(publicUrlSetting({ HOST: "127.0.0.1" }, "8080"), { PUBLIC_URL: "http://127.0.0.1:8080" });
  assert.deepEqual(publicUrlSetting({ HOST: "0.0.0.0" }, "81"), { PUBLIC_URL: "http://127.0.0.1:81" });
  assert.deepEqual(publicUrlSetting({ PUBLIC_URL: "https://api.example.com" }, "8080"), {});
  assert.deepEqual(publicUrlSetting({ PUBLIC_URL_FILE: "/run/secrets/url" }, "8080"), {});
  for (const port of ["", "0"]) assert.deepEqual(publicUrlSetting({}, port), {});
});

test("the env file gives back what was written, and is private", () => {
  const file = join(folder, "env");
  const env = {
    DATABASE_URL: "postgres://u:p#w$x@h/d?a=b",
    S3_SECRET_ACCESS_KEY: 'it\'s "so"',
    PATH: "/bin",
  };
  writeEnvFile(file, env);
  const { PATH: _, ...expected } = env;
  assert.deepEqual({ ...parseEnv(readFileSync(file, "utf8")) }, expected);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test("what no quotation marks can hold is refused", () => {
  for (const secret of ["a\nPATH=/tmp", "'\"`"])
    assert.throws(
      () => writeEnvFile(join(folder, "bad"), { S3_SECRET_ACCESS_KEY: secret }),
      /cannot be written/,
    );
});
