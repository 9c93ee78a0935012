import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import {
  isClassDeclaration,
  isClassExpression,
  isConstructorDeclaration,
  isExportDeclaration,
  isFunctionLikeDeclaration,
  isIdentifier,
  isImportDeclaration,
  isNamedExports,
  isVariableStatement,
} from "typescript/unstable/ast/is";

export interface FunctionSpan {
  /** The names around it and its own, outermost first: `composeApi.onClose`. */
  name: string;
  line: number;
  /** From its first line to its last, the functions inside it included. */
  lines: number;
}

/** Nodes whose `name` is that of the function or class that they contain: `const f = () => …`, `{ f: () => … }`. */
const NAMING = new Set([
  SyntaxKind.VariableDeclaration,
  SyntaxKind.PropertyAssignment,
  SyntaxKind.PropertyDeclaration,
]);

function textOfName(node: Node): string | undefined {
  const { name } = node as Node & { name?: Node & { text?: string } };
  return name?.text;
}

/** A callback is named after the function that it is passed to: `Promise`, `map`. */
function calleeOf(node: Node): string | undefined {
  if (node.kind !== SyntaxKind.CallExpression && node.kind !== SyntaxKind.NewExpression) return undefined;
  const { expression } = node as Node & { expression: Node & { text?: string } };
  return textOfName(expression) ?? expression.text;
}

function nameOf(node: Node): string {
  if (isConstructorDeclaration(node)) return "constructor";
  const { parent } = node;
  return (
    textOfName(node) ?? (NAMING.has(parent.kind) ? textOfName(parent) : calleeOf(parent)) ?? "(anonymous)"
  );
}

function lineOf(file: SourceFile, position: number): number {
  return file.getLineAndCharacterOfPosition(position).line + 1;
}

/** Every function, method, accessor and arrow function of a file. */
export function functionsOf(file: SourceFile): FunctionSpan[] {
  const found: FunctionSpan[] = [];
  function visit(node: Node, around: readonly string[]): void {
    const isFunction = isFunctionLikeDeclaration(node);
    const isNamed = isFunction || isClassDeclaration(node) || isClassExpression(node);
    const names = isNamed ? [...around, nameOf(node)] : around;
    if (isFunction) {
      const line = lineOf(file, node.getStart(file));
      found.push({ name: names.join("."), line, lines: lineOf(file, node.end) - line + 1 });
    }
    node.forEachChild((child) => visit(child, names));
  }
  visit(file, []);
  return found;
}

/** Identifiers that a declaration binds, those of a destructuring pattern included. */
function boundNames(name: Node): string[] {
  if (isIdentifier(name)) return [name.text];
  const names: string[] = [];
  name.forEachChild((element) => {
    const inner = (element as Node & { name?: Node }).name;
    if (inner) names.push(...boundNames(inner));
  });
  return names;
}

function isExported(statement: Node): boolean {
  const { modifiers } = statement as Node & { modifiers?: readonly Node[] };
  return modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword) ?? false;
}

/** Local names of everything that a file imports: exporting one of them again declares nothing new. */
function importedNames(file: SourceFile): Set<string> {
  const names = new Set<string>();
  function collect(node: Node): void {
    if (isIdentifier(node)) names.add(node.text);
    node.forEachChild(collect);
  }
  for (const statement of file.statements)
    if (isImportDeclaration(statement) && statement.importClause) collect(statement.importClause);
  return names;
}

/** Names that a file declares and exports, without `default` and re-exports of other modules. */
export function exportsOf(file: SourceFile): Set<string> {
  const names = new Set<string>();
  const imported = importedNames(file);
  for (const statement of file.statements) {
    if (isExportDeclaration(statement)) {
      if (statement.moduleSpecifier || !statement.exportClause || !isNamedExports(statement.exportClause))
        continue;
      for (const { propertyName, name } of statement.exportClause.elements)
        if (!imported.has((propertyName ?? name).text)) names.add(name.text);
    } else if (isExported(statement)) {
      if (isVariableStatement(statement)) {
        for (const { name } of statement.declarationList.declarations)
          for (const bound of boundNames(name)) names.add(bound);
      } else {
        const name = textOfName(statement);
        if (name !== undefined) names.add(name);
      }
    }
  }
  return names;
}

