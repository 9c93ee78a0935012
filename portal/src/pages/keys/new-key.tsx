import { useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { type Role, useIdentity } from "../../api/session.ts";
import { Button } from "../../components/button.tsx";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Field } from "../../components/forms/field.tsx";
import { Select } from "../../components/forms/select.tsx";
import { useForm } from "../../components/forms/use-form.ts";
import { Failure, Notice } from "../../components/notice.tsx";
import { Secret } from "../../components/secret.tsx";
import { rolesUpTo } from "../../words/roles.ts";
import { CallExamples } from "../verify/call-examples.tsx";

type Env = "live" | "test";
const ENVS = [
  ["live", "Live: verifies, and is charged"],
  [
    "test",
    "Test: the part before the @ chooses the answer, such as valid@example.com; asks no server, costs nothing",
  ],
] as const;

/** Answered valid to test keys. */
const TEST_ADDRESS = "valid@example.com";

/** Makes a key, and shows its secret, once, and a call with it. */
export function NewKey() {
  const queries = useQueryClient();
  const { env: wanted = "live" } = useSearch({ from: "/frame/keys" });
  const [env, setEnv] = useState<Env>(wanted);
  const { role: own, user } = useIdentity();
  // The role that most programs need.
  const [role, setRole] = useState<Role>("member");
  const [made, setMade] = useState<{ label: string; secret: string; env: Env } | null>(null);
  const form = useForm({ label: "" }, async ({ label }) => {
    const key = await dataOf(api.POST("/v1/keys", { params: { header: {} }, body: { label, env, role } }));
    // First of all: the API shows the secret only once.
    if (key.secret !== null) setMade({ label: key.label, secret: key.secret, env: key.env });
    form.reset();
    void queries.invalidateQueries({ queryKey: ["keys"] });
  });
  return (
    <>
      <section className="card" aria-labelledby="new-key">
        <h2 id="new-key">Make a key</h2>
        <form className="stack" onSubmit={form.submit}>
          <Field
            label="Name"
            hint="Where it will be used, such as: checkout"
            required
            {...form.field("label")}
          />
          <Select label="Kind" value={env} onChange={setEnv} options={ENVS} />
          <Select
            label="Role"
            hint="The most it may ever do; it falls with your own role in the team."
            value={role}
            onChange={setRole}
            options={rolesUpTo(own)}
          />
          <Failure error={form.error} />
          <div className="row">
            <Button type="submit" look="primary" busy={form.busy}>
              Make the key
            </Button>
          </div>
        </form>
        {made !== null && (
          <>
            <Notice kind="success">
              The key{" "}
              <strong>
                <ForeignText>{made.label}</ForeignText>
              </strong>{" "}
              is made. Programs send it as the header <code>Authorization: Bearer …</code>
            </Notice>
            <Secret value={made.secret} of={`the key ${made.label}`} />
          </>
        )}
      </section>
      {made !== null && (
        <CallExamples
          key={made.secret}
          title="A call with it"
          email={made.env === "test" ? TEST_ADDRESS : (user?.email ?? TEST_ADDRESS)}
        />
      )}
    </>
  );
}
