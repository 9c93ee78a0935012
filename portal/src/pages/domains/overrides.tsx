import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, dataOf } from "../../api/client.ts";
import { useHasRole, useIdentity } from "../../api/session.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { ForeignText, shownText } from "../../components/foreign-text.tsx";
import { Notice, QueryFailure } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { PagedTable } from "../../components/tables/paged-table.tsx";
import { Time } from "../../components/time.tsx";
import { counted } from "../../words/numbers.ts";
import { DomainsForm } from "./domains-form.tsx";
import { FindField } from "./find-field.tsx";
import { submitDomains } from "./submit-domains.ts";
import { useFind } from "./use-find.ts";

const PENDING_EVERY_MS = 2_000;
const overridesKey = ["overrides"];
const readPage = (cursor: string | null) =>
  dataOf(api.GET("/v1/admin/disposable", { params: { query: { ...pageQuery(cursor), limit: 100 } } }));
type Override = Awaited<ReturnType<typeof readPage>>["data"][number];

/** Number of overrides that are not in effect yet. Polled until all are. */
function Pending() {
  const queries = useQueryClient();
  const pending = useQuery({
    queryKey: [...overridesKey, "pending"],
    queryFn: () => dataOf(api.GET("/v1/admin/disposable/pending")),
    refetchInterval: ({ state }) => ((state.data?.pending ?? 0) > 0 ? PENDING_EVERY_MS : false),
  });
  const count = pending.data?.pending;
  useEffect(() => {
    if (count !== undefined) void queries.invalidateQueries({ queryKey: [...overridesKey, "list"] });
  }, [count, queries]);
  return (
    <>
      <QueryFailure of={pending} />
      <p className="muted" role="status">
        {count === undefined
          ? ""
          : count === 0
            ? "All of them are in effect."
            : `${counted(count, "is", "are")} not in effect yet: that takes some seconds.`}
      </p>
    </>
  );
}

function OverrideRow({ of: override }: { of: Override }) {
  const queries = useQueryClient();
  async function remove(): Promise<void> {
    await api.DELETE("/v1/admin/disposable/{domain}", { params: { path: { domain: override.domain } } });
    await queries.invalidateQueries({ queryKey: overridesKey });
  }
  const isMerged = override.status === "merged";
  return (
    <tr>
      <th scope="row" className="entry">
        <ForeignText>{override.domain}</ForeignText>
      </th>
      <td>
        <span className={`badge ${isMerged ? "valid" : ""}`}>{isMerged ? "in effect" : "waiting"}</span>
      </td>
      <td>
        <Time at={override.created_at} />
      </td>
      <td>
        <ConfirmDialog
          trigger="Remove"
          title="Remove the domain?"
          action="Remove"
          done={`${shownText(override.domain)} was removed.`}
          onConfirm={remove}
        >
          <p>
            Addresses of{" "}
            <strong>
              <ForeignText>{override.domain}</ForeignText>
            </strong>{" "}
            are answered by the lists alone again.
          </p>
        </ConfirmDialog>
      </td>
    </tr>
  );
}

const COLUMNS = ["Domain", "State", "Marked", { hidden: "Remove" }];

function OverrideList() {
  const overrides = usePages([...overridesKey, "list"], readPage);
  const find = useFind(overrides);
  return (
    <>
      <FindField {...find} />
      <PagedTable
        label="Disposable domains"
        pages={find.pages}
        columns={COLUMNS}
        row={(override) => <OverrideRow key={override.id} of={override} />}
        empty={!find.isFinding && <p className="muted">No domain is marked.</p>}
        more="Older ones"
      />
    </>
  );
}

/** Domains that the team calls disposable, whatever the lists say. */
export function OverridesPage() {
  const { role } = useIdentity();
  const isOwner = useHasRole("owner");
  return (
    <>
      <PageHead title="Disposable domains" />
      <p className="muted">
        Addresses of the domains that you mark are answered risky (disposable), to your team alone, whatever
        the lists say.
      </p>
      {isOwner ? (
        <>
          <DomainsForm
            title="Mark domains as disposable"
            hint="One a line, or with commas or spaces between them. Their subdomains count too."
            action="Mark as disposable"
            words={{ taken: "marked", known: "marked already" }}
            listKey={overridesKey}
            send={submitDomains}
          />
          <section className="card" aria-label="Disposable domains of the team">
            <Pending />
            <OverrideList />
          </section>
        </>
      ) : (
        <Notice>
          Marked domains change the answers of the whole team, so owners alone see and mark them; your role is{" "}
          {role}. Ask an owner, or block single domains on the blocklist as an admin.
        </Notice>
      )}
    </>
  );
}
