import { ForeignText } from "../../components/foreign-text.tsx";
import { Loading } from "../../components/loading.tsx";
import { Table } from "../../components/tables/table.tsx";
import { Time } from "../../components/time.tsx";
import type { Deployment } from "./read-deployment.ts";

type Route = Deployment["egress"]["routes"][number];
type Finding = Route["findings"][number];

/** The effect of a failed check on answers. */
const WEIGHTS: Record<Finding["weight"], string> = {
  trust: "Refusals may be about us: none makes an address invalid",
  service: "Nothing can be probed by this route",
  advice: "Answers are good, and could be better",
};
/** Names of checks that are more than their words with spaces. */
const CHECKS: Readonly<Record<string, string>> = {
  starttls: "STARTTLS",
  helo_name: "HELO name",
  helo_forward: "HELO resolves",
  dnsbl: "DNS block lists",
  mail_from: "MAIL FROM",
  spf: "SPF",
};
const RESULTS: Record<Finding["result"], { text: string; look: string }> = {
  fail: { text: "fails", look: "invalid" },
  unknown: { text: "not known", look: "unknown" },
  pass: { text: "passes", look: "valid" },
  skipped: { text: "does not apply", look: "" },
};
/** Findings that need work come first. */
const ORDER = Object.keys(RESULTS);

function FindingRow({ of: finding }: { of: Finding }) {
  const { text, look } = RESULTS[finding.result];
  return (
    <tr>
      <th scope="row">{CHECKS[finding.check] ?? finding.check.replaceAll("_", " ")}</th>
      <td>
        <span className={`badge ${look}`}>{text}</span>
      </td>
      <td className="prose">
        <ForeignText>{finding.seen}</ForeignText>
        {finding.advice !== "" && (
          <>
            <br />
            <strong>{finding.advice}</strong>
          </>
        )}
        {finding.result === "fail" && <span className="muted"> {WEIGHTS[finding.weight]}.</span>}
      </td>
    </tr>
  );
}

function RouteReport({ of: route }: { of: Route }) {
  if (route.state === "pending") return <Loading />;
  const findings = route.findings.toSorted((a, b) => ORDER.indexOf(a.result) - ORDER.indexOf(b.result));
  return (
    <Table label={`Checks of ${route.route}`} columns={["Check", "Result", "What was seen"]}>
      {findings.map((finding) => (
        <FindingRow key={finding.check} of={finding} />
      ))}
    </Table>
  );
}

function stateOf(route: Route): { text: string; look: string } {
  if (route.network === "down") return { text: "no mail server can be reached", look: "invalid" };
  if (route.state === "pending") return { text: "first look under way", look: "unknown" };
  if (route.state === "failing") return { text: "needs work", look: "risky" };
  const isUnsure = route.findings.some(({ result, weight }) => result === "unknown" && weight !== "advice");
  return isUnsure
    ? { text: "no fault found, not all is known", look: "unknown" }
    : { text: "in order", look: "valid" };
}

/** Each egress route with its last preflight findings. */
export function Routes({ of: routes }: { of: readonly Route[] }) {
  if (routes.length === 0) return <p className="muted">This process probes by no route.</p>;
  return routes.map((route) => {
    const { text, look } = stateOf(route);
    return (
      <div className="stack" key={route.route}>
        <div className="row">
          <h3>
            <ForeignText>{route.route}</ForeignText>
          </h3>
          <span className={`badge ${look}`}>{text}</span>
          {route.address !== null && <span className="muted">seen as {route.address}</span>}
          {route.checked_at !== null && (
            <span className="muted">
              looked at <Time at={route.checked_at} />
            </span>
          )}
        </div>
        <RouteReport of={route} />
      </div>
    );
  });
}
