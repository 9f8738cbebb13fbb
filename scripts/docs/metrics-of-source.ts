import { METRIC_PREFIX } from '../../src/telemetry/metrics.ts';
import { keyOf, literalText, type Node, parseSyntax, propertyOf, type Syntax } from './syntax.ts';

export interface DeclaredMetric {
  /** With the prefix. */
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  readonly file: string;
}

export interface MetricsOfSource {
  /** By name. */
  readonly metrics: readonly DeclaredMetric[];
  /** A sentence for each. */
  readonly problems: readonly string[];
}

const KINDS: ReadonlyMap<string, DeclaredMetric['kind']> = new Map([
  ['counter', 'counter'],
  ['gauge', 'gauge'],
  ['readGauge', 'gauge'],
  ['histogram', 'histogram'],
]);
/** `at` gives one time series, which is taken in order to be written. */
const WRITE_METHODS: ReadonlySet<string> = new Set(['inc', 'dec', 'set', 'observe', 'at']);
/** It declares nothing itself. */
const FACTORY = 'src/telemetry/metrics.ts';
/** What belongs to one network: `src/network` hands it a `Metrics` that sets the label. */
const FOLDERS_OF_NETWORKS: ReadonlySet<string> = new Set(['aggregator', 'network', 'p2p', 'pchain']);
/** The others that are handed one. */
const FILES_OF_NETWORKS: ReadonlySet<string> = new Set([
  'src/api/go-aggregator/go-routes.ts',
  'src/store/redis/distributed-single-flight.ts',
]);
/** In a folder of networks, and one for all of them. */
const FILES_OF_PROCESS: ReadonlySet<string> = new Set(['src/network/identity-watch.ts']);

/**
 * Finds the metrics that are declared through the factory, and what is wrong with them.
 *
 * @param files by path, such as `src/p2p/peer-metrics.ts`
 */
export function metricsOfSource(files: ReadonlyMap<string, string>): MetricsOfSource {
  const parsed = [...files].filter(([file]) => file !== FACTORY).map(([file, text]) => parseSyntax(file, text));
  const metrics = new Map<string, DeclaredMetric>();
  const problems: string[] = [];
  for (const syntax of parsed) {
    const folder = parsed.filter(({ file }) => folderOf(file) === folderOf(syntax.file));
    for (const call of syntax.nodes) {
      const method =
        call.type === 'CallExpression' && call.callee.type === 'MemberExpression' ? lastNameOf(call.callee) : undefined;
      const kind = method === undefined ? undefined : KINDS.get(method);
      if (call.type !== 'CallExpression' || kind === undefined) continue;
      const metric = readDeclaration(syntax.file, kind, call.arguments[0]);
      if (typeof metric === 'string') {
        problems.push(metric);
        continue;
      }
      const other = metrics.get(metric.name);
      if (other !== undefined) {
        problems.push(`${syntax.file} declares \`${metric.name}\`, as ${other.file} does: a metric has one owner.`);
      }
      metrics.set(metric.name, metric);
      const misnaming = misnamingOf(metric, call.arguments[0]);
      if (misnaming !== undefined) problems.push(`${syntax.file}: the metric \`${metric.name}\` ${misnaming}.`);
      if (method !== 'readGauge' && !isWritten(call, syntax, folder)) {
        problems.push(`${syntax.file} declares the metric \`${metric.name}\`, which nothing in its folder writes.`);
      }
    }
  }
  return { metrics: [...metrics.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)), problems };
}

function readDeclaration(
  file: string,
  kind: DeclaredMetric['kind'],
  options: Node | undefined,
): DeclaredMetric | string {
  const [name, help, labels] = ['name', 'help', 'labels'].map((key) => options && propertyOf(options, key));
  const shortName = literalText(name);
  if (shortName === undefined) {
    return `${file} declares a ${kind} whose name is no literal, so that nobody finds it by its name: write { name: '…', help: '…' }.`;
  }
  const fullName = METRIC_PREFIX + shortName;
  const helpText = literalText(help);
  if (helpText === undefined || helpText === '') {
    return `${file}: the help of the metric \`${fullName}\` is no literal text, which docs/metrics.md needs.`;
  }
  const ownLabels = labels === undefined ? [] : literalTexts(labels);
  if (ownLabels === undefined) {
    return `${file}: the labels of the metric \`${fullName}\` are no list of literals, which docs/metrics.md needs.`;
  }
  const bound = isOfNetwork(file) ? ['network'] : [];
  return { name: fullName, kind, help: helpText, labels: [...bound, ...ownLabels], file };
}

function literalTexts(list: Node): string[] | undefined {
  if (list.type === 'TSAsExpression') return literalTexts(list.expression);
  if (list.type !== 'ArrayExpression') return undefined;
  const texts = list.elements.map((element) => literalText(element ?? undefined));
  return texts.includes(undefined) ? undefined : (texts as string[]);
}

const DURATION = /(^|_)(age|delay|duration|lag|latency|time|uptime)(_|$)/;
const BYTES = /(^|_)(bytes|memory)(_|$)/;
const OTHER_UNIT = /(^|_)(ms|millis|milliseconds|minutes|hours|days|kb|mb|kib|mib|percent|percentage)(_|$)/;
const RESERVED_END = /_(bucket|count|sum)$/;

