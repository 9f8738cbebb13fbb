import { createHash } from 'node:crypto';
import { type BlockPosition, comparePositions } from '../../feed/feed-message.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { type BlockchainID, idBytes } from '../../warp/ids.ts';

/**
 * What a reader has received of the messages of a query, in positions of the chains alone: it means the same on every replica and after a
 * restart.
 */
export type Cursor = ReadonlyMap<BlockchainID, ChainCursor>;

export interface ChainCursor {
  /** All messages up to this position were delivered, in whatever status. */
  readonly after: BlockPosition;
  /** Those of them that were not signed then, in order. */
  readonly unsigned: readonly UnsignedPosition[];
  /** Undefined if `unsigned` lists all of them. */
  readonly unlisted?: UnlistedRange | undefined;
}

export interface UnsignedPosition extends BlockPosition {
  /** Whether it was delivered as failed, and not as pending. */
  readonly isFailed: boolean;
}

/**
 * A range with more unsigned messages than a cursor lists, before the listed ones. It is read again and again, and what is signed or failed
 * in it is delivered again.
 */
export interface UnlistedRange {
  /** The range begins after this position. */
  readonly start: BlockPosition;
  /** How far the range has been read this time. */
  readonly read: BlockPosition;
  /** The last position of the range. */
  readonly end: BlockPosition;
}

/** Messages that a cursor lists, over all of its chains. Each has 2 to 8 bytes. */
export const MAX_LISTED = 200;
/** Longer texts are not decoded. A header line must have room for a cursor. */
export const MAX_CURSOR_LENGTH = 8_192;
/** Chains of a cursor. */
export const MAX_CHAINS = 64;

const VERSION = 1;
const QUERY_BYTES = 6;
/** IDs are hashes, so that eight bytes are enough to distinguish the chains of a network. */
const CHAIN_BYTES = 8;

/** @param query a text for what the cursor belongs to */
export function encodeCursor(cursor: Cursor, query: string): string {
  const bytes: number[] = [VERSION, ...hashOf(query)];
  writeNumber(bytes, cursor.size);
  for (const [chainID, { after, unsigned, unlisted }] of cursor) {
    bytes.push(...chainKey(chainID));
    writePosition(bytes, after, ORIGIN);
    writeNumber(bytes, unsigned.length * 2 + Number(unlisted !== undefined));
    let previous: BlockPosition = ORIGIN;
    if (unlisted !== undefined) {
      writePosition(bytes, unlisted.start, previous);
      writePosition(bytes, unlisted.read, unlisted.start);
      writePosition(bytes, unlisted.end, unlisted.read);
      previous = unlisted.end;
    }
    for (const position of unsigned) {
      writePosition(bytes, position, previous);
      bytes.push(Number(position.isFailed));
      previous = position;
    }
  }
  return Buffer.from(bytes).toString('base64url');
}

/**
 * @param chains those that the cursor may be about; others in it are left out, such as a chain that is no longer stored
 * @throws {ParseError} if it is no cursor, or one of another query
 */
export function parseCursor(text: string, query: string, chains: readonly BlockchainID[]): Cursor {
  const bytes = Buffer.from(text, 'base64url');
  // Node ignores what is no base64url.
  if (text.length > MAX_CURSOR_LENGTH || text === '' || bytes.toString('base64url') !== text) throw malformed();
  const reader = new CursorReader(bytes);
  if (reader.byte() !== VERSION) throw malformed();
  if (!Buffer.from(hashOf(query)).equals(reader.bytes(QUERY_BYTES))) {
    throw new ParseError(
      'after',
      'is a cursor of another query: a query and its cursors belong together, leave after out',
    );
  }
  const byKey = new Map(chains.map((chainID) => [Buffer.from(chainKey(chainID)).toString('hex'), chainID]));
  const count = reader.number(MAX_CHAINS);
  const cursor = new Map<BlockchainID, ChainCursor>();
  for (let index = 0; index < count; index += 1) {
    const chainID = byKey.get(reader.bytes(CHAIN_BYTES).toString('hex'));
    const chain = reader.chain();
    if (chainID !== undefined) cursor.set(chainID, chain);
  }
  reader.end();
  return cursor;
}

