import type { ReactNode } from "react";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Table } from "../../components/tables/table.tsx";
import { VerdictBadge } from "../../components/verdict-badge.tsx";
import { grouped, percent } from "../../words/numbers.ts";
import { REASONS, type Reason } from "../../words/reasons.ts";
import { type Accuracy, byVerdict, type Counts, FEW, type Group, messagesOf } from "./read-accuracy.ts";

const Nothing = () => <span className="muted">–</span>;
/** A name as rcpt gives it, and the team's programs report it. */
const orNothing = (name: string | null) =>
  name === null ? (
    <Nothing />
  ) : (
    <span className="nowrap">
      <ForeignText>{name}</ForeignText>
    </span>
  );

const isReason = (name: string): name is Reason => Object.hasOwn(REASONS, name);

/** A reason as rcpt's answers name it, with its sentence. Programs may report others. */
function ReasonName({ of: name }: { of: string | null }) {
  return (
    <span title={name !== null && isReason(name) ? REASONS[name].says : undefined}>{orNothing(name)}</span>
  );
}

function Verdict({ of }: { of: Group["verdict"] }) {
  return of === null ? <span className="muted">Not reported</span> : <VerdictBadge verdict={of} />;
}

/** The share of hard bounces; a note when there are too few messages. */
function HardRate({ of }: { of: Counts }) {
  const messages = messagesOf(of);
  if (messages < FEW) return <span className="muted nowrap">too few to tell</span>;
  return percent(of.hard_bounced / messages);
}

const COUNTS = ["Messages", "Delivered", "Bounced", "Hard bounces", "Complaints"];
const COUNT_COLUMNS = [...COUNTS, "Hard bounce rate"].map((title) => ({ number: title }));

function CountCells({ of }: { of: Counts }) {
  const counts = [messagesOf(of), of.delivered, of.bounced, of.hard_bounced, of.complained];
  return (
    <>
      {counts.map((count, i) => (
        <td className="number" key={COUNTS[i]}>
          {grouped(count)}
        </td>
      ))}
      <td className="number">
        <HardRate of={of} />
      </td>
    </>
  );
}

/** Outcomes of messages, one row per verdict. */
export function VerdictTable({ groups }: { groups: readonly Group[] }) {
  return (
    <Table label="By verdict" columns={["Answered", ...COUNT_COLUMNS]}>
      {byVerdict(groups).map(({ verdict, counts }) => (
        <tr key={verdict}>
          <th scope="row">
            <Verdict of={verdict} />
          </th>
          <CountCells of={counts} />
        </tr>
      ))}
    </Table>
  );
}

/** The same by verdict, reason and provider. */
export function GroupTable({ groups }: { groups: readonly Group[] }) {
  return (
    <Table label="Each reason and provider" columns={["Answered", "Reason", "Provider", ...COUNT_COLUMNS]}>
      {groups.map((group) => (
        <tr key={`${group.verdict} ${group.reason} ${group.provider}`}>
          <td>
            <Verdict of={group.verdict} />
          </td>
          <td>
            <ReasonName of={group.reason} />
          </td>
          <td>{orNothing(group.provider)}</td>
          <CountCells of={group} />
        </tr>
      ))}
    </Table>
  );
}

type Wrong = Accuracy["wrong"][number];

function happened({ outcome, bounce_reason: reason }: Wrong): ReactNode {
  if (outcome === "delivered") return "It was delivered";
  return <>It bounced{reason !== null && <>: {orNothing(reason)}</>}</>;
}

/** Answers that were wrong, with the rules behind them. */
export function WrongTable({ wrong }: { wrong: readonly Wrong[] }) {
  return (
    <Table
      label="Wrong answers"
      columns={[
        "Answered",
        "Reason",
        "Provider",
        "What happened",
        "Rule of the answer",
        "Rule of the bounce",
        { number: "Messages" },
      ]}
    >
      {wrong.map((group) => (
        <tr key={JSON.stringify(group)}>
          <td>
            <Verdict of={group.verdict} />
          </td>
          <td>
            <ReasonName of={group.reason} />
          </td>
          <td>{orNothing(group.provider)}</td>
          <td>{happened(group)}</td>
          <td>{orNothing(group.rule)}</td>
          <td>{orNothing(group.bounce_rule)}</td>
          <td className="number">{grouped(group.events)}</td>
        </tr>
      ))}
    </Table>
  );
}
