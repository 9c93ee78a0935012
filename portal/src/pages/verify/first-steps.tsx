import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { useHasLists } from "../../api/plans.ts";
import { useHasRole, useIdentity } from "../../api/session.ts";
import { BASE_PATH } from "../../base-path.ts";
import { Button } from "../../components/button.tsx";

const HIDDEN = "rcpt first steps hidden";
const FRESH_MS = 30_000;

interface Step {
  isDone: boolean;
  what: ReactNode;
}

/** Keys that `bootstrap` made with the team: its owner may never have seen them. */
const BOOTSTRAPPED = /^bootstrap (live|test)$/;

/** The team's progress, according to the API; null: unknown. */
function useProgress(isWanted: boolean) {
  const options = { staleTime: FRESH_MS, enabled: isWanted };
  const usage = useQuery({
    ...options,
    queryKey: ["usage", "history", 30],
    queryFn: () => dataOf(api.GET("/v1/usage/history", { params: { query: { days: 30 } } })),
  });
  const jobs = useQuery({
    ...options,
    queryKey: ["first steps", "jobs"],
    queryFn: () => dataOf(api.GET("/v1/bulk-jobs", { params: { query: { limit: 1 } } })),
  });
  const keys = useQuery({
    ...options,
    queryKey: ["keys", "first steps"],
    queryFn: () => dataOf(api.GET("/v1/keys", { params: { query: { limit: 100 } } })),
  });
  if (usage.data === undefined || jobs.data === undefined || keys.data === undefined) return null;
  const used = keys.data.data.filter((key) => key.last_used_at !== null);
  return {
    hasVerified: usage.data.data.some(({ single, used }) => single + used > 0),
    hasList: jobs.data.data.length > 0,
    hasTestKey: [...used, ...keys.data.data.filter(({ label }) => !BOOTSTRAPPED.test(label))].some(
      ({ env }) => env === "test",
    ),
    hasTried: used.some(({ env }) => env === "test"),
    hasCalled: used.some(({ env }) => env === "live"),
  };
}

type Progress = NonNullable<ReturnType<typeof useProgress>>;

/** First for those who may make keys: a test key costs nothing. */
const testSteps = ({ hasTestKey, hasTried }: Progress): Step[] => [
  {
    isDone: hasTestKey,
    what: (
      <>
        <Link to="/keys" search={{ env: "test" }}>
          Make a test key
        </Link>
        : it asks no mail server, and costs nothing.
      </>
    ),
  },
  {
    isDone: hasTried,
    what: (
      <>
        Verify <code>valid@example.com</code> with it: the call is shown with the new key.
      </>
    ),
  },
];

const listStep = ({ hasList }: Progress): Step => ({
  isDone: hasList,
  what: <Link to="/lists/new">Verify a list.</Link>,
});

const callStep = ({ hasCalled }: Progress, isAdmin: boolean): Step => ({
  isDone: hasCalled,
  what: (
    <>
      <a href={`${BASE_PATH}/docs/api`}>Call the API</a> with a live key
      {isAdmin ? "." : "; admins and owners make keys."}
    </>
  ),
});

/** Guides a new account. Steps are ticked automatically. It disappears when all are done, or when it is hidden. */
export function FirstSteps({ hasVerified }: { hasVerified: boolean }) {
  const { team } = useIdentity();
  const hasLists = useHasLists();
  const isAdmin = useHasRole("admin");
  const [isHidden, setHidden] = useState(() => localStorage.getItem(HIDDEN) === team.id);
  const progress = useProgress(!isHidden);
  if (isHidden || progress === null) return null;
  const first: Step[] = isAdmin
    ? testSteps(progress)
    : [{ isDone: hasVerified || progress.hasVerified, what: "Verify an address: above." }];
  const steps = [...first, ...(hasLists ? [listStep(progress)] : []), callStep(progress, isAdmin)];
  if (steps.every(({ isDone }) => isDone)) return null;
  function hide(): void {
    localStorage.setItem(HIDDEN, team.id);
    setHidden(true);
  }
  return (
    <section className="card" aria-labelledby="first-steps">
      <div className="page-head">
        <h2 id="first-steps">First steps</h2>
        <Button look="quiet" onClick={hide}>
          Hide
          <span className="visually-hidden"> the first steps</span>
        </Button>
      </div>
      <ol className="plain-list">
        {steps.map(({ isDone, what }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a step is known by its place.
          <li key={place} className="step">
            <span className={`badge ${isDone ? "valid" : ""}`}>{isDone ? "done" : "to do"}</span>
            <span>{what}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
