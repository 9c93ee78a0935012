import assert from "node:assert/strict";
import { it } from "node:test";
import { sourcesFor } from "../../../../scripts/embedded/release-sources.ts";

const SOURCES = `Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://third.example/repository
Suites: nodistro
Components: main
`;
const LIST = `# a comment
deb http://mirror.example/debian-security bookworm-security main
deb [signed-by=/x.gpg] http://third.example/apt cloud-sdk-bookworm main
`;

it("takes the distribution's own sources for another release, and no others", () => {
  const found = sourcesFor({ list: LIST, sources: SOURCES }, "bookworm", "trixie");
  assert.equal(found.list, "deb http://mirror.example/debian-security trixie-security main\n");
  assert.equal(
    found.sources,
    `Types: deb
URIs: http://mirror.example/debian
Suites: trixie trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`,
  );
});
