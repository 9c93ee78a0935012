import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { CreatedKey } from "../../../src/features/teams/keys.ts";
import { addKey } from "../../support/members.ts";
import { newClient, PASSWORD } from "../../support/portal.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** A credential that is taken away while it makes keys as fast as it can, of two processes. */
const closing = createClosing();
let deployment: TestDeployment;
let one: TestApi;
let two: TestApi;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  const settings = { TRUSTED_PROXIES: "127.0.0.1" };
  [one, two] = await Promise.all([deployment.startApi(settings), deployment.startApi(settings)]);
});
after(closing.close);

/** The test measures the refusal of the credential, so no limit of the team may refuse first. */
const UNLIMITED_WRITES = { writesPerS: 100_000, writesBurst: 100_000 };

interface Mint {
  beganMs: number;
  status: number;
  secret: string | null;
}

interface Minting {
  mints: Mint[];
  stop(): Promise<void>;
}

/** Makes keys with `key`, four at a time at each process, each revoked at once by `keeper`: a team has so many. */
function startMinting(key: string, keeper: string): Minting {
  const mints: Mint[] = [];
  let stopping = false;
  async function mint(api: TestApi): Promise<void> {
    const beganMs = performance.now();
    const made = await api.send<CreatedKey>("POST", "/v1/keys", {
      key,
      body: { label: "heir", env: "live" },
      // Refused credentials are charged to the address that sent them, which must not run out.
      headers: newClient(),
    });
    mints.push({ beganMs, status: made.status, secret: made.status === 201 ? made.body.secret : null });
    if (made.status === 201 && mints.length < 40)
      await one.send("DELETE", `/v1/keys/${made.body.id}`, { key: keeper });
  }
  async function work(api: TestApi): Promise<void> {
    while (!stopping) await mint(api);
  }
  const workers = [one, two].flatMap((api) => Array.from({ length: 4 }, () => work(api)));
  return {
    mints,
    async stop() {
      stopping = true;
      await Promise.all(workers);
    },
  };
}

/** Mints with `key` while `end` ends it: what began after its answer made nothing, in either process. */
async function endWhileMinting(teamId: string, key: string, keeper: string, end: () => Promise<number>) {
  const { mints, stop } = startMinting(key, keeper);
  const keyCount = async () => (await deployment.sql`select from api_keys where team_id = ${teamId}`).length;
  try {
    await until("both mint", () => mints.filter(({ status }) => status === 201).length >= 20);
    assert.equal(await end(), 204);
    const endedMs = performance.now();
    const after = await keyCount();
    const late = () => mints.filter(({ beganMs }) => beganMs > endedMs);
    await until("many tried afterwards", () => late().length >= 60);
    assert.deepEqual([...new Set(late().map(({ status }) => status))], [401]);
    await stop();
    assert.ok((await keyCount()) <= after, "a key was made after the end");
  } finally {
    await stop();
  }
}

describe("a credential that makes keys while it is taken away", () => {
  it("as a key that is revoked, makes none after that, in either process", async () => {
    const { id, ownerId, session } = await deployment.team("free", UNLIMITED_WRITES);
    const thief = await addKey(deployment.sql, { teamId: id, userId: ownerId }, "owner");
    await endWhileMinting(id, thief.secret, session, async () => {
      return (await one.send("DELETE", `/v1/keys/${thief.id}`, { key: session })).status;
    });
  });

  it("as a session that is ended, makes none after that", async () => {
    const { id, session, liveKey } = await deployment.team("free", UNLIMITED_WRITES);
    await endWhileMinting(id, session, liveKey, async () => {
      return (await one.send("POST", "/v1/auth/logout", { key: session })).status;
    });
  });

  it("as another session of a user who changes the password, makes none after that", async () => {
    const { id, session, ownerEmail, liveKey } = await deployment.team("free", UNLIMITED_WRITES);
    const change = (key: string, body: object) =>
      one.send("POST", "/v1/auth/password", { key, body, headers: newClient() });
    assert.equal((await change(session, { new_password: PASSWORD })).status, 204);
    const login = await one.send<{ session: { token: string } }>("POST", "/v1/auth/login", {
      body: { email: ownerEmail, password: PASSWORD },
      headers: newClient(),
    });
    assert.equal(login.status, 200);
    await endWhileMinting(id, session, liveKey, async () => {
      const body = { current_password: PASSWORD, new_password: `${PASSWORD} 2` };
      return (await change(login.body.session.token, body)).status;
    });
  });
});
