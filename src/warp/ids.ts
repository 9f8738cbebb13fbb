import { ripemd160 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { parseHex } from '../lib/encoding/bytes.ts';
import { encodeCb58, parseCb58 } from '../lib/encoding/cb58.ts';
import { attempt, ParseError } from '../lib/encoding/parse-error.ts';

/**
 * IDs are canonical texts (cb58) with a brand for what they identify: texts compare and hash by value, `Uint8Array`s do not.
 * {@link idBytes} and {@link nodeIDBytes} return the bytes.
 *
 * `src/warp` has pure codecs of Warp messages, payloads, justifications and signature requests. It decides nothing about them. Start
 * with `unsigned-message.ts` and `signed-message.ts`; `reading.ts` decodes bytes of an unknown kind.
 */
declare const brand: unique symbol;
type Id<Brand extends string> = string & { readonly [brand]: Brand };

export type SubnetID = Id<'SubnetID'>;
export type BlockchainID = Id<'BlockchainID'>;
export type TxID = Id<'TxID'>;
export type MessageID = Id<'MessageID'>;
export type ValidationID = Id<'ValidationID'>;
export type NodeID = Id<'NodeID'>;
export type Id32 = SubnetID | BlockchainID | TxID | MessageID | ValidationID;

export const ID_LENGTH = 32;
export const NODE_ID_LENGTH = 20;
const NODE_ID_PREFIX = 'NodeID-';

/** 32 zero bytes: the primary network as a subnet, the P-Chain as a blockchain, and elsewhere a missing ID. */
export const EMPTY_ID = '11111111111111111111111111111111LpoYY';
export const PRIMARY_NETWORK_ID = EMPTY_ID as SubnetID;
export const P_CHAIN_ID = EMPTY_ID as BlockchainID;

/** 20 zero bytes: `platform.getValidatorsAt` lists the weight of all inactive L1 validators under it, without a key. */
export const INACTIVE_NODE_ID = 'NodeID-111111111111111111116DBWJs' as NodeID;

export function idFromBytes<T extends Id32>(bytes: Uint8Array, what: string): T {
  if (bytes.length !== ID_LENGTH) throw new ParseError(what, `must have ${ID_LENGTH} bytes, has ${bytes.length}`);
  return encodeCb58(bytes) as T;
}

export function parseId<T extends Id32>(text: string, what: string): T {
  return idFromBytes<T>(parseCb58(text, what), what);
}

/** Parses hex with or without `0x`, or cb58. @throws {ParseError} */
export function parseHexOrCb58Id<T extends Id32>(text: string, what: string): T {
  // The cb58 of 32 bytes has at most 50 characters, so the two forms are distinct.
  if (text.startsWith('0x') || /^[0-9a-fA-F]{64}$/.test(text)) return idFromBytes<T>(parseHex(text, what), what);
  const id = attempt(() => parseId<T>(text, what));
  if (!(id instanceof ParseError)) return id;
  throw new ParseError(what, `must be a ${ID_LENGTH}-byte ID in hex or cb58: ${id.reason}`, { cause: id });
}

export function idBytes(id: Id32): Uint8Array {
  return parseCb58(id, 'ID');
}

export function nodeIDFromBytes(bytes: Uint8Array): NodeID {
  if (bytes.length !== NODE_ID_LENGTH) {
    throw new ParseError('NodeID', `must have ${NODE_ID_LENGTH} bytes, has ${bytes.length}`);
  }
  return `${NODE_ID_PREFIX}${encodeCb58(bytes)}` as NodeID;
}

export function parseNodeID(text: string): NodeID {
  if (!text.startsWith(NODE_ID_PREFIX)) throw new ParseError('NodeID', `must start with ${NODE_ID_PREFIX}`);
  return nodeIDFromBytes(parseCb58(text.slice(NODE_ID_PREFIX.length), 'NodeID'));
}

export function nodeIDBytes(nodeID: NodeID): Uint8Array {
  return parseCb58(nodeID.slice(NODE_ID_PREFIX.length), 'NodeID');
}

/** Returns ripemd160(sha256(certificate DER)). */
export function nodeIDFromCertificate(der: Uint8Array): NodeID {
  return nodeIDFromBytes(ripemd160(sha256(der)));
}
