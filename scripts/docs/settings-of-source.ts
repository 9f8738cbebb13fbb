import type { SettingSchema } from '../../src/config/schema/setting.ts';
import { keyOf, type Node, parseSyntax, type Syntax } from './syntax.ts';

/** The types of what the rest of the service is handed. */
export const SETTINGS_FILE = 'src/config/settings.ts';
/** Where the texts of settings become values of those types. */
export const PARSER_FILE = 'src/config/load/parse-settings.ts';

/** The members of an interface, or of a type that is written out. */
interface Shape {
  /** The interface that it is or belongs to. */
  readonly owner: string;
  readonly members: ReadonlyMap<string, Node | undefined>;
}

/**
 * A sentence for each setting of the schema that nobody is handed, and for each that is handed on and that nobody reads. Both are
 * found by name: a setting that has the name of another one in use counts as read.
 *
 * @param files of src by path
 */
export function problemsOfHanding(root: SettingSchema, files: ReadonlyMap<string, string>): string[] {
  const [types, parser] = [SETTINGS_FILE, PARSER_FILE].map((file) => parseSyntax(file, files.get(file) ?? ''));
  if (types === undefined || parser === undefined) return [];
  const interfaces = interfacesOf(types);
  const config = interfaces.get('Config');
  if (config === undefined) return [`${SETTINGS_FILE} has no interface Config.`];
  const parsed = readNames([parser]);
  const problems: string[] = [];
  const visit = (schema: SettingSchema, shape: Shape | undefined, path: string): void => {
    for (const [key, part] of Object.entries(schema.properties ?? {})) {
      const setting = path === '' ? key : `${path}.${key}`;
      const isHanded = shape?.members.has(key) !== false;
      if (!isHanded && !parsed.has(key)) {
        problems.push(
          `${setting} is a setting of the schema, but neither is it in ${shape?.owner} of ${SETTINGS_FILE}, ` +
            `nor does ${PARSER_FILE} read it: nobody is handed it.`,
        );
      }
      const inner = shape?.members.get(key);
      const below = inner && shapeOf(inner, interfaces, shape?.owner ?? '');
      const [network] = Object.values(part.patternProperties ?? {});
      if (network !== undefined) visit(network, below, `${setting}.name`);
      else visit(part.items ?? part, below, setting);
    }
  };
  visit(root, config, '');
  const outside = [...files].filter(([file]) => !file.startsWith('src/config/'));
  const read = readNames(outside.map(([file, text]) => parseSyntax(file, text)));
  for (const { owner, members } of allShapes(interfaces)) {
    for (const name of members.keys()) {
      if (!read.has(name)) {
        problems.push(
          `\`${name}\` of ${owner} in ${SETTINGS_FILE} is handed on, but nothing outside src/config reads it.`,
        );
      }
    }
  }
  return problems;
}

function interfacesOf({ nodes }: Syntax): Map<string, Shape> {
  const interfaces = new Map<string, Shape>();
  for (const node of nodes) {
    if (node.type !== 'TSInterfaceDeclaration') continue;
    interfaces.set(node.id.name, { owner: node.id.name, members: membersOf(node.body.body) });
  }
  return interfaces;
}

function membersOf(signatures: readonly Node[]): Map<string, Node | undefined> {
  const members = new Map<string, Node | undefined>();
  for (const signature of signatures) {
    const key = signature.type === 'TSPropertySignature' ? keyOf(signature) : undefined;
    if (signature.type === 'TSPropertySignature' && key !== undefined) {
      members.set(key, signature.typeAnnotation?.typeAnnotation);
    }
  }
  return members;
}

/** Of lists: the shape of what they hold. Undefined for types from elsewhere, which the compiler holds against the schema. */
function shapeOf(type: Node, interfaces: ReadonlyMap<string, Shape>, owner: string): Shape | undefined {
  switch (type.type) {
    case 'TSTypeReference':
      return type.typeName.type === 'Identifier' ? interfaces.get(type.typeName.name) : undefined;
    case 'TSTypeLiteral':
      return { owner, members: membersOf(type.members) };
    case 'TSTypeOperator':
      return shapeOf(type.typeAnnotation, interfaces, owner);
    case 'TSArrayType':
      return shapeOf(type.elementType, interfaces, owner);
    case 'TSParenthesizedType':
      return shapeOf(type.typeAnnotation, interfaces, owner);
    case 'TSUnionType':
      return type.types.map((one) => shapeOf(one, interfaces, owner)).find((shape) => shape !== undefined);
    default:
      return undefined;
  }
}

function* allShapes(interfaces: ReadonlyMap<string, Shape>): Generator<Shape> {
  for (const shape of interfaces.values()) {
    yield shape;
    for (const type of shape.members.values()) {
      const inner = type && shapeOf(type, new Map(), shape.owner);
      if (inner !== undefined) yield inner;
    }
  }
}

/** Every `x.name`, and every `name` that an object is taken apart into. */
function readNames(sources: readonly Syntax[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const node of sources.flatMap(({ nodes }) => nodes)) {
    const keys =
      node.type === 'MemberExpression'
        ? [keyOf({ key: node.property, computed: node.computed })]
        : node.type === 'ObjectPattern'
          ? node.properties.map((property) => (property.type === 'Property' ? keyOf(property) : undefined))
          : [];
    for (const key of keys) if (key !== undefined) names.add(key);
  }
  return names;
}
