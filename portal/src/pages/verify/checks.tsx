import type { ReactNode } from "react";
import { ForeignText } from "../../components/foreign-text.tsx";
import type { VerificationResult } from "../../words/reasons.ts";

const SKIPPED = "not checked";
const spaced = (name: string) => name.replaceAll("_", " ");

type Found = VerificationResult["checks"];

/** Descriptions of the server's answer to an address that cannot exist. */
const CATCH_ALL: Readonly<Record<Found["smtp"]["catch_all"], string>> = {
  accepted: "yes: every address is accepted",
  refused: "no: an address that cannot exist is refused",
  inconclusive: "not known: the server gave no clear answer",
  not_probed: SKIPPED,
};

function mailServers({ mx }: Found): ReactNode {
  if (mx.status === "skipped") return SKIPPED;
  if (mx.records.length === 0) return spaced(mx.status);
  const provider = mx.provider === null ? "" : ` (${mx.provider})`;
  const hosts = mx.records.map(({ host, preference }) =>
    preference === null ? host : `${preference} ${host}`,
  );
  return `${hosts.join(", ")}${provider}`;
}

function smtp({ smtp: found }: Found): string {
  if (found.status === "skipped") return "its mail server was not asked";
  const code = found.code === 0 ? "" : `, ${[found.code, found.enhanced_code].filter(Boolean).join(" ")}`;
  return `${spaced(found.status)}${code}, ${found.latency_ms} ms`;
}

/** The name of each check, and its finding. */
function rowsOf({ checks: found, evidence }: VerificationResult): [string, ReactNode][] {
  const { disposable, role, alias, free_provider: free, reputation } = found;
  const unless = (check: { status: string }, text: string) => (check.status === "skipped" ? SKIPPED : text);
  const rows: [string, ReactNode][] = [
    ["Format", found.format.ok ? "well formed" : "not an address"],
    ["Mail servers (MX)", mailServers(found)],
    ["Mailbox", smtp(found)],
    ["Catch-all", CATCH_ALL[found.smtp.catch_all]],
    ["Disposable", unless(disposable, disposable.is_disposable ? `yes (${disposable.source})` : "no")],
    ["Role address", unless(role, role.is_role ? `yes (${role.role})` : "no")],
    ["Alias", unless(alias, alias.is_alias ? spaced(alias.service ?? alias.kind ?? "yes") : "no")],
    ["Free mail provider", unless(free, free.is_free_provider ? "yes" : "no")],
    ["Reputation", unless(reputation, `${reputation.score} of 100 (100 is best)`)],
    [
      "Reputation signals",
      reputation.signals.length === 0 ? "none" : reputation.signals.map(spaced).join(", "),
    ],
  ];
  if (evidence !== undefined && evidence !== null)
    rows.push(
      ["Asked server", `${evidence.mx_host}, up to ${evidence.stage.toUpperCase()}`],
      [
        "Its reply",
        <code key="reply">
          <ForeignText>{evidence.reply === "" ? "none" : evidence.reply}</ForeignText>
        </code>,
      ],
      ["Rule", <code key="rule">{evidence.rule}</code>],
    );
  return rows;
}

/** The checks behind the verdict. Servers' replies are always shown as text. */
export function Checks({ result }: { result: VerificationResult }) {
  return (
    <table>
      <caption className="visually-hidden">What the verdict rests on</caption>
      <tbody>
        {rowsOf(result).map(([name, found]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td className="wrap-anywhere">
              {typeof found === "string" ? <ForeignText>{found}</ForeignText> : found}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
