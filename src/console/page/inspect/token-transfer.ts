import { dynamicBytes, wordAt } from '../ui/hex.ts';

/**
 * What the interchain token transfer contracts send through Teleporter (icm-contracts `ITokenTransferrer.sol`): the ABI encoding of
 * a type and a payload, whose struct depends on the type. Undefined if the bytes are anything else.
 */
interface TokenTransfer {
  readonly type: string;
  readonly fields: readonly { readonly name: string; readonly kind: FieldKind; readonly value: string }[];
}

type FieldKind = 'address' | 'amount' | 'number' | 'id' | 'bytes';

const TYPES: readonly { readonly type: string; readonly fields: Readonly<Record<string, FieldKind>> }[] = [
  {
    type: 'Register remote',
    fields: {
      'Initial reserve imbalance': 'amount',
      'Home token decimals': 'number',
      'Remote token decimals': 'number',
    },
  },
  { type: 'Send tokens', fields: { Recipient: 'address', Amount: 'amount' } },
  {
    type: 'Send tokens and call',
    fields: {
      'Source blockchain': 'id',
      'Origin token transferrer': 'address',
      'Origin sender': 'address',
      'Recipient contract': 'address',
      Amount: 'amount',
      'Recipient payload': 'bytes',
      'Recipient gas limit': 'number',
      'Fallback recipient': 'address',
    },
  },
  {
    type: 'Send tokens over two hops',
    fields: {
      'Destination blockchain': 'id',
      'Destination token transferrer': 'address',
      Recipient: 'address',
      Amount: 'amount',
      'Secondary fee': 'amount',
      'Secondary gas limit': 'number',
      'Multi-hop fallback': 'address',
    },
  },
  {
    type: 'Send tokens and call over two hops',
    fields: {
      'Origin sender': 'address',
      'Destination blockchain': 'id',
      'Destination token transferrer': 'address',
      'Recipient contract': 'address',
      Amount: 'amount',
      'Recipient payload': 'bytes',
      'Recipient gas limit': 'number',
      'Fallback recipient': 'address',
      'Multi-hop fallback': 'address',
      'Secondary required gas limit': 'number',
      'Secondary fee': 'amount',
    },
  },
];

const WORD_DIGITS = 64;
const OFFSET_OF_STRUCT = `${''.padStart(62, '0')}20`;

export function readTokenTransfer(message: string): TokenTransfer | undefined {
  if (wordAt(message, 0) !== OFFSET_OF_STRUCT) return undefined;
  const typeWord = wordAt(message, 1);
  const known = typeWord !== undefined && /^0{63}[0-4]$/.test(typeWord) ? TYPES[Number(typeWord.at(-1))] : undefined;
  const payload = dynamicBytes(message, wordAt(message, 2), WORD_DIGITS);
  if (known === undefined || payload === undefined) return undefined;
  const kinds = Object.entries(known.fields);
  // The encoding of a struct with a field of any length starts with an offset.
  const isDynamic = kinds.some(([, kind]) => kind === 'bytes');
  if (isDynamic ? wordAt(payload, 0) !== OFFSET_OF_STRUCT : payload.length !== kinds.length * WORD_DIGITS) {
    return undefined;
  }
  const struct = isDynamic ? payload.slice(WORD_DIGITS) : payload;
  const fields = kinds.map(([name, kind], index) => {
    const value = readField(kind, struct, wordAt(struct, index));
    return value === undefined ? undefined : { name, kind, value };
  });
  return fields.every((field) => field !== undefined) ? { type: known.type, fields } : undefined;
}

function readField(kind: FieldKind, struct: string, word: string | undefined): string | undefined {
  if (word === undefined) return undefined;
  switch (kind) {
    case 'address':
      return word.startsWith('0'.repeat(24)) ? `0x${word.slice(24)}` : undefined;
    case 'id':
      return `0x${word}`;
    case 'amount':
    case 'number':
      return BigInt(`0x${word}`).toString();
    case 'bytes':
      return dynamicBytes(struct, word);
  }
}
