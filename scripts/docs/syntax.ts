import { type Node, parseSync, visitorKeys } from 'oxc-parser';

export type { Node };

/** A file of src as the compiler sees it. */
export interface Syntax {
  readonly file: string;
  /** Every node, outer ones first. */
  readonly nodes: readonly Node[];
  parentOf(node: Node): Node | undefined;
}

/** @throws where the text is no TypeScript */
export function parseSyntax(file: string, text: string): Syntax {
  const { program, errors } = parseSync(file, text, { preserveParens: false });
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file}: ${error.message}`);
  const nodes: Node[] = [];
  const parents = new Map<Node, Node>();
  const visit = (node: Node, parent: Node | undefined): void => {
    nodes.push(node);
    if (parent !== undefined) parents.set(node, parent);
    for (const key of visitorKeys[node.type] ?? []) {
      const value = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[key];
      for (const child of Array.isArray(value) ? value : [value]) if (child) visit(child, node);
    }
  };
  visit(program, undefined);
  return { file, nodes, parentOf: (node) => parents.get(node) };
}

/** The text that an expression always has: a literal, or literals that are joined; undefined for any other. */
export function literalText(node: Node | undefined): string | undefined {
  if (node?.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  if (node?.type === 'TemplateLiteral')
    return node.expressions.length > 0 ? undefined : (node.quasis[0]?.value.cooked ?? undefined);
  if (node?.type === 'BinaryExpression' && node.operator === '+') {
    const [left, right] = [literalText(node.left), literalText(node.right)];
    return left === undefined || right === undefined ? undefined : left + right;
  }
  return undefined;
}

/** What stands in an object literal under a key that is written out. */
export function propertyOf(object: Node, key: string): Node | undefined {
  if (object.type !== 'ObjectExpression') return undefined;
  for (const property of object.properties) {
    if (property.type === 'Property' && keyOf(property) === key) return property.value;
  }
  return undefined;
}

/** The name of a property that is not computed. */
export function keyOf(property: { readonly key: Node; readonly computed: boolean }): string | undefined {
  const { key } = property;
  if (key.type === 'Identifier' && !property.computed) return key.name;
  if (key.type === 'PrivateIdentifier') return `#${key.name}`;
  return literalText(key);
}
