import { useState } from "react";
import { api } from "../../api/client.ts";
import { forgetSession, useIdentity } from "../../api/session.ts";
import { BASE_PATH } from "../../base-path.ts";
import { Button } from "../../components/button.tsx";
import { ForeignText, shownText } from "../../components/foreign-text.tsx";
import { PasswordField } from "../../components/forms/password-field.tsx";
import { useForm } from "../../components/forms/use-form.ts";
import { Failure } from "../../components/notice.tsx";

/** Signs in to another team of the same person. A session belongs to one team, so the password starts a new one. */
function SwitchTo({ id, name }: { id: string; name: string }) {
  const { user } = useIdentity();
  const form = useForm({ password: "" }, async ({ password }) => {
    await api.POST("/v1/auth/login", { body: { email: user?.email ?? "", password, team_id: id } });
    forgetSession();
    // Whole, so that nothing of the team before is left on a page.
    location.assign(`${BASE_PATH}/`);
  });
  return (
    <form className="stack" onSubmit={form.submit}>
      <PasswordField
        label={`Password, to sign in to ${shownText(name)}`}
        autoComplete="current-password"
        {...form.field("password")}
      />
      <Failure error={form.error} />
      <div className="row">
        <Button type="submit" look="primary" busy={form.busy}>
          Switch
        </Button>
      </div>
    </form>
  );
}

/** The other teams of the person, and how to get there. */
export function OwnTeams() {
  const { team, teams } = useIdentity();
  const [chosen, setChosen] = useState<string | null>(null);
  const others = teams.filter(({ id }) => id !== team.id);
  if (others.length === 0) return null;
  return (
    <section className="card" aria-labelledby="own-teams">
      <h2 id="own-teams">Your other teams</h2>
      <p className="muted">You are signed in to one team at a time: your password signs you in to another.</p>
      <ul className="plain-list">
        {others.map(({ id, name, role }) => (
          <li key={id} className="stack">
            <span className="row">
              <strong>
                <ForeignText>{name}</ForeignText>
              </strong>
              <span className="muted">({role})</span>
              <Button aria-expanded={chosen === id} onClick={() => setChosen(chosen === id ? null : id)}>
                Go there
                <span className="visually-hidden"> to {shownText(name)}</span>
              </Button>
            </span>
            {chosen === id && <SwitchTo id={id} name={name} />}
          </li>
        ))}
      </ul>
    </section>
  );
}
