import { readdirSync, readFileSync } from 'node:fs';
import { parseHex } from '../../src/lib/encoding/bytes.ts';

/**
 * Typed reading of the JSON vectors beside this file (README.md says where they come from). Hex becomes bytes and weights
 * become bigints; the API's own requests and answers stay as they were on the wire.
 */

/** One JSON-RPC call that a node answered. */
export interface RpcExchange {
  readonly url: string;
  readonly request: {
    readonly id: number;
    readonly jsonrpc: '2.0';
    readonly method: string;
    readonly params: Readonly<Record<string, unknown>>;
  };
  readonly response: {
    readonly id: number;
    readonly jsonrpc: '2.0';
    readonly result?: unknown;
    readonly error?: { readonly code: number; readonly message: string; readonly data: unknown };
  };
}

/** One aggregation by the Go aggregator: what was asked, what it rests on, and what came out. */
export interface AggregationCase {
  /** The file's name without `case_` and `.json`. */
  readonly name: string;
  readonly description: string;
  readonly networkID: number;
  readonly sourceChainID: string;
  /** The requested subnet; empty for the default. */
  readonly signingSubnet: string;
  readonly effectiveSigningSubnet: string;
  /** 0 where the caller asked for the proposed height. */
  readonly pchainHeightRequested: number;
  /** 0 where the caller gave none, which means 67. */
  readonly quorum: number;
  readonly quorumBuffer: number;
  readonly justification: Uint8Array;
  readonly unsignedMessage: Uint8Array;
  readonly unsignedMessageID: string;
  readonly unsignedMessageIDBytes: Uint8Array;
  readonly payload: Uint8Array;
  readonly canonicalValidators: readonly CanonicalValidator[];
  readonly totalWeight: bigint;
  readonly rpc: readonly RpcExchange[];
  /** Undefined where the aggregator failed. */
  readonly signed: SignedOutcome | undefined;
}

export interface CanonicalValidator {
  readonly index: number;
  readonly nodeIDs: readonly string[];
  readonly publicKey: Uint8Array;
  /** 96 bytes: what the set is ordered by. */
  readonly publicKeyUncompressed: Uint8Array;
  readonly weight: bigint;
  /** What this validator's key makes of the unsigned message, also where the validator itself would refuse to sign it. */
  readonly signature: Uint8Array;
}

export interface SignedOutcome {
  readonly signedMessage: Uint8Array;
  readonly signerIndices: readonly number[];
  readonly signersBitSet: Uint8Array;
  readonly signerWeight: bigint;
  readonly aggregateSignature: Uint8Array;
}

/** `platform.getTx` of one transaction, in both encodings. */
export interface TransactionVector {
  /** The file's name without `tx_` and `.json`. */
  readonly name: string;
  readonly txID: string;
  readonly unsignedTx: Readonly<Record<string, unknown>>;
  /** The answer in hex: bytes of the signed transaction and a 4-byte checksum. */
  readonly bytesWithChecksum: Uint8Array;
  readonly json: RpcExchange;
  readonly hex: RpcExchange;
}

/** One client's session with a node. */
export interface PeerTranscript {
  readonly peerNodeID: string;
  readonly myNodeID: string;
  /** DER. */
  readonly serverCertificate: Uint8Array;
  readonly clientCertificate: Uint8Array;
  readonly frames: readonly TranscriptFrame[];
  /** The names of the requests, by request ID. */
  readonly requests: ReadonlyMap<number, string>;
}

