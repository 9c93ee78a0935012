import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { parseEnv } from "node:util";
import { parse } from "yaml";
import { readBase } from "../../../../scripts/image/base.ts";
import { lineageOf, optionsOf, parseDockerfile, settingsOf } from "../../../../scripts/image/dockerfile.ts";
import { readDockerignore } from "../../../../scripts/image/dockerignore.ts";
import { loadConfig, SETTING_NAMES } from "../../../../src/config/config.ts";

const ROOT = resolve(import.meta.dirname, "../../../..");
const textOf = (name: string) => readFileSync(join(ROOT, name), "utf8");
const NAMES: readonly string[] = SETTING_NAMES;
/** Variables of Node.js and of the system, which are no settings of ours. */
const NOT_OURS = ["NODE_ENV", "HOME", "PATH"];

interface Service {
  image: string;
  environment?: Record<string, string>;
  ports?: string[];
  command?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  tmpfs?: string[];
  volumes?: string[];
  stop_grace_period?: string;
  healthcheck?: { test?: string[]; disable?: boolean };
  depends_on?: Record<string, { condition: string }>;
}

const compose = parse(textOf("compose.yaml"), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, null>;
};
const services = Object.entries(compose.services);
const ours = services.filter(([, { image }]) => image.startsWith("rcpt:"));
const dockerfile = parseDockerfile(textOf("Dockerfile"));
const production = settingsOf(dockerfile, "production", new Map([["VERSION", "1.2.3"]]));

/** Replaces `${NAME:-standard}` and `${NAME:?why}` by the value in `env`, or else by the default. */
function filledIn(value: string, env: Readonly<Record<string, string | undefined>>): string {
  return value.replaceAll(
    /\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}/g,
    (_, name, standard) => env[name] || standard || "",
  );
}

describe("the Dockerfile", () => {
  it("has a build, a test and a production stage on one pinned base", () => {
    const names = dockerfile.stages.map(({ name }) => name);
    assert.deepEqual(names, ["packages", "test", "build", "production"]);
    for (const name of names) {
      const [first] = lineageOf(dockerfile, name);
      assert.deepEqual(readBase(first?.base ?? ""), { node: "24", release: "trixie" });
    }
    assert.equal(names.at(-1), "production", "what is built when no target is named");
  });

  it("installs by the lockfile alone, and names no latest of anything", () => {
    const steps = dockerfile.stages
      .flatMap(({ instructions }) => instructions)
      .filter(({ name }) => name === "RUN");
    const installs = steps.filter(({ text }) => /\bnpm (ci|i|install)\b/.test(text));
    assert.deepEqual(
      installs.map(({ text }) => optionsOf(text).rest.split(" ").slice(0, 2).join(" ")),
      ["npm ci"],
    );
    assert.doesNotMatch(textOf("Dockerfile"), /:latest|@latest/);
  });

  it("runs the entry as a user by number, with the built files alone", () => {
    assert.match(production.user, /^[1-9]\d{3,}:[1-9]\d{3,}$/);
    assert.deepEqual(production.entrypoint, ["node", "dist/src/main.js"]);
    assert.equal(production.stopSignal, "SIGTERM");
    const stage = dockerfile.stages.find(({ name }) => name === "production");
    const copies = stage?.instructions.filter(({ name }) => name === "COPY") ?? [];
    assert.deepEqual(
      copies.map(({ text }) => optionsOf(text).options.get("from")),
      ["build"],
    );
    assert.equal(production.labels["org.opencontainers.image.version"], "1.2.3");
  });

  it("says the ports that the settings have by default, and sets nothing that is no setting", () => {
    const { http, scratchDir } = loadConfig({
      DATABASE_URL: "postgres://x/y",
      REDIS_URL: "redis://x",
      SCRATCH_DIR: production.env.SCRATCH_DIR,
    });
    assert.deepEqual(production.ports, [http.port, http.metricsPort]);
    assert.equal(scratchDir, "/scratch");
    // Otherwise it could not be scraped from outside of the container.
    assert.equal(production.env.METRICS_HOST, "0.0.0.0");
    const unknown = Object.keys(production.env).filter(
      (name) => !NAMES.includes(name) && !NOT_OURS.includes(name),
    );
    assert.deepEqual(unknown, []);
  });

  it("runs steps and a health check that the project has", () => {
    const texts = dockerfile.stages.flatMap(({ instructions }) => instructions.map(({ text }) => text));
    const scripts = texts.flatMap((text) => text.match(/scripts\/\S+\.(?:ts|mjs)/g) ?? []);
    assert.ok(scripts.length > 0);
    for (const script of scripts) assert.ok(existsSync(join(ROOT, script)), script);
    const verbs = texts.flatMap((text) =>
      [...text.matchAll(/npm run (?:--silent )?([\w-]+)/g)].map(([, verb]) => verb),
    );
    const { scripts: known } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
    for (const verb of verbs) assert.ok(verb !== undefined && verb in known, verb);
    assert.deepEqual(production.healthcheck, ["node", "health.mjs"]);
    assert.ok(existsSync(join(ROOT, "scripts/image/health.mjs")));
  });
});

