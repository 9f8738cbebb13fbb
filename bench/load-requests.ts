import { randomBytes } from 'node:crypto';
import { parseHex } from '../src/lib/encoding/bytes.ts';
import type { BlockchainID } from '../src/warp/ids.ts';
import { encodeWarpPayload } from '../src/warp/payload.ts';
import { createUnsignedMessage, parseUnsignedMessage } from '../src/warp/unsigned-message.ts';
import { bodyOf, newMessages } from './client.ts';

export type RequestKind =
  /** New messages. */
  | 'distinct'
  /** The same message each time. */
  | 'repeated'
  /** Different well-formed messages that no validator signs. */
  | 'refused'
  /** Ten requests of which four repeat, four are distinct, one is refused and one is no JSON. */
  | 'mixed'
  /** Messages of blockchains that do not exist, each of a different one. */
  | 'unknown-chains'
  /** Messages of 200 KB that no validator signs. */
  | 'huge'
  /** Invalid bodies: broken JSON, wrong types, no hex. */
  | 'garbage';

/** New messages of one load; afterwards they repeat. */
const MAX_NEW_MESSAGES = 10_000;
const HUGE_BYTES = 200 * 1024;
const COUNTER_BYTES = 8;
/** End of the blockchain ID in the hex of a message, after codec version and network ID. */
const CHAIN_ID_END = 2 * (2 + 4 + 32);

const GARBAGE: readonly string[] = [
  '{"message":',
  '{"message":"0x0g"}',
  '{"message":12}',
  '[]',
  `{"message":"${'00'.repeat(100)}"}`,
  `{"message":"00","unknown":true}`,
  '['.repeat(2_000),
  `"${'\\u0000'.repeat(500)}"`,
];

/** @returns a function that returns the next body of the load */
export async function createBodies(kind: RequestKind, devnetUrl: string): Promise<() => string> {
  const [first = '', ...others] = await newMessages(devnetUrl, isOfNewMessages(kind) ? MAX_NEW_MESSAGES : 1);
  const { networkID, sourceChainID } = parseUnsignedMessage(parseHex(first, 'message'));
  const distinct = inTurn(others.map(bodyOf));
  const refused = numbered(unsignedHex(networkID, sourceChainID, smallPayload()));
  const garbage = inTurn(GARBAGE);
  switch (kind) {
    case 'distinct':
      return distinct;
    case 'repeated':
      return () => bodyOf(first);
    case 'refused':
      return refused;
    case 'mixed': {
      const repeated = (): string => bodyOf(first);
      const distinctAndRepeated = [repeated, distinct, repeated, distinct];
      const turns = inTurn([...distinctAndRepeated, refused, ...distinctAndRepeated, garbage]);
      return () => turns()();
    }
    case 'unknown-chains':
      return numbered(unsignedHex(networkID, sourceChainID, smallPayload()), CHAIN_ID_END);
    case 'huge':
      return numbered(unsignedHex(networkID, sourceChainID, randomBytes(HUGE_BYTES)));
    case 'garbage':
      return garbage;
  }
}

function isOfNewMessages(kind: RequestKind): boolean {
  return kind === 'distinct' || kind === 'mixed';
}

function smallPayload(): Uint8Array {
  return encodeWarpPayload({ kind: 'AddressedCall', sourceAddress: randomBytes(20), payload: randomBytes(64) });
}

function unsignedHex(networkID: number, sourceChainID: BlockchainID, payload: Uint8Array): string {
  return Buffer.from(createUnsignedMessage(networkID, sourceChainID, payload).bytes).toString('hex');
}

/** Bodies that differ only in the digits before `end` of the message: cheap, so that the load is not slowed down. */
function numbered(hex: string, end: number = hex.length): () => string {
  const digits = 2 * COUNTER_BYTES;
  const before = `{"message":"${hex.slice(0, end - digits)}`;
  const after = `${hex.slice(end)}"}`;
  let count = 0;
  return () => {
    count += 1;
    return `${before}${count.toString(16).padStart(digits, '0')}${after}`;
  };
}

function inTurn<T>(values: readonly T[]): () => T {
  let index = -1;
  return () => {
    index = (index + 1) % values.length;
    return values[index] as T;
  };
}
