import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fillPath, unusedId } from "../../support/route-table.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { createTcpGate, type TcpGate, throughGate } from "../../support/tcp-gate.ts";
import { until } from "../../support/until.ts";

/** Every operation that the API describes, while Postgres cannot be reached: try again (503), never 500. */

interface Operation {
  requestBody?: { content: Record<string, { example?: unknown }> };
}
type Paths = Record<string, Record<string, Operation>>;

let deployment: TestDeployment;
let gate: TcpGate;
let api: TestApi;
let team: Team;
let paths: Paths;
const closing = createClosing();

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  gate = await createTcpGate(deployment.settings.DATABASE_URL);
  closing.after(() => gate.close());
  api = await deployment.startApi({ DATABASE_URL: throughGate(deployment.settings.DATABASE_URL, gate) });
  team = await deployment.team("enterprise");
  paths = (await api.send<{ paths: Paths }>("GET", "/openapi.json")).body.paths;
  // Authentication caches the credential for a while, so that requests reach the handlers.
  await until("the team's session is known", async () => (await readTeam()).status === 200);
});
after(closing.close);

/** Answers that need no Postgres. Every other operation answers 503. */
const ANSWERED_WITHOUT_POSTGRES: Record<string, { status: number; code: string | undefined }> = {
  // Shows only the configuration.
  "get /v1/auth/options": { status: 200, code: undefined },
  "get /v1/plans": { status: 200, code: undefined },
  // The example has no address, so the request is refused before any query.
  "get /v1/verify": { status: 400, code: "validation_failed" },
  // No mail server and no Stripe are configured here.
  "post /v1/auth/password-reset": { status: 503, code: "feature_unconfigured" },
  "post /v1/billing/subscribe": { status: 503, code: "billing_unconfigured" },
  "post /v1/billing/portal": { status: 503, code: "billing_unconfigured" },
  "post /webhooks/stripe": { status: 503, code: "billing_unconfigured" },
  // The tokens of the examples have no token's form.
  "post /v1/auth/register/confirm": { status: 410, code: "token_unusable" },
  "post /v1/auth/password-reset/confirm": { status: 410, code: "token_unusable" },
  "post /v1/auth/accept-invite": { status: 410, code: "token_unusable" },
};
const UNAVAILABLE = { status: 503, code: "unavailable" };

/** Calls an operation, with the example of its description as the body. */
async function call(method: string, path: string, { requestBody }: Operation) {
  const target = fillPath(path, (name) => unusedId(path, name));
  const body = requestBody?.content["application/json"]?.example;
  const answer = await api.send<{ code?: string }>(method.toUpperCase(), target, {
    key: team.session,
    ...(body === undefined ? {} : { body }),
  });
  return { status: answer.status, code: answer.body?.code };
}

const readTeam = () => api.send("GET", "/v1/team", { key: team.session });

/** The same, again until the team is still known afterwards: so that it was the handler that answered. */
async function callKnown(method: string, path: string, operation: Operation) {
  return until(`${method} ${path} is answered to a known team`, async () => {
    const answer = await call(method, path, operation);
    // Validated after authentication.
    if ((await api.send("GET", "/v1/verify", { key: team.session })).status === 400) return answer;
    gate.open();
    await until("the team is known again", async () => (await readTeam()).status === 200);
    gate.shut();
    return null;
  });
}

describe("Postgres cut off", () => {
  it("makes every operation that needs it ask for another try", async () => {
    gate.shut();
    const answers: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    for (const [path, operations] of Object.entries(paths)) {
      if (!path.startsWith("/v1/") && !path.startsWith("/webhooks/")) continue;
      for (const [method, operation] of Object.entries(operations)) {
        const name = `${method} ${path}`;
        answers[name] = await callKnown(method, path, operation);
        expected[name] = ANSWERED_WITHOUT_POSTGRES[name] ?? UNAVAILABLE;
      }
    }
    assert.ok(Object.keys(answers).length >= 40, `${Object.keys(answers).length} operations`);
    assert.deepEqual(answers, expected);
  });

  it("and serves again when it is back", async () => {
    gate.open();
    await until("the team can be read", async () => (await readTeam()).status === 200);
  });
});
