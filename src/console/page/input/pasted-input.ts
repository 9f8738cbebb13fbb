import type { Static } from 'typebox';
import type { AggregationBody } from '../../../api/aggregation/parse-aggregation-request.ts';
import { messageOfLogData, SEND_WARP_MESSAGE } from '../../../pchain/codec/send-warp-log.ts';
import { placeOf, TITLES, type ViewName } from '../session.ts';
import { withoutPrefix } from '../ui/hex.ts';

type Body = Static<typeof AggregationBody>;

/** The form of a pasted text. The service reads its bytes. */
export type PastedInput =
  | { readonly kind: 'empty' }
  /** Bytes in hex, and where they were found. */
  | {
      readonly kind: 'bytes';
      readonly hex: string;
      readonly source: 'hex' | 'log' | 'answer' | 'request';
      /** The other fields of a request that was pasted as a whole. */
      readonly fields: Body;
      /** How many more messages there are: of logs, the first is taken. */
      readonly more: number;
    }
  /** 32 bytes, in hex or cb58: a transaction's, or a subnet's. An address of this API has the chain, the log and other fields, too. */
  | {
      readonly kind: 'id';
      readonly id: string;
      readonly chain?: string;
      readonly logIndex?: string;
      readonly fields?: Body;
    }
  | { readonly kind: 'unreadable'; readonly reason: string };

const ID_DIGITS = 64;
/** Receipts have logs in a list in a result; nothing that is pasted by intent is deeper. */
const MAX_DEPTH = 8;

