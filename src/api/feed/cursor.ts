import { createHash } from 'node:crypto';
import { type BlockPosition, LAST_LOG_INDEX, OPENING_BYTES } from '../../feed/feed-message.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { type BlockchainID, idBytes } from '../../warp/ids.ts';

/**
 * What a reader has received. Where the store has its opening and change, the reader goes on with the changes after that one; another store is
 * read from the settled positions on.
 */
export interface Cursor {
  /** Opening of the store, to which `change` belongs. */
  readonly opening: string;
  /** All changes up to this one were received, except of messages at positions after `read`. */
  readonly change: number;
  /** Also chains that the store does not have, until it has them. */
  readonly chains: ReadonlyMap<ChainKey, ChainCursor>;
}

export interface ChainCursor {
  /** All messages up to this position were received, and no more changes of them are expected. */
  readonly settled: BlockPosition;
  /** Position up to which messages were received, while they are read in the order of positions; then undefined. */
  readonly read?: BlockPosition | undefined;
}

/** The first bytes of a blockchain ID in hex. IDs are hashes, so that they distinguish the chains of a network. */
export type ChainKey = string & { readonly chainKey: never };

/** A header line must have room for a cursor. */
export const MAX_CURSOR_LENGTH = 4_096;
/** Longer texts are not decoded. */
const MAX_EARLIER_LENGTH = 8_192;
/** Chains of a cursor. */
export const MAX_CHAINS = 64;
/** Before the first block. */
export const ORIGIN: BlockPosition = { blockNumber: -1, logIndex: 0 };

/** Reads each chain from its oldest stored message on. */
export const START: Cursor = { opening: '00'.repeat(OPENING_BYTES), change: 0, chains: new Map() };

const VERSION = 2;
/** Its cursors had positions of unsigned messages and no changes. */
const EARLIER_VERSION = 1;
const QUERY_BYTES = 6;
const CHAIN_BYTES = 8;

/** @param query a text for what the cursor belongs to */
export function encodeCursor({ opening, change, chains }: Cursor, query: string): string {
  const bytes: number[] = [VERSION, ...hashOf(query), ...Buffer.from(opening, 'hex')];
  writeNumber(bytes, change);
  // Those that the store has come last.
  const kept = [...chains].slice(-MAX_CHAINS);
  writeNumber(bytes, kept.length);
  for (const [key, { settled, read }] of kept) {
    bytes.push(...Buffer.from(key, 'hex'), Number(read !== undefined));
    writePosition(bytes, settled, ORIGIN);
    if (read !== undefined) writePosition(bytes, read, settled);
  }
  return Buffer.from(bytes).toString('base64url');
}

/** @returns undefined for a cursor of an earlier version. @throws {ParseError} if it is no cursor, or one of another query */
export function parseCursor(text: string, query: string): Cursor | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Node ignores what is no base64url.
  if (text.length > MAX_EARLIER_LENGTH || text === '' || bytes.toString('base64url') !== text) throw malformed();
  const reader = new CursorReader(bytes);
  const version = reader.byte();
  if (version !== VERSION && version !== EARLIER_VERSION) throw malformed();
  if (version === VERSION && text.length > MAX_CURSOR_LENGTH) throw malformed();
  if (!Buffer.from(hashOf(query)).equals(reader.bytes(QUERY_BYTES))) {
    throw new ParseError(
      'after',
      'is a cursor of another query: a query and its cursors belong together, leave after out',
    );
  }
  if (version === EARLIER_VERSION) return undefined;
  const opening = reader.bytes(OPENING_BYTES).toString('hex');
  const change = reader.number(Number.MAX_SAFE_INTEGER);
  const count = reader.number(MAX_CHAINS);
  const chains = new Map<ChainKey, ChainCursor>();
  for (let index = 0; index < count; index += 1) {
    const key = reader.bytes(CHAIN_BYTES).toString('hex') as ChainKey;
    chains.set(key, reader.chain());
  }
  reader.end();
  return { opening, change, chains };
}

function hashOf(query: string): Uint8Array {
  return createHash('sha256').update(query).digest().subarray(0, QUERY_BYTES);
}

const keys = new Map<BlockchainID, ChainKey>();

/** Decoding cb58 takes longer than the rest of a cursor. The chains of a service are few. */
export function chainKeyOf(chainID: BlockchainID): ChainKey {
  let key = keys.get(chainID);
  if (key === undefined) {
    if (keys.size >= MAX_CHAINS) keys.clear();
    key = Buffer.from(idBytes(chainID).subarray(0, CHAIN_BYTES)).toString('hex') as ChainKey;
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
    const isRead = this.number(1) === 1;
    const settled = this.#position(ORIGIN);
    return isRead ? { settled, read: this.#position(settled) } : { settled };
  }

  end(): void {
    if (this.#offset !== this.#bytes.length) throw malformed();
  }

  /** Reads a position that is not before the previous one. */
  #position(previous: BlockPosition): BlockPosition {
    const blockNumber = previous.blockNumber + this.number(Number.MAX_SAFE_INTEGER);
    const base = blockNumber === previous.blockNumber ? previous.logIndex : 0;
    const logIndex = base + this.number(LAST_LOG_INDEX);
    const position = { blockNumber, logIndex };
    if (blockNumber > Number.MAX_SAFE_INTEGER || logIndex > LAST_LOG_INDEX) throw malformed();
    return position;
  }
}