describe("the build context", () => {
  const isIgnored = readDockerignore(textOf(".dockerignore"));

  it("has nothing of what is made, kept or secret on a machine", () => {
    const secret = [
      ".git/config",
      ".git",
      ".rcpt/env",
      "node_modules/x/y.js",
      "dist/src/main.js",
      ".env",
      "a.log",
    ];
    for (const path of secret) assert.equal(isIgnored(path), true, path);
    const entries = textOf(".gitignore").trim().split("\n");
    for (const entry of entries) {
      const path = entry.replace("*", "x").replace(/\/$/, "/file");
      assert.equal(isIgnored(path), true, `${entry} is not for git, but for the image`);
    }
  });

  it("has what the build and the tests read", () => {
    for (const path of [
      "src/main.ts",
      "package-lock.json",
      ".npmrc",
      "scripts/image/assemble.ts",
      "Dockerfile",
      ".env.example",
    ])
      assert.equal(isIgnored(path), false, path);
  });
});

describe("compose.yaml", () => {
  const example = parseEnv(textOf(".env.example"));

  it("runs every role and the migration, from one image", () => {
    const roles = ours.map(([name, { environment, command }]) => environment?.ROLE ?? command?.[0] ?? name);
    assert.deepEqual(roles.sort(), ["api", "bulk", "migrate", "relay"]);
    assert.equal(new Set(ours.map(([, { image }]) => image)).size, 1);
  });

  it("pins every image", () => {
    for (const [name, { image }] of services) {
      const [, tag = ""] = /:([^:/]+)$/.exec(filledIn(image, example)) ?? [];
      assert.match(tag, /\d+\.\d+|\d{4}-\d{2}-\d{2}/, name);
    }
  });

  it("gives our service settings that there are, of values that are taken", () => {
    const filled = { ...example, SECRETS_KEY: Buffer.alloc(32).toString("base64") };
    for (const name of ["POSTGRES_PASSWORD", "VALKEY_PASSWORD", "MINIO_PASSWORD"] as const)
      Object.assign(filled, { [name]: "secret123" });
    for (const [name, { environment = {} }] of ours) {
      assert.deepEqual(
        Object.keys(environment).filter((setting) => !NAMES.includes(setting)),
        [],
        name,
      );
      const env = Object.entries(environment).map(([key, value]) => [key, filledIn(value, filled)]);
      const config = loadConfig(Object.fromEntries(env));
      assert.ok(config.objects !== null && config.secretsKey !== null);
      const graceS = Number(/^(\d+)s$/.exec(compose.services[name]?.stop_grace_period ?? "")?.[1]);
      assert.ok(graceS * 1_000 > config.shutdownGraceMs, `${name} is killed before it has ended`);
    }
  });

  it("asks of .env what .env.example has, and nothing else is in there", () => {
    const asked = [...textOf("compose.yaml").matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name = ""]) => name);
    assert.deepEqual([...new Set(asked)].sort(), Object.keys(example).sort());
    const secrets = Object.entries(example).filter(([name]) => /PASSWORD|KEY/.test(name));
    for (const [name, value] of secrets) assert.equal(value, "", `${name} is for whoever deploys to choose`);
  });

  it("lets our containers do nothing that they need not", () => {
    for (const [name, service] of ours) {
      assert.equal(service.read_only, true, name);
      assert.deepEqual(service.cap_drop, ["ALL"], name);
      assert.deepEqual(service.security_opt, ["no-new-privileges:true"], name);
      assert.deepEqual(service.tmpfs, ["/tmp"], name);
    }
  });

  it("publishes on loopback alone", () => {
    const ports = services.flatMap(([, service]) => service.ports ?? []);
    assert.ok(ports.length > 0);
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/);
  });

  it("starts each when what it needs is there", () => {
    for (const [name, { depends_on = {} }] of ours) {
      for (const [needed, { condition }] of Object.entries(depends_on)) {
        const service = compose.services[needed];
        assert.ok(service !== undefined, `${name} needs ${needed}`);
        if (condition === "service_healthy") assert.ok(service.healthcheck?.test !== undefined, needed);
        else assert.equal(condition, "service_completed_successfully");
      }
      if (name !== "migrate") assert.ok("migrate" in depends_on, name);
    }
    assert.equal(compose.services.migrate?.healthcheck?.disable, true);
  });

  it("keeps what is to be kept in volumes that are declared, and evicts from the cache what has a lifetime alone", () => {
    const used = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(":")[0]));
    assert.deepEqual(used.sort(), Object.keys(compose.volumes).sort());
    const command = compose.services.valkey?.command ?? [];
    // The image's entry gives up root for this name alone.
    assert.equal(command[0], "valkey-server");
    assert.match(command.join(" "), /--maxmemory-policy volatile-lru/);
    assert.match(command.join(" "), /--appendonly yes/);
  });
});