/** Bounds the listed messages of each chain, so that a cursor of many chains is not longer than one of a single chain. */
export function listedPerChain(chains: number): number {
  return Math.max(1, Math.floor(MAX_LISTED / Math.max(1, chains)));
}

/** Before the first block. */
const ORIGIN: BlockPosition = { blockNumber: -1, logIndex: 0 };

function hashOf(query: string): Uint8Array {
  return createHash('sha256').update(query).digest().subarray(0, QUERY_BYTES);
}

const keys = new Map<BlockchainID, Uint8Array>();

/** Decoding cb58 takes longer than the rest of a cursor. The chains of a service are few. */
function chainKey(chainID: BlockchainID): Uint8Array {
  let key = keys.get(chainID);
  if (key === undefined) {
    if (keys.size >= MAX_CHAINS) keys.clear();
    key = idBytes(chainID).subarray(0, CHAIN_BYTES);
    keys.set(chainID, key);
  }
  return key;
}

/** LEB128, as in protobuf. */
function writeNumber(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
}

/** Writes a position as a distance to an earlier one. */
function writePosition(bytes: number[], position: BlockPosition, previous: BlockPosition): void {
  const blocks = position.blockNumber - previous.blockNumber;
  writeNumber(bytes, blocks);
  writeNumber(bytes, blocks === 0 ? position.logIndex - previous.logIndex : position.logIndex);
}

function malformed(): ParseError {
  return new ParseError(
    'after',
    'is not a cursor of this service: give the nextCursor of an answer or the id of an event',
  );
}

const MAX_LOG_INDEX = 0xffff_ffff;

/** Reads untrusted bytes. All methods throw {@link ParseError}. */
class CursorReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  bytes(length: number): Buffer {
    const end = this.#offset + length;
    if (end > this.#bytes.length) throw malformed();
    const part = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return part;
  }

  byte(): number {
    return this.bytes(1)[0] as number;
  }

  number(max: number): number {
    let value = 0;
    for (let factor = 1; factor <= Number.MAX_SAFE_INTEGER; factor *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (value > max) break;
      if (byte < 0x80) return value;
    }
    throw malformed();
  }

  chain(): ChainCursor {
    const after = this.#position(ORIGIN);
    const counts = this.number(2 * MAX_LISTED + 1);
    const hasUnlisted = counts % 2 === 1;
    const unlisted = hasUnlisted ? this.#unlisted() : undefined;
    let previous: BlockPosition = unlisted?.end ?? ORIGIN;
    const unsigned = Array.from({ length: Math.floor(counts / 2) }, () => {
      const position = { ...this.#position(previous), isFailed: this.number(1) === 1 };
      previous = position;
      return position;
    });
    if (comparePositions(previous, after) > 0) throw malformed();
    return unlisted === undefined ? { after, unsigned } : { after, unsigned, unlisted };
  }

  #unlisted(): UnlistedRange {
    const start = this.#position(ORIGIN);
    const read = this.#position(start);
    return { start, read, end: this.#position(read) };
  }

  end(): void {
    if (this.#offset !== this.#bytes.length) throw malformed();
  }

  #position(previous: BlockPosition): BlockPosition {
    const blockNumber = previous.blockNumber + this.number(Number.MAX_SAFE_INTEGER);
    const base = blockNumber === previous.blockNumber ? previous.logIndex : 0;
    const logIndex = base + this.number(MAX_LOG_INDEX);
    if (blockNumber > Number.MAX_SAFE_INTEGER || logIndex > MAX_LOG_INDEX) throw malformed();
    return { blockNumber, logIndex };
  }
}
