import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { parseDockerfile } from "../../../../scripts/image/dockerfile.ts";
import type { BuildStep, Room } from "../../../../scripts/image/room.ts";
import { Build } from "../../../../scripts/image/stages.ts";

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const TEXT = `ARG BASE=node:24-trixie-slim
FROM \${BASE} AS packages
WORKDIR /app
COPY package.json ./
RUN --mount=type=cache,target=/root/.npm install

FROM packages AS build
ARG VERSION=none
ARG EMPTY
ENV SAID=\${VERSION}
COPY . .
RUN make out

FROM \${BASE} AS production
WORKDIR /app
COPY --from=build /app/out/ ./
`;

/** A room whose steps write their command into `made-by`, and end with `how`. */
function recording(stacksLayers: boolean, how = "exit code 0") {
  const steps: BuildStep[] = [];
  const room: Room = {
    description: "nowhere",
    stacksLayers,
    build(step) {
      steps.push(step);
      const folder = join(step.layers[0] ?? "", step.workdir, "out");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "made-by"), step.command);
      writeFileSync(step.logFile, `said by ${step.command}\n`);
      return { pid: 0, ended: how, exited: Promise.resolve(how), lastLines: () => "" };
    },
    start: () => assert.fail("nothing is to run"),
  };
  return { room, steps };
}

function buildOf(room: Room, text = TEXT) {
  const folder = mkdtempSync(join(tmpdir(), "rcpt-stages-"));
  folders.push(folder);
  const files = { "package.json": "{}", "src/a.ts": "a", ".env": "secret", "src/node_modules/x/y": "y" };
  const context = join(folder, "context");
  for (const [path, content] of Object.entries({ ...files, ".dockerignore": ".env\n**/node_modules/\n" })) {
    mkdirSync(dirname(join(context, path)), { recursive: true });
    writeFileSync(join(context, path), content);
  }
  const work = join(folder, "work");
  mkdirSync(work);
  const said: string[] = [];
  const buildArgs = new Map([["VERSION", "1.2.3"]]);
  const say = (line: string) => said.push(line);
  return {
    said,
    build: new Build({ dockerfile: parseDockerfile(text), context, work, room, buildArgs, say }),
  };
}

describe("building stages", () => {
  it("carries out each stage once, what it is made from before it", async () => {
    const { room, steps } = recording(true);
    const { build, said } = buildOf(room);
    const { layers } = await build.stage("production");
    await build.stage("build");
    assert.deepEqual(said, ["packages: RUN install", "build: RUN make out"]);
    assert.deepEqual(
      steps.map(({ workdir, wantsNpmCache }) => [workdir, wantsNpmCache]),
      [
        ["/app", true],
        ["/app", false],
      ],
    );
    const [first = ""] = layers;
    assert.equal(readFileSync(join(first, "app/made-by"), "utf8"), "make out");
    assert.deepEqual(
      readdirSync(join(first, "app")),
      ["made-by"],
      "of the other stage what is copied, and no more",
    );
  });

  it("passes steps their arguments and environment, without unset ones", async () => {
    const { room, steps } = recording(true);
    await buildOf(room).build.stage("build");
    assert.deepEqual(steps[1]?.env, { VERSION: "1.2.3", SAID: "1.2.3" });
  });

  it("leaves out of the context what is ignored", async () => {
    const { room } = recording(true);
    const [layer = "", below = ""] = (await buildOf(room).build.stage("build")).layers;
    assert.ok(existsSync(join(layer, "app/src/a.ts")));
    assert.ok(!existsSync(join(layer, "app/.env")));
    assert.ok(!existsSync(join(layer, "app/src/node_modules")));
    assert.deepEqual(readdirSync(join(below, "app")).sort(), ["out", "package.json"]);
  });

  it("has all of a stage in one folder where layers cannot be laid over each other", async () => {
    const { room } = recording(false);
    const [layer = ""] = (await buildOf(room).build.stage("build")).layers;
    assert.deepEqual(readdirSync(join(layer, "app")).sort(), [".dockerignore", "out", "package.json", "src"]);
  });

  it("ends with the step that failed, its line and what it said", async () => {
    const { room } = recording(true, "exit code 3");
    await assert.rejects(
      buildOf(room).build.stage("production"),
      /Dockerfile:5: RUN install: exit code 3\nsaid by install/,
    );
  });

  it("refuses a COPY of a missing file, or to an ambiguous target", async () => {
    const { room } = recording(true);
    const text = "FROM a AS x\nWORKDIR /app\nFROM b AS y\nCOPY --from=x /app/absent/ ./\n";
    await assert.rejects(buildOf(room, text).build.stage("y"), /the stage has no \/app\/absent/);
    await assert.rejects(
      buildOf(room, "FROM a AS x\nCOPY package.json p\n").build.stage("x"),
      /p may be a file or a folder/,
    );
  });
});
