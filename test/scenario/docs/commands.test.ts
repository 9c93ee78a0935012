import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { VERSION } from "../../../src/platform/version.ts";
import { createPostgres, type Database } from "../../../src/stores/postgres/postgres.ts";
import { codeBlocksOf, documentedPages, textOfPage } from "../../support/documented/blocks.ts";
import { docker } from "../../support/documented/docker.ts";
import { createKubectl, helm, kind, unrendered } from "../../support/documented/kubernetes.ts";
import { createDocumentedMain, type DocumentedMain } from "../../support/documented/main.ts";
import { npm } from "../../support/documented/npm.ts";
import {
  type Call,
  createReaderShell,
  type ReaderShell,
  type StandIn,
  silent,
} from "../../support/documented/shell.ts";
import { blocksOf, fetchAsCurl, HAS_CURL } from "../../support/guide.ts";
import { createDeployment, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/**
 * Every block of commands of README.md, CONTRIBUTING.md and docs/, pasted into a shell as a reader does. The shell has the programs of
 * `standInsFor` and `PROGRAMS` and no others, so a command that fits none of them fails as "not found".
 */

const ROOT = resolve(import.meta.dirname, "../../..");
/** Its blocks say what they answer: test/scenario/service/api-guide.test.ts runs them and compares. */
const HAS_ANSWERS = /^# -> /m;
/** Of the section on migrations by another user, which makes a database of its own: run below. */
const OWNER = "rcpt_owner";
/** Run as they are: what documents use, and what k8s/upgrade.sh does. */
const PROGRAMS = [
  ...["cp", ...(HAS_CURL ? ["curl"] : [])],
  ...[
    "env",
    "bash",
    "mktemp",
    "rm",
    "cat",
    "cksum",
    "cut",
    "awk",
    "grep",
    "sed",
    "tr",
    "sort",
    "head",
    "tail",
    "sleep",
  ],
];
/** What no folder of a checkout holds, and what takes no part in a command. */
const NOT_LINKED = [".git", ".rcpt", ".env", "node_modules", "dist"];

const closing = createClosing();
const blocks = documentedPages()
  .flatMap((page) => codeBlocksOf(page))
  .filter(({ language, text }) => language === "sh" && !HAS_ANSWERS.test(text) && !text.includes(OWNER));
let deployment: TestDeployment;
let shell: ReaderShell;
let checkout: string;
let variables: Record<string, string>;
let main: DocumentedMain;

/** `jq -r .name` alone. */
const jq: StandIn = ({ args: [raw, path = ""], input }) => {
  assert.equal(raw, "-r");
  const value: unknown = JSON.parse(input)[path.slice(1)];
  assert.equal(typeof value, "string", `${path} of ${input}`);
  return { stdout: `${value}\n` };
};

/** Fails as the shell's own curl does. */
const curl: StandIn = async ({ args, cwd }) => {
  const { status, output } = await fetchAsCurl(args, cwd);
  return status < 400 ? { stdout: output } : { code: 22 };
};

/** Tags are made by a release: documents say VERSION. */
const git: StandIn = ({ args: [verb, name = "", ...more] }) => {
  assert.deepEqual(more, []);
  if (verb === "rev-parse" && name === "HEAD") return { stdout: `${"0".repeat(40)}\n` };
  assert.equal(verb, "checkout");
  assert.equal(name, "vVERSION");
  return {};
};

/** Programs that are not run, and why; what is checked in their place is said where it is done. */
function standInsFor({ run, node, rcpt }: DocumentedMain): Record<string, StandIn> {
  const images = new Set<string>();
  const operator = ["bootstrap", "team", "overrides", "reclassify", "doctor", "preflight"];
  const verbs = Object.fromEntries(
    operator.map((verb) => [verb, ({ args, env }: Call) => run([verb, ...args], env)]),
  );
  return {
    // Its scripts would use the services of a running `npm start`, not the test's; and many take minutes.
    npm: silent((call) => npm(call, { ...verbs, rcpt })),
    // dist/ is built for the test run elsewhere.
    node: silent(node),
    // A cluster and an engine are not part of a test run.
    kubectl: createKubectl(node),
    helm: silent(helm),
    kind: silent((call) => kind(call, images)),
    docker: (call) => docker({ run, node }, call, images),
    // It would change the checkout under test.
    git,
    // Not on every machine.
    jq,
    ...(HAS_CURL ? {} : { curl }),
  };
}

/** A checkout in which commands may write: links to what is in ours, and files that a reader has. */
function makeCheckout(folder: string): string {
  mkdirSync(folder);
  for (const name of readdirSync(ROOT).filter((entry) => !NOT_LINKED.includes(entry)))
    symlinkSync(join(ROOT, name), join(folder, name));
  writeFileSync(join(folder, "customers.csv"), blocksOf(textOfPage("docs/api.md"), "csv")[0]);
  writeFileSync(join(folder, "rcpt.env"), "LOG_LEVEL=info\n");
  writeFileSync(join(folder, "own.json"), JSON.stringify({ target: { rowsPerDay: 5_000_000 } }));
  return folder;
}

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const [{ url }, team] = await Promise.all([
    deployment.startApi(),
    deployment.team("enterprise"),
    deployment.startRelay(),
    deployment.startBulk(),
  ]);
  const folder = mkdtempSync(join(tmpdir(), "rcpt-docs-"));
  checkout = makeCheckout(join(folder, "checkout"));
  main = createDocumentedMain(deployment);
  shell = await createReaderShell(folder, standInsFor(main), PROGRAMS);
  closing.after(() => shell.close());
  variables = { URL: url, KEY: team.liveKey };
});
after(closing.close);

