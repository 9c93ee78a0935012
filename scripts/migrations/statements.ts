/** What stands between these is no statement's end: comments, strings, names in quotes, bodies of functions. */
const WHOLE = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1/g;

/**
 * The statements of a migration, lower case, with single spaces; comments gone, strings and bodies of functions emptied,
 * so that no word in them is taken for SQL.
 */
export function statementsOf(sql: string): string[] {
  const bare = sql.replaceAll(WHOLE, (text) => {
    if (text.startsWith("--") || text.startsWith("/*")) return " ";
    // A name stays: it may be a table's.
    return text.startsWith('"') ? text : "''";
  });
  return bare
    .split(";")
    .map((statement) => statement.replaceAll(/\s+/g, " ").trim().toLowerCase())
    .filter((statement) => statement !== "");
}

/** Divides at commas that stand in no parentheses: the actions of an `alter table`. */
export function actionsOf(text: string): string[] {
  const actions: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "(") depth += 1;
    else if (text[at] === ")") depth -= 1;
    else if (text[at] === "," && depth === 0) {
      actions.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  actions.push(text.slice(from).trim());
  return actions;
}
