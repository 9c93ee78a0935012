import { useHasRole } from "../../api/session.ts";
import { BASE_PATH } from "../../base-path.ts";
import { Notice } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { KeyTable } from "./key-table.tsx";
import { NewKey } from "./new-key.tsx";

export function KeysPage() {
  const isAdmin = useHasRole("admin");
  return (
    <>
      <PageHead title="API keys">
        <a href={`${BASE_PATH}/docs/reference`}>API reference</a>
      </PageHead>
      {isAdmin ? (
        <NewKey />
      ) : (
        <Notice>Keys are made and revoked by admins and owners of the team; you are a member.</Notice>
      )}
      <section className="card" aria-label="Keys of the team">
        <KeyTable />
      </section>
    </>
  );
}
