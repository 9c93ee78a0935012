import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "../../api/client.ts";
import { identityQuery, useHasRole, useIdentity } from "../../api/session.ts";
import { Button } from "../../components/button.tsx";
import { Field } from "../../components/forms/field.tsx";
import { useForm } from "../../components/forms/use-form.ts";
import { Loading } from "../../components/loading.tsx";
import { Failure, QueryFailure } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { TIERS } from "../../words/tiers.ts";
import { Invitations } from "./invitations.tsx";
import { Members } from "./members.tsx";
import { OwnTeams } from "./own-teams.tsx";
import { DeleteTeam, TransferOwnership } from "./ownership.tsx";
import { teamQuery } from "./read-team.ts";

function Rename({ name }: { name: string }) {
  const queries = useQueryClient();
  const form = useForm({ name }, async (body) => {
    queries.setQueryData(teamQuery.queryKey, await dataOf(api.PATCH("/v1/team", { body })));
    await queries.invalidateQueries(identityQuery);
  });
  return (
    <form className="stack" onSubmit={form.submit}>
      <Field label="Name of the team" required {...form.field("name")} />
      <Failure error={form.error} />
      <div className="row">
        <Button type="submit" busy={form.busy}>
          Rename
        </Button>
      </div>
    </form>
  );
}

/** Members, invitations and name of the team. */
export function TeamPage() {
  const { team: own } = useIdentity();
  const isAdmin = useHasRole("admin");
  const isOwner = useHasRole("owner");
  const team = useQuery(teamQuery);
  return (
    <>
      <PageHead title={own.name}>
        <span className="badge">{TIERS[own.tier]}</span>
      </PageHead>
      <section className="card" aria-labelledby="members">
        <h2 id="members">Members</h2>
        {team.isPending && <Loading />}
        <QueryFailure of={team} />
        {team.data !== undefined && <Members members={team.data.members} />}
      </section>
      {isAdmin ? (
        <>
          <Invitations />
          <section className="card" aria-label="Settings of the team">
            <Rename key={own.name} name={own.name} />
          </section>
        </>
      ) : (
        <p className="muted">Admins and owners invite, rename the team and change roles.</p>
      )}
      <OwnTeams />
      {isOwner ? (
        <>
          {team.data !== undefined && <TransferOwnership members={team.data.members} />}
          <DeleteTeam />
        </>
      ) : (
        <p className="muted">Owners transfer the ownership, or delete the team.</p>
      )}
    </>
  );
}
