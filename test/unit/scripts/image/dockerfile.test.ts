import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  expand,
  jsonForm,
  lineageOf,
  optionsOf,
  pairsOf,
  parseDockerfile,
  settingsOf,
} from "../../../../scripts/image/dockerfile.ts";
import { readDockerignore } from "../../../../scripts/image/dockerignore.ts";

const TEXT = `# a comment
ARG BASE=node:24-trixie-slim
FROM \${BASE} AS packages
WORKDIR /app
COPY package.json ./
RUN --mount=type=cache,target=/root/.npm npm ci \\
    # between continued lines
    --no-audit

FROM packages AS build
RUN npm run build

FROM \${BASE}
ARG VERSION=unknown
LABEL a.title="two words" a.version="\${VERSION}"
COPY --from=build /app/image/ ./
ENV A=1 \\
    B=\${VERSION}
USER 10001:10001
EXPOSE 8080 9090
HEALTHCHECK --interval=10s --timeout=5s CMD ["node", "health.mjs"]
ENTRYPOINT ["node", "main.js"]
`;

describe("a Dockerfile", () => {
  const dockerfile = parseDockerfile(TEXT);

  it("has stages, each of a base", () => {
    assert.deepEqual(
      dockerfile.stages.map(({ name, base }) => [name, base]),
      [
        ["packages", "node:24-trixie-slim"],
        ["build", "packages"],
        ["2", "node:24-trixie-slim"],
      ],
    );
    assert.deepEqual(
      lineageOf(dockerfile, "build").map(({ name }) => name),
      ["packages", "build"],
    );
    assert.throws(() => lineageOf(dockerfile, "absent"), /no stage absent/);
  });

  it("joins lines that go on, and leaves out comments between them", () => {
    const run = dockerfile.stages[0]?.instructions.find(({ name }) => name === "RUN");
    assert.equal(run?.line, 6);
    const { options, rest } = optionsOf(run?.text ?? "");
    assert.equal(options.get("mount"), "type=cache,target=/root/.npm");
    assert.equal(rest, "npm ci --no-audit");
  });

  it("says what a container of a stage goes by, build arguments applied", () => {
    const settings = settingsOf(dockerfile, "2", new Map([["VERSION", "1.2.3"]]));
    assert.deepEqual(settings.env, { A: "1", B: "1.2.3" });
    assert.deepEqual(settings.labels, { "a.title": "two words", "a.version": "1.2.3" });
    assert.deepEqual(settings.healthcheck, ["node", "health.mjs"]);
    assert.deepEqual(settings.entrypoint, ["node", "main.js"]);
    assert.equal(settings.user, "10001:10001");
    assert.deepEqual(settings.ports, [8080, 9090]);
    assert.equal(settingsOf(dockerfile, "build", new Map()).workdir, "/app");
  });

  it("is refused where it says what is not understood, with the line", () => {
    assert.throws(() => parseDockerfile("FROM a\nVOLUME /x\n"), /Dockerfile:2: VOLUME/);
    assert.throws(() => parseDockerfile("RUN a\n"), /Dockerfile:1: RUN before the first FROM/);
    assert.throws(() => parseDockerfile("FROM a\nRUN b \\\n"), /Dockerfile:2: .* the file ends/);
    assert.throws(() => jsonForm('["a", 1]'), /not a list of words/);
  });

  it("has words replaced by what they stand for", () => {
    const values = new Map([["A", "x"]]);
    assert.equal(expand("$" + "{A}/$A/$" + "{B}.", values), "x/x/.");
    assert.deepEqual(pairsOf('A B="c d" E=f'), [
      ["A", null],
      ["B", "c d"],
      ["E", "f"],
    ]);
  });
});

describe("what is left out of the build context", () => {
  it("goes by the last pattern that fits", () => {
    const isIgnored = readDockerignore(
      "# made here\n**/node_modules/\n*.log\n.env\n.env.*\n!.env.example\n/dist\n",
    );
    for (const path of [
      "node_modules",
      "node_modules/a/b.js",
      "k8s/node_modules/x",
      "a.log",
      ".env",
      ".env.local",
      "dist/x",
    ])
      assert.equal(isIgnored(path), true, path);
    for (const path of ["src/main.ts", "docs/a.log", ".env.example", "src/dist/x", "node_modules.md"])
      assert.equal(isIgnored(path), false, path);
  });
});
