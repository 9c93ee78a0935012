import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { type Role, useIdentity } from "../../api/session.ts";
import { Button } from "../../components/button.tsx";
import { Field } from "../../components/field.tsx";
import { Failure, Notice } from "../../components/notice.tsx";
import { Secret } from "../../components/secret.tsx";
import { useForm } from "../../components/use-form.ts";
import { rolesUpTo } from "../../words/roles.ts";

type Env = "live" | "test";

/** Makes a key, and shows its secret, once. */
export function NewKey() {
  const queries = useQueryClient();
  const envId = useId();
  const [env, setEnv] = useState<Env>("live");
  const roleId = useId();
  const { role: own } = useIdentity();
  // What most programs need, and no more.
  const [role, setRole] = useState<Role>("member");
  const [made, setMade] = useState<{ label: string; secret: string } | null>(null);
  const form = useForm({ label: "" }, async ({ label }) => {
    const key = await dataOf(api.POST("/v1/keys", { params: { header: {} }, body: { label, env, role } }));
    // Before all else: the API shows it this once.
    if (key.secret !== null) setMade({ label: key.label, secret: key.secret });
    form.reset();
    void queries.invalidateQueries({ queryKey: ["keys"] });
  });
  return (
    <section className="card" aria-labelledby="new-key">
      <h2 id="new-key">Make a key</h2>
      <form className="stack" onSubmit={form.submit}>
        <Field
          label="Name"
          hint="Where it will be used, such as: checkout"
          required
          {...form.field("label")}
        />
        <div className="field">
          <label htmlFor={envId}>Kind</label>
          <select id={envId} value={env} onChange={(event) => setEnv(event.target.value as Env)}>
            <option value="live">Live: verifies, and is charged</option>
            <option value="test">
              Test: the part before the @ chooses the answer, such as valid@example.com; asks no server, costs
              nothing
            </option>
          </select>
        </div>
        <div className="field">
          <label htmlFor={roleId}>Role</label>
          <select
            id={roleId}
            value={role}
            onChange={(event) => setRole(event.target.value as Role)}
            aria-describedby={`${roleId}-hint`}
          >
            {rolesUpTo(own).map(({ role: given, does }) => (
              <option key={given} value={given}>
                {does}
              </option>
            ))}
          </select>
          <span className="hint" id={`${roleId}-hint`}>
            The most it may ever do; it falls with your own role in the team.
          </span>
        </div>
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
            The key <strong className="wrap-anywhere">{made.label}</strong> is made. Programs send it as the
            header <code>Authorization: Bearer …</code>
          </Notice>
          <Secret value={made.secret} of={`the key ${made.label}`} />
        </>
      )}
    </section>
  );
}
