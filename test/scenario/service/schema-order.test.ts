import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { MIGRATIONS } from "../../../src/stores/postgres/migrations/index.ts";
import { createProcesses, startAlive } from "../../support/processes.ts";
import { createDeployment, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/** Roll-outs in either order: pods whose schema is too old are not ready, so that one stops; those with a newer one serve. */
const closing = createClosing();
const processes = createProcesses();
let deployment: TestDeployment;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  closing.after(() => processes.close());
});
after(closing.close);

const ROLES = ["api", "bulk", "relay"];

const start = (ROLE: string) =>
  startAlive((METRICS_PORT) => processes.start({ ...deployment.settings, ROLE, METRICS_PORT }));

it("on a schema that is older each role is alive and not ready, until it is migrated", async () => {
  const { sql } = deployment;
  const last = MIGRATIONS.at(-1)?.id ?? assert.fail();
  const [row] = await sql`delete from schema_migrations where id = ${last} returning *`;
  assert.ok(row);
  const waiting = await Promise.all(ROLES.map(start));
  for (const { probe } of waiting) assert.equal(await probe("/readyz"), 503);
  await sql`insert into schema_migrations ${sql(row)}`;
  for (const { main, probe } of waiting) {
    await main.ready;
    assert.equal(await probe("/readyz"), 200);
  }
});

it("on a schema that is newer, as after a rollback, each role becomes ready", async () => {
  await deployment.sql`insert into schema_migrations (id, name, checksum) values (9999, 'tomorrow', '')`;
  for (const { main, probe } of await Promise.all(ROLES.map(start))) {
    await main.ready;
    assert.equal(await probe("/readyz"), 200);
  }
});