/** What a name has against the rules of Prometheus, as the end of a sentence. */
function misnamingOf({ name, kind }: DeclaredMetric, options: Node | undefined): string | undefined {
  const short = name.slice(METRIC_PREFIX.length);
  if (short.startsWith(METRIC_PREFIX)) return 'has the prefix twice: the factory adds it';
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(short)) return 'is not in snake case';
  const isTotal = short.endsWith('_total');
  if (kind === 'counter' && !isTotal) return 'is a counter, and does not end in _total';
  if (kind !== 'counter' && isTotal) return `is a ${kind}, and ends in _total as a counter does`;
  if (RESERVED_END.test(short)) return 'ends as a time series of a histogram does';
  const unit = OTHER_UNIT.exec(short)?.[2];
  if (unit !== undefined) return `is in ${unit}: metrics are in seconds, bytes and ratios from 0 to 1`;
  const measured = isTotal ? short.slice(0, -'_total'.length) : short;
  const isDuration = DURATION.test(measured) || hasDurationBuckets(options);
  if (isDuration && !measured.endsWith('_seconds')) return 'is a duration, and does not end in _seconds';
  if (BYTES.test(measured) && !measured.endsWith('_bytes')) return 'is a size, and does not end in _bytes';
  return undefined;
}

function hasDurationBuckets(options: Node | undefined): boolean {
  const buckets = options && propertyOf(options, 'buckets');
  return buckets?.type === 'Identifier' && buckets.name === 'DURATION_BUCKETS_SECONDS';
}

/**
 * Whether something in the folder calls inc, dec, set, observe or at on what the declaration gives. It is followed by name, through
 * variables, fields, properties and functions that return it; handed to another function it counts as written.
 */
function isWritten(declaration: Node, declaredIn: Syntax, folder: readonly Syntax[]): boolean {
  const followed = new Set<string>();
  const isNameWritten = (name: string | undefined): boolean => {
    if (name === undefined || followed.has(name)) return false;
    followed.add(name);
    return folder.some((syntax) =>
      syntax.nodes.some(
        (node) => (isMentionOf(name, node, syntax) && isUsed(node, syntax)) || isNameWritten(newNameOf(name, node)),
      ),
    );
  };
  const isUsed = (node: Node, syntax: Syntax): boolean => {
    const parent = syntax.parentOf(node);
    switch (parent?.type) {
      case 'MemberExpression':
        return parent.object === node ? WRITE_METHODS.has(lastNameOf(parent) ?? '') : isUsed(parent, syntax);
      case 'CallExpression':
      case 'NewExpression':
        return parent.callee === node ? isUsed(parent, syntax) : true;
      case 'VariableDeclarator':
        return parent.init === node && isNameWritten(lastNameOf(parent.id));
      case 'AssignmentExpression':
        return parent.right === node && isNameWritten(lastNameOf(parent.left));
      case 'Property':
      case 'PropertyDefinition':
        return parent.value === node && isNameWritten(keyOf(parent));
      case 'ReturnStatement':
        return isNameWritten(nameOfFunctionAround(node, syntax));
      case 'ArrowFunctionExpression':
        return parent.body === node && isNameWritten(nameOfFunctionAround(node, syntax));
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSNonNullExpression':
      case 'ChainExpression':
      case 'ConditionalExpression':
      case 'LogicalExpression':
        return isUsed(parent, syntax);
      default:
        return false;
    }
  };
  return isUsed(declaration, declaredIn);
}

/** `name`, or the end of `a.name` or `a.#name`; no key of an object. */
function isMentionOf(name: string, node: Node, { parentOf }: Syntax): boolean {
  if (node.type === 'PrivateIdentifier') return `#${node.name}` === name && parentOf(node)?.type === 'MemberExpression';
  if (node.type !== 'Identifier' || node.name !== name) return false;
  const parent = parentOf(node);
  return parent?.type !== 'Property' || parent.value === node;
}

/** What `name` is called from `{ name: newName }` on, where an object is taken apart. */
function newNameOf(name: string, node: Node): string | undefined {
  if (node.type !== 'ObjectPattern') return undefined;
  const property = node.properties.find((one) => one.type === 'Property' && keyOf(one) === name);
  return property?.type === 'Property' ? lastNameOf(property.value) : undefined;
}

/** The name of a variable, or the last one of `a.b.name`. */
function lastNameOf(node: Node): string | undefined {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'ChainExpression') return lastNameOf(node.expression);
  return node.type === 'MemberExpression' ? keyOf({ key: node.property, computed: node.computed }) : undefined;
}

function nameOfFunctionAround(node: Node, { parentOf }: Syntax): string | undefined {
  for (let at = parentOf(node); at !== undefined; at = parentOf(at)) {
    if (at.type === 'FunctionDeclaration') return at.id?.name;
    if (at.type !== 'ArrowFunctionExpression' && at.type !== 'FunctionExpression') continue;
    const holder = parentOf(at);
    if (holder?.type === 'VariableDeclarator' && holder.id.type === 'Identifier') return holder.id.name;
    if (holder?.type === 'Property' || holder?.type === 'MethodDefinition') return keyOf(holder);
    return undefined;
  }
  return undefined;
}

function isOfNetwork(file: string): boolean {
  if (FILES_OF_PROCESS.has(file)) return false;
  return FOLDERS_OF_NETWORKS.has(folderOf(file)) || FILES_OF_NETWORKS.has(file);
}

function folderOf(file: string): string {
  return file.split('/')[1] ?? '';
}
