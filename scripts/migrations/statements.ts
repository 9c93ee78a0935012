/** Text within which a semicolon ends no statement: comments, strings, quoted names, bodies of functions. */
const WHOLE = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1/g;

/**
 * The statements of a migration, in lower case, with single spaces. Comments are removed; strings and bodies of
 * functions are emptied, so that no word in them is taken for SQL.
 */
export function statementsOf(sql: string): string[] {
  const bare = sql.replaceAll(WHOLE, (text) => {
    if (text.startsWith("--") || text.startsWith("/*")) return " ";
    // A quoted name is kept: it may be a table's.
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
