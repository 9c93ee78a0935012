import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ended, ledgerState } from "../../support/bulk.ts";
import { submitAs, uploaded } from "../../support/bulk-files.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/** The choice of the column that is verified, and the report of it to the team. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api] = await Promise.all([deployment.startApi(), deployment.startRelay(), deployment.startBulk()]);
  team = await deployment.team("enterprise");
});
after(closing.close);

async function verify(list: string, options: Record<string, unknown> = {}) {
  const upload_id = await uploaded(api, team.liveKey, list);
  const submitted = await submitAs(api, team.liveKey, { upload_id, ...options });
  assert.equal(submitted.status, 202, JSON.stringify(submitted.body));
  return { upload_id, job: await ended(api, team.liveKey, submitted.body.id) };
}

const rows = (count: number, row: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => row(n)).join("");

describe("a list of contacts with their owners", () => {
  for (const [title, list, index] of [
    [
      "behind them",
      `Name,Business Email,Owner\n${rows(300, (n) => `N ${n},missing-b${n}@plain.test,exists-o${n % 3}@plain.test\n`)}`,
      1,
    ],
    [
      "in front",
      `Owner,Name,Business Email\n${rows(300, (n) => `exists-o${n % 3}@plain.test,N ${n},missing-f${n}@plain.test\n`)}`,
      2,
    ],
  ] as const)
    it(`${title}: 300 dead contacts are 300 invalid rows`, async () => {
      const { job } = await verify(list);
      assert.deepEqual(
        [job.status, job.verdicts],
        ["completed", { valid: 0, invalid: 300, risky: 0, unknown: 0 }],
      );
      assert.deepEqual(job.source.columns?.email, { index, name: "Business Email", chosen_by: "header" });
      assert.deepEqual(
        job.source.columns?.others.map(({ name, addresses, distinct }) => [name, addresses, distinct]),
        [["Owner", 300, 3]],
      );
    });
});

describe("a list with two columns that may be meant", () => {
  it("fails, costs nothing, and is verified from the same upload by the column that is said", async () => {
    const list = `Home Email,Work Email\n${rows(20, (n) => `missing-h${n}@plain.test,exists-w${n}@plain.test\n`)}`;
    const before = await ledgerState(deployment, team.id);
    const { upload_id, job } = await verify(list);
    assert.deepEqual([job.status, job.error?.code], ["failed", "email_column_ambiguous"]);
    assert.deepEqual(job.error?.candidates, [
      { index: 0, name: "Home Email", addresses: 20, distinct: 20 },
      { index: 1, name: "Work Email", addresses: 20, distinct: 20 },
    ]);
    assert.deepEqual(await ledgerState(deployment, team.id), before);
    const again = await submitAs(api, team.liveKey, { upload_id, email_column: "Work Email" });
    const done = await ended(api, team.liveKey, again.body.id);
    assert.deepEqual([done.status, done.verdicts.valid], ["completed", 20]);
    assert.deepEqual(done.source.columns?.email, { index: 1, name: "Work Email", chosen_by: "option" });
  });
});

describe("a list whose first rows do not show it", () => {
  it("is not verified by the addresses of a few", async () => {
    // A thousand rows are looked at first; the contacts' column is empty in all of them.
    const list = `Plugh,Xyzzy\n${rows(1_010, (n) => `exists-o${n % 3}@plain.test,${n > 1_003 ? `missing-l${n}@plain.test` : ""}\n`)}`;
    const { job } = await verify(list);
    assert.deepEqual([job.status, job.error?.code], ["failed", "email_column_ambiguous"]);
  });

  it("nor by one that repeats only further down", async () => {
    const list = `Plugh,Name\n${rows(30_000, (n) => `exists-r${n < 1_000 ? n : n % 3}@plain.test,N\n`)}`;
    const { job } = await verify(list);
    assert.deepEqual([job.status, job.error?.code], ["failed", "email_column_ambiguous"]);
    assert.match(job.error?.detail ?? "", /All 30000 rows with an address .* the same 1000/);
  });

  it("is verified when its name says that it is the contacts', with a warning", async () => {
    const { job } = await verify(`Email,Order\n${rows(300, (n) => `exists-c${n % 3}@plain.test,${n}\n`)}`);
    assert.deepEqual([job.status, job.verdicts.valid, job.rows.duplicates], ["completed", 300, 297]);
    assert.deepEqual(
      job.source.warnings.map(({ code }) => code),
      ["few_different_addresses"],
    );
  });
});