describe("commands of the documents", () => {
  assert.ok(blocks.length > 25);
  for (const { page, line, text } of blocks)
    it(`${page}:${line}: ${text.split("\n")[0]}`, async () => {
      const { code, output } = await shell.run(text, checkout, variables);
      assert.equal(code, 0, `${text}\n${output}`);
    });

  it("of README.md leave the results of the list", () => {
    const results = readFileSync(join(checkout, "results.csv"), "utf8");
    assert.match(results, /^name,email,rcpt_verdict,/);
    assert.equal(results.trimEnd().split("\n").length, 4);
  });

  it("of Helm render the chart", (t) => {
    assert.ok(blocks.some(({ text }) => /^helm (install|upgrade) /m.test(text)));
    if (unrendered.length > 0) t.skip(`no helm is installed: ${unrendered.length} were not rendered`);
  });

  const wrong = [
    ["a program that no test knows", "terraform apply"],
    ["a path that the API does not have", 'curl -s "$URL/v1/verification"'],
    ["a credential that is wrong", 'curl -s -H "Authorization: Bearer wrong" "$URL/v1/usage"'],
    ["an option that a command does not have", "npm run chaos -- --minute 1"],
    ["a script that there is not", "npm run upgrade"],
    ["an option that npm would take for itself", "npm run chaos --minutes 1"],
    ["an option of npm's that comes too late", "npm run chaos -- --silent"],
    ["an operator's option that there is not", "npm run team -- show you@example.com --jsn"],
    [
      "an object that no manifest has",
      "kubectl -n rcpt exec deploy/rcpt-worker -- node dist/src/main.js doctor",
    ],
    ["a port that a Service does not have", "kubectl -n rcpt port-forward svc/rcpt-api 8080:8080"],
    ["a namespace that no manifest makes", "kubectl -n default rollout restart deploy/rcpt-api"],
    ["a Deployment to read that no manifest has", "kubectl -n rcpt get deploy/no-such"],
    ["a Job to read that no manifest has", "kubectl -n rcpt get job backup"],
    ["a folder that is not there", "kubectl apply -k k8s/overlays/staging"],
    ["a stage that the Dockerfile does not have", "docker build --target prod ."],
    ["an argument that the Dockerfile does not have", "docker build --build-arg TEST=a ."],
    ["a setting with a wrong end", `docker run --rm -e LOG_LEVEL=info=x rcpt:${VERSION} migrate`],
    ["a service that compose.yaml does not have", "docker compose run --rm worker doctor"],
    ["values that are not there", "helm install rcpt k8s/chart --values nowhere.yaml"],
    ["an image that was not built", "kind load docker-image rcpt:latest"],
    ["half a command", "if true"],
  ] as const;
  for (const [what, command] of wrong)
    it(`fail with ${what}`, async () => {
      const { code, output } = await shell.run(command, checkout, variables);
      assert.notEqual(code, 0, output);
    });
});

describe("the user that only serves, of docs/operations.md", () => {
  const [made, migration, granted, ...more] = codeBlocksOf("docs/operations.md").filter(
    ({ text }) => text.includes(OWNER) || text.includes("rcpt_serving"),
  );
  const name = `documented_${process.pid}`;
  const urlOf = (role: string) => {
    const url = new URL(deployment.settings.DATABASE_URL);
    return Object.assign(url, { username: `${name}_${role}`, password: "PASSWORD", pathname: name }).href;
  };
  const owned = (text = "") =>
    text.replaceAll("rcpt_", `${name}_`).replace("database rcpt ", `database ${name} `);
  /** One by one: a database is made in no transaction. */
  async function execute(sql: Database, text: string): Promise<void> {
    for (const statement of text.split(";\n").filter((one) => one.trim() !== "")) await sql.unsafe(statement);
  }
  async function as<T>(role: string, work: (sql: Database) => Promise<T>): Promise<T> {
    const sql = createPostgres({ url: urlOf(role), maxConnections: 1, applicationName: "rcpt-scenario" });
    return work(sql).finally(() => sql.end({ timeout: 1 }));
  }
  const serves = () => main.run([], { ROLE: "relay", DATABASE_URL: urlOf("serving") });
  const refused = { code: "42501" };

  before(() => execute(deployment.sql, owned(made?.text)));
  after(async () => {
    await deployment.sql.unsafe(`drop database if exists ${name} with (force)`);
    for (const role of ["owner", "serving"]) await deployment.sql.unsafe(`drop role ${name}_${role}`);
  });

  it("can do nothing before it is granted something", async () => {
    assert.deepEqual(more, []);
    const command = owned(migration?.text).replace(/postgres:\S+/, urlOf("owner"));
    const { code, output } = await shell.run(command, checkout, variables);
    assert.equal(code, 0, output);
    await assert.rejects(serves(), /permission denied for table schema_migrations/);
  });

  it("serves then, and can change no table", async () => {
    await as("owner", (sql) => execute(sql, owned(granted?.text)));
    await serves();
    await as("serving", async (sql) => {
      await sql`select from teams`;
      await assert.rejects(sql`delete from schema_migrations`, refused);
      await assert.rejects(sql`alter table teams add column note text`, refused);
      await assert.rejects(sql`create table notes (id int)`, refused);
    });
  });

  it("serves from the tables of later versions too", async () => {
    await as("owner", (sql) => sql`create table later (id int)`);
    await as("serving", (sql) => sql`insert into later values (1)`);
  });
});
