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
