import type { Example } from '../../../devnet/devnet-schemas.ts';

/** An example as people would paste it. */
export interface PastedExample {
  readonly name: string;
  readonly text: string;
}

const NETWORK_ID_DIGITS = 8;
/** Hex digits before the network ID of an unsigned message: `0x` and the codec version. */
const NETWORK_ID_AT = 6;

/** Groups the devnet's examples, and adds some that must fail. */
export function groupExamples(
  examples: readonly Example[],
): readonly (readonly [group: string, examples: readonly PastedExample[]])[] {
  const all = examples.map((example) => ({ name: example.name, text: textOf(example) }));
  const message = examples.find(({ name }) => name.startsWith('C-Chain'))?.body?.message;
  const isOf = (group: string) => (example: PastedExample) => groupOf(example.name) === group;
  const groups = ['Primary network', 'L1', 'Conversions and L1 validators'].map(
    (group) => [group, all.filter(isOf(group))] as const,
  );
  return [...groups, ['Must fail', message === undefined ? [] : failing(message)] as const].filter(
    ([, list]) => list.length > 0,
  );
}

function groupOf(name: string): string {
  if (name.startsWith('C-Chain')) return 'Primary network';
  return name.startsWith('L1') ? 'L1' : 'Conversions and L1 validators';
}

function failing(message: string): PastedExample[] {
  const last = message.endsWith('00') ? '11' : '00';
  return [
    { name: 'Message that its chain never sent', text: `${message.slice(0, -2)}${last}` },
    {
      name: 'Message of Mainnet',
      text: `${message.slice(0, NETWORK_ID_AT)}00000001${message.slice(NETWORK_ID_AT + NETWORK_ID_DIGITS)}`,
    },
    { name: 'Message that is cut off', text: message.slice(0, -2) },
    {
      name: 'Quorum with too much of a buffer',
      text: pasted({ message, quorumPercentage: 80, quorumPercentageBuffer: 30 }),
    },
  ];
}

function textOf({ body, path }: Example): string {
  if (body === undefined) return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
  const { message, quorumPercentage, ...rest } = body;
  const isPlain = message !== undefined && Object.keys(rest).length === 0 && (quorumPercentage ?? 67) === 67;
  return isPlain ? message : pasted(body);
}

function pasted(body: object): string {
  return JSON.stringify(body, null, 1);
}