/** One import of a file: `import`, `import type`, `export … from`, `import()` or `require()`. */
export interface Import {
  specifier: string;
  line: number;
}

/** Text of the node that names a module; undefined: this node imports nothing. */
function specifierOf(node: Node): string | undefined {
  const {
    moduleSpecifier,
    expression,
    argument,
    arguments: given,
  } = node as Node & {
    moduleSpecifier?: Node & { text: string };
    expression?: Node & { text?: string };
    argument?: Node & { literal?: Node & { text?: string } };
    arguments?: readonly (Node & { text?: string })[];
  };
  if (isImportDeclaration(node) || isExportDeclaration(node)) return moduleSpecifier?.text;
  if (node.kind === SyntaxKind.ImportType) return argument?.literal?.text;
  if (node.kind !== SyntaxKind.CallExpression) return undefined;
  const isCall = expression?.kind === SyntaxKind.ImportKeyword || expression?.text === "require";
  return isCall && given?.[0]?.kind === SyntaxKind.StringLiteral ? given[0].text : undefined;
}

/** All imports of a module, in the order of their lines. */
export function importsOf(file: SourceFile): Import[] {
  const found: Import[] = [];
  function visit(node: Node): void {
    const specifier = specifierOf(node);
    if (specifier !== undefined) found.push({ specifier, line: lineOf(file, node.getStart(file)) });
    node.forEachChild(visit);
  }
  visit(file);
  return found;
}

/** Line of the first mention of the process environment, or null. */
export function environmentLine(file: SourceFile): number | null {
  let line: number | null = null;
  function visit(node: Node): void {
    const { expression, argumentExpression } = node as Node & {
      expression?: Node & { text?: string };
      argumentExpression?: Node & { text?: string };
    };
    const isProcess = expression !== undefined && (textOfName(expression) ?? expression.text) === "process";
    const isRead = isProcess && (textOfName(node) ?? argumentExpression?.text) === "env";
    const isImport =
      isImportDeclaration(node) &&
      /^(node:)?process$/.test(specifierOf(node) ?? "") &&
      /\benv\b/.test(file.text.slice(node.getStart(file), node.end));
    if (isRead || isImport) line ??= lineOf(file, node.getStart(file));
    else node.forEachChild(visit);
  }
  visit(file);
  return line;
}

/**
 * A template literal of a source, from behind its first backtick. Code in it is blanked except for its `$`; templates
 * within that code are part of it.
 */
export interface Template {
  start: number;
  text: string;
}

const WHOLE_TEMPLATES = new Set([SyntaxKind.NoSubstitutionTemplateLiteral, SyntaxKind.TemplateExpression]);
const TEMPLATE_TEXTS = new Set([
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
]);

const blanked = (text: string) => text.replaceAll(/[^\n]/g, " ");

/** All outermost templates of a source. */
export function templatesOf(file: SourceFile): Template[] {
  const found: Template[] = [];
  function visit(node: Node, around: Template | null): void {
    // Behind its first character, a backtick or brace, up to its last.
    const [start, end] = [node.getStart(file) + 1, node.end - 1];
    let template = around;
    if (template === null && WHOLE_TEMPLATES.has(node.kind)) {
      template = { start, text: blanked(file.text.slice(start, end)) };
      found.push(template);
    }
    if (template !== null && TEMPLATE_TEXTS.has(node.kind)) {
      const text = file.text.slice(start, end).replaceAll(/\\[\s\S]/g, blanked);
      const [before, behind] = [start - template.start, end - template.start];
      template.text = template.text.slice(0, before) + text + template.text.slice(behind);
    }
    node.forEachChild((child) => visit(child, template));
  }
  visit(file, null);
  return found;
}