export interface TranscriptFrame {
  readonly direction: 'in' | 'out';
  /** The frame without its length. */
  readonly bytes: Uint8Array;
  /** The message inside, where the frame was compressed. */
  readonly decompressed: Uint8Array | undefined;
  /** The protobuf message as JSON: bytes in base64. */
  readonly decoded: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const CASE_NAMES = namesOf('case_');
export const TRANSACTION_NAMES = namesOf('tx_');

export function readCase(name: string): AggregationCase {
  const raw = readJson<RawCase>(`case_${name}.json`);
  return {
    ...raw,
    name,
    justification: hex(raw.justification),
    unsignedMessage: hex(raw.unsignedMessage),
    unsignedMessageIDBytes: hex(raw.unsignedMessageIDHex),
    payload: hex(raw.payloadHex),
    canonicalValidators: raw.canonicalValidators.map((validator) => ({
      index: validator.index,
      nodeIDs: validator.nodeIDs,
      publicKey: hex(validator.publicKeyCompressed),
      publicKeyUncompressed: hex(validator.publicKeyUncompressed),
      weight: exact(validator.weight),
      signature: hex(validator.signatureOfUnsignedMessage),
    })),
    totalWeight: exact(raw.totalWeight),
    signed: raw.signed && {
      signedMessage: hex(raw.signed.signedMessageHex),
      signerIndices: raw.signed.signerIndices,
      signersBitSet: hex(raw.signed.signersBitSetHex),
      signerWeight: exact(raw.signed.signerWeight),
      aggregateSignature: hex(raw.signed.aggregateSignatureHex),
    },
  };
}

/** Cases of the vectors, in the order of their names. */
export function readCases(): AggregationCase[] {
  return CASE_NAMES.map(readCase);
}

export function readTransaction(name: string): TransactionVector {
  const raw = readJson<RawTransaction>(`tx_${name}.json`);
  return {
    name,
    txID: raw.txID,
    unsignedTx: (raw.json.response.result as { tx: { unsignedTx: Record<string, unknown> } }).tx.unsignedTx,
    bytesWithChecksum: hex((raw.hex.response.result as { tx: string }).tx),
    json: raw.json,
    hex: raw.hex,
  };
}

/** The calls of the P-Chain's and the info API that belong to no case. */
export function readRpcExchanges(api: 'pchain' | 'info'): RpcExchange[] {
  return readJson<RpcExchange[]>(`${api}.json`);
}

/** The result of the first call of that method whose parameters contain these. */
export function rpcResult<T>(
  exchanges: readonly RpcExchange[],
  method: string,
  params: Readonly<Record<string, unknown>> = {},
): T {
  const found = exchanges.find(
    ({ request }) =>
      request.method === method && Object.entries(params).every(([name, value]) => request.params[name] === value),
  );
  if (found?.response.result === undefined) throw new Error(`no result of ${method} with ${JSON.stringify(params)}`);
  return found.response.result as T;
}

export function readPeerTranscript(): PeerTranscript {
  const raw = readJson<RawTranscript>('p2p_transcript.json');
  return {
    peerNodeID: raw.peerNodeID,
    myNodeID: raw.myNodeID,
    serverCertificate: hex(raw.serverCertDERHex),
    clientCertificate: hex(raw.clientCertDERHex),
    frames: raw.frames.map(({ dir, frameHex, decompressedHex, decoded }) => ({
      direction: dir,
      bytes: hex(frameHex),
      decompressed: decompressedHex === undefined ? undefined : hex(decompressedHex),
      decoded,
    })),
    requests: new Map(
      raw.requests.map((line) => {
        const space = line.indexOf(' ');
        return [Number(line.slice(0, space)), line.slice(space + 1)];
      }),
    ),
  };
}

/** Reads any JSON file of this folder. The caller says what it holds. */
export function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as T;
}

function namesOf(prefix: string): string[] {
  return readdirSync(new URL('.', import.meta.url))
    .filter((file) => file.startsWith(prefix) && file.endsWith('.json'))
    .map((file) => file.slice(prefix.length, -'.json'.length))
    .sort();
}

function hex(text: string): Uint8Array {
  return parseHex(text, 'vector');
}

/** Weights of the vectors reach 10^16, beyond 2^53, but all of them are numbers that a double holds exactly. */
function exact(weight: number): bigint {
  return BigInt(weight);
}

/** What is read from the file as it stands there. */
type Unchanged =
  | ('description' | 'networkID' | 'sourceChainID' | 'signingSubnet' | 'effectiveSigningSubnet')
  | ('pchainHeightRequested' | 'quorum' | 'quorumBuffer' | 'unsignedMessageID' | 'rpc');

interface RawCase extends Pick<AggregationCase, Unchanged> {
  readonly justification: string;
  readonly unsignedMessage: string;
  readonly unsignedMessageIDHex: string;
  readonly payloadHex: string;
  readonly canonicalValidators: readonly {
    readonly index: number;
    readonly nodeIDs: readonly string[];
    readonly publicKeyCompressed: string;
    readonly publicKeyUncompressed: string;
    readonly signatureOfUnsignedMessage: string;
    readonly weight: number;
  }[];
  readonly totalWeight: number;
  readonly signed?: {
    readonly signedMessageHex: string;
    readonly signerIndices: readonly number[];
    readonly signersBitSetHex: string;
    readonly signerWeight: number;
    readonly aggregateSignatureHex: string;
  };
}

interface RawTransaction {
  readonly txID: string;
  readonly json: RpcExchange;
  readonly hex: RpcExchange;
}

interface RawTranscript {
  readonly peerNodeID: string;
  readonly myNodeID: string;
  readonly serverCertDERHex: string;
  readonly clientCertDERHex: string;
  readonly requests: readonly string[];
  readonly frames: readonly {
    readonly dir: 'in' | 'out';
    readonly frameHex: string;
    readonly decompressedHex?: string;
    readonly decoded: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  }[];
}
