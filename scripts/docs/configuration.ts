import type * as v from "valibot";
import { SettingsSchema } from "../../src/config/settings.ts";
import { HEAD, TAIL } from "./configuration-text.ts";
import { SECTIONS, type SettingDescription } from "./setting-descriptions.ts";

/** Fields of a valibot schema, or of a step of its pipe, that are read here. */
interface Part {
  type: string;
  message?: unknown;
  requirement?: unknown;
  options?: readonly string[];
  pipe?: readonly Part[];
  wrapped?: Part;
  default?: unknown;
}

function partsOf(entry: Part): Part[] {
  return (entry.pipe ?? [entry]).flatMap((part) =>
    part === entry || part.pipe === undefined ? [part] : partsOf(part),
  );
}

/** Matches messages that describe the form of a value; those about lengths are bounds. */
const FORM = /^must be (.*)$/;

const grouped = (value: unknown) => Number(value).toLocaleString("en-US");

/** Describes the form of a value, in the words with which a wrong one is refused. */
function formOf(entry: Part): string {
  const parts = partsOf(entry);
  const options = parts.find(({ type }) => type === "picklist")?.options;
  if (options !== undefined)
    return options.join() === "true,false,1,0"
      ? "`true` or `false`"
      : options.map((o) => `\`${o}\``).join(", ");
  if (parts.some(({ type }) => type === "min_value")) return "whole number";
  const messages = parts.flatMap(({ message }) => (typeof message === "string" ? [message] : []));
  const forms = messages.flatMap((message) => FORM.exec(message)?.[1] ?? []);
  // If the text of one step begins the text of a later one, only the longer text is kept: it adds an example.
  const distinct = forms.filter((form, at) => !forms.some((other, i) => i > at && other.startsWith(form)));
  return distinct[0] ?? "text";
}

function boundsOf(entry: Part): string {
  const found = new Map(partsOf(entry).map(({ type, requirement }) => [type, requirement]));
  if (found.has("min_value"))
    return `${grouped(found.get("min_value"))} – ${grouped(found.get("max_value"))}`;
  const bounds: string[] = [];
  const items = partsOf(entry).filter(
    ({ type, message }) => type === "max_length" && /items|zones/.test(String(message)),
  );
  const most = Math.min(...items.map(({ requirement }) => Number(requirement)));
  if (items.length > 0) bounds.push(`at most ${most} items`);
  else if (found.has("max_length")) bounds.push(`at most ${grouped(found.get("max_length"))} characters`);
  if (items.length === 0 && Number(found.get("min_length")) > 1)
    bounds.unshift(`at least ${found.get("min_length")}`);
  return bounds.join(", ");
}

function defaultOf(entry: Part, { otherwise }: SettingDescription): string {
  if (entry.type !== "optional") return "required";
  if (entry.default === undefined) return otherwise ?? "–";
  return `\`${String(entry.default)}\``;
}

function rowOf(name: string, entry: Part, description: SettingDescription): string {
  const value = entry.type === "optional" && entry.wrapped !== undefined ? entry.wrapped : entry;
  const { roles, does } = description;
  const cells = [
    `\`${name}\``,
    formOf(value),
    defaultOf(entry, description),
    boundsOf(value),
    roles.length === 3 ? "all" : roles.join(", "),
    does,
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

/** docs/configuration.md, as the schema has it. @throws Error for a setting that has no text, or a text without a setting */
export function renderConfiguration(): string {
  const entries = SettingsSchema.entries as Record<string, v.GenericSchema> as unknown as Record<
    string,
    Part
  >;
  const left = new Set(Object.keys(entries));
  const sections = Object.entries(SECTIONS).map(([title, settings]) => {
    const rows = Object.entries(settings).map(([name, description]) => {
      const entry = entries[name];
      if (entry === undefined || !left.delete(name))
        throw new Error(`${name}: no setting, or described twice`);
      return rowOf(name, entry, description);
    });
    return `## ${title}\n\n| setting | form | default | bounds | roles | does |\n|---|---|---|---|---|---|\n${rows.join("\n")}\n`;
  });
  if (left.size > 0)
    throw new Error(`no text in scripts/docs/setting-descriptions.ts: ${[...left].join(", ")}`);
  return [HEAD, ...sections, TAIL].join("\n");
}
