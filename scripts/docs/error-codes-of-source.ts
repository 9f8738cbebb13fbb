import { keyOf, literalText, type Node, parseSyntax, propertyOf, type Syntax } from './syntax.ts';

export interface DeclaredErrorCode {
  readonly code: string;
  /** A number, or that of the upstream. */
  readonly status: string;
  readonly meaning: string;
  readonly retry: string;
  readonly action: string;
}

export interface ErrorCodesOfSource {
  readonly codes: readonly DeclaredErrorCode[];
  /** A sentence for each. */
  readonly problems: readonly string[];
}

/** Where the table `ERROR_CODES` is. */
export const ERROR_CODES_FILE = 'src/http/errors/error-codes.ts';

/**
 * Reads the table of error codes, and looks for the places that raise each.
 *
 * @param files by path, such as `src/http/errors/error-codes.ts`
 */
export function errorCodesOfSource(files: ReadonlyMap<string, string>): ErrorCodesOfSource {
  const text = files.get(ERROR_CODES_FILE);
  const table = text === undefined ? undefined : findTable(parseSyntax(ERROR_CODES_FILE, text));
  if (table === undefined) return { codes: [], problems: [`${ERROR_CODES_FILE} has no object literal ERROR_CODES.`] };
  const codes: DeclaredErrorCode[] = [];
  const problems: string[] = [];
  for (const property of table) {
    const code = property.type === 'Property' ? keyOf(property) : undefined;
    if (property.type !== 'Property' || code === undefined) {
      problems.push(`${ERROR_CODES_FILE}: an entry of ERROR_CODES is not written out as code: { … }.`);
      continue;
    }
    const [status, meaning, retry, action] = ['status', 'meaning', 'retry', 'action'].map((key) =>
      writtenValue(propertyOf(property.value, key)),
    );
    if (status === undefined || meaning === undefined || retry === undefined || action === undefined) {
      problems.push(
        `${ERROR_CODES_FILE}: \`${code}\` lacks status, meaning, retry or action as a literal, which docs/errors.md needs.`,
      );
      continue;
    }
    codes.push({ code, status, meaning, retry, action });
  }
  const raised = raisedTexts(files);
  for (const { code } of codes) {
    if (!raised.has(code)) problems.push(`${ERROR_CODES_FILE} has the code \`${code}\`, which nothing in src raises.`);
  }
  return { codes, problems };
}

function findTable({ nodes }: Syntax) {
  for (const node of nodes) {
    if (node.type !== 'VariableDeclarator' || node.id.type !== 'Identifier' || node.id.name !== 'ERROR_CODES') continue;
    let { init } = node;
    while (init?.type === 'TSAsExpression' || init?.type === 'TSSatisfiesExpression') init = init.expression;
    if (init?.type === 'ObjectExpression') return init.properties;
  }
  return undefined;
}

function writtenValue(node: Node | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node.value === 'number') return String(node.value);
  return literalText(node);
}

/** Every text that is given to something: an argument, a property, a result. What is only compared with or listed is not. */
function raisedTexts(files: ReadonlyMap<string, string>): ReadonlySet<string> {
  const texts = new Set<string>();
  for (const [file, text] of files) {
    if (file === ERROR_CODES_FILE) continue;
    const syntax = parseSyntax(file, text);
    for (const node of syntax.nodes) {
      if (node.type === 'Literal' && typeof node.value === 'string' && isGiven(node, syntax)) texts.add(node.value);
    }
  }
  return texts;
}

function isGiven(node: Node, { parentOf }: Syntax): boolean {
  const parent = parentOf(node);
  switch (parent?.type) {
    case 'BinaryExpression':
    case 'SwitchCase':
    case 'TSLiteralType':
    case 'MemberExpression':
      return false;
    case 'ArrayExpression':
      // A pair in a map from causes to codes, and no list of codes.
      return parentOf(parent)?.type === 'Property';
    case 'Property':
      return parent.value === node;
    case 'CallExpression': {
      const { callee } = parent;
      return (
        callee.type !== 'MemberExpression' ||
        !/^(has|includes)$/.test(keyOf({ key: callee.property, computed: callee.computed }) ?? '')
      );
    }
    default:
      return true;
  }
}