export function readPasted(pasted: string): PastedInput {
  const text = pasted.trim();
  if (text === '') return { kind: 'empty' };
  const link = consoleLinkOf(text);
  if (link !== undefined) return readConsoleLink(link);
  const address = /(?:^|\/)([0-9A-Za-z]{43,66})\?([\w=&]+)$/.exec(text);
  if (address?.[1] !== undefined) return readAddress(address[1], new URLSearchParams(address[2]));
  if (/^https?:\/\//i.test(text)) return readWebAddress(text);
  const brace = text.search(/[[{]/);
  if (brace === 0 || (brace > 0 && text.startsWith('curl'))) return readJson(text.slice(brace));
  return readPlain(text.replaceAll(/\s+|^["']|["',;]+$/g, ''));
}

export interface ConsoleLink {
  readonly view: ViewName;
  readonly query: URLSearchParams;
}

/** Returns the view and the parameters of an address of a console, here or elsewhere; undefined for another text. */
export function consoleLinkOf(text: string): ConsoleLink | undefined {
  const { view, query } = placeOf(consoleHashOf(text) ?? '#/none');
  return view === undefined ? undefined : { view, query };
}

/** Returns what the address of a console has from its `#` on; undefined for another text. */
export function consoleHashOf(text: string): string | undefined {
  const hash = /^(?:https?:\/\/\S*)?(#\/[a-z]+(?:[/?]\S*)?)$/.exec(text.trim())?.[1];
  return hash === undefined || placeOf(hash).view === undefined ? undefined : hash;
}

function readConsoleLink({ view, query }: ConsoleLink): PastedInput {
  const message = query.get('message');
  if (message !== null && consoleLinkOf(message) === undefined) return readPasted(message);
  return unreadable(`This is an address of the console, of its view ${TITLES[view]}: open it in the browser.`);
}

/** Pages of explorers, and this API, have a transaction in the address. */
function readWebAddress(text: string): PastedInput {
  const transaction = /\/(?:tx|aggregateSignatures)\/([0-9A-Za-z]{43,66})(?:[/?#]|$)/.exec(text)?.[1];
  const read = transaction === undefined ? undefined : readPlain(transaction);
  if (read?.kind === 'id') return read;
  return unreadable(
    'This is the address of a web page. Paste what it shows: the hash of a transaction, a message in hex, or a log.',
  );
}

/** The address of a GET for a transaction. */
function readAddress(id: string, query: URLSearchParams): PastedInput {
  const read = readPlain(id);
  const [chain, logIndex] = [query.get('blockchainId'), query.get('logIndex')];
  if (read.kind !== 'id') return read;
  const numbers = ['quorumPercentage', 'quorumPercentageBuffer', 'pChainHeight'];
  const named = [...query].map(([name, value]) => [name, numbers.includes(name) ? Number(value) : value]);
  const fields = fieldsOf(Object.fromEntries(named), undefined);
  return { ...read, fields, ...(chain && { chain }), ...(logIndex && { logIndex }) };
}

function readPlain(text: string): PastedInput {
  const hex = withoutPrefix(text).toLowerCase();
  if (/^[0-9a-f]*$/.test(hex)) {
    if (hex === '') return unreadable('There is nothing after 0x.');
    if (hex.length % 2 === 1) {
      return unreadable(`This has ${hex.length} hex digits, an odd number: one is missing, or one too many.`);
    }
    if (hex.length === ID_DIGITS) return { kind: 'id', id: `0x${hex}` };
    const logged = messageOfLogData(hex);
    return bytes(logged ?? hex, logged === undefined ? 'hex' : 'log');
  }
  if (text.startsWith('NodeID-')) {
    return unreadable('This is the NodeID of a validator. Paste a message, or look for the node under Subnets.');
  }
  if (/^[1-9A-HJ-NP-Za-km-z]{43,52}$/.test(text)) return { kind: 'id', id: text };
  if (isBase64(text)) {
    return unreadable('This looks like base64. Paste the bytes in hex: base64 -d | xxd -p converts them.');
  }
  const index = hex.search(/[^0-9a-f]/);
  const position = index + text.length - hex.length + 1;
  return unreadable(
    `This is neither hex, nor an ID, nor JSON: "${hex[index]}", at position ${position}, is no hex digit.`,
  );
}

/** Shorter texts may be words. */
const MIN_BASE64 = 24;

/** Misspelt hex has no other letters of both cases. */
function isBase64(text: string): boolean {
  const isWhole = text.length >= MIN_BASE64 && text.length % 4 === 0;
  return isWhole && /[g-z]/.test(text) && /[G-Z]/.test(text) && /^[A-Za-z0-9+/_-]+={0,2}$/.test(text);
}

function unreadable(reason: string): PastedInput {
  return { kind: 'unreadable', reason };
}

function readJson(text: string): PastedInput {
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'));
  let json: unknown;
  try {
    json = JSON.parse(text.slice(0, end + 1));
  } catch (error) {
    return unreadable(`This looks like JSON, but is none: ${(error as SyntaxError).message}`);
  }
  const logs = collect(json, messageOfLog);
  const [first] = logs;
  if (first !== undefined) return { ...bytes(first, 'log'), more: logs.length - 1 };
  const [found] = [...collect(json, bytesOfFields), ...collect(json, transactionOf)];
  return (
    found ??
    unreadable('This JSON has no log of SendWarpMessage in it, and no message, justification or signedMessage.')
  );
}

function bytes(hex: string, source: Extract<PastedInput, { kind: 'bytes' }>['source'], fields: Body = {}) {
  return { kind: 'bytes', hex, source, fields, more: 0 } as const;
}

/** What `read` finds in any object of the JSON, the outer ones first. */
function collect<T>(json: unknown, read: (object: Record<string, unknown>) => T | undefined, depth = 0): T[] {
  if (typeof json !== 'object' || json === null || depth > MAX_DEPTH) return [];
  const found = Array.isArray(json) ? undefined : read(json as Record<string, unknown>);
  if (found !== undefined) return [found];
  return Object.values(json).flatMap((value) => collect(value, read, depth + 1));
}

function messageOfLog({ topics, data }: Record<string, unknown>): string | undefined {
  if (!Array.isArray(topics) || typeof topics[0] !== 'string' || typeof data !== 'string') return undefined;
  if (withoutPrefix(topics[0]).toLowerCase() !== withoutPrefix(SEND_WARP_MESSAGE)) return undefined;
  return messageOfLogData(withoutPrefix(data).toLowerCase());
}

function bytesOfFields(object: Record<string, unknown>): PastedInput | undefined {
  const signed = [object['signedMessage'], object['signed-message'], object['signedMessageHex']].find(isHex);
  if (signed !== undefined) return bytes(withoutPrefix(signed).toLowerCase(), 'answer');
  const message = [object['message'], object['unsignedMessage'], object['unsigned-message']].find(isHex);
  const justification = isHex(object['justification']) ? object['justification'] : undefined;
  const main = message ?? justification;
  if (main === undefined) return undefined;
  const fields = fieldsOf(object, message === undefined ? undefined : justification);
  return bytes(withoutPrefix(main).toLowerCase(), 'request', fields);
}

/** Reads a transaction from the JSON of `platform.getTx`. */
function transactionOf({ unsignedTx, id }: Record<string, unknown>): PastedInput | undefined {
  const read = typeof unsignedTx === 'object' && typeof id === 'string' ? readPlain(id) : undefined;
  return read?.kind === 'id' ? read : undefined;
}

function fieldsOf(object: Record<string, unknown>, justification: string | undefined): Body {
  const textOf = (...names: string[]) =>
    names.map((name) => object[name]).find((value) => typeof value === 'string' && value !== '');
  const numberOf = (...names: string[]) => names.map((name) => object[name]).find((value) => Number.isFinite(value));
  const fields = {
    justification,
    signingSubnetId: textOf('signingSubnetId', 'signing-subnet-id'),
    destinationBlockchainId: textOf('destinationBlockchainId'),
    quorumPercentage: numberOf('quorumPercentage', 'quorum-percentage'),
    quorumPercentageBuffer: numberOf('quorumPercentageBuffer', 'quorum-percentage-buffer'),
    pChainHeight: numberOf('pChainHeight', 'pchain-height', 'p-chain-height'),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Body;
}

function isHex(value: unknown): value is string {
  return typeof value === 'string' && value.length > 2 && /^(0x)?([0-9a-fA-F]{2})+$/.test(value);
}
