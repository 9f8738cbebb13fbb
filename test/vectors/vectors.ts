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

const CASE_NAMES = namesOf('case_');
export const TRANSACTION_NAMES = namesOf('tx_');

/** One aggregation by the Go aggregator: what was asked, what it rests on, and what came out. */
export type AggregationCase = ReturnType<typeof readCase>;

/** @param name the file's name without `case_` and `.json` */
export function readCase(name: string) {
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
      weight: exact(validator.weight),
      /** Made with this validator's key, also where the validator itself would refuse to sign the message. */
      signature: hex(validator.signatureOfUnsignedMessage),
    })),
    totalWeight: exact(raw.totalWeight),
    /** Undefined if the aggregator failed. */
    signed: raw.signed && {
      signedMessage: hex(raw.signed.signedMessageHex),
      signerIndices: raw.signed.signerIndices,
      signerWeight: exact(raw.signed.signerWeight),
      aggregateSignature: hex(raw.signed.aggregateSignatureHex),
    },
  };
}

/** Cases of the vectors, in the order of their names. */
export function readCases(): AggregationCase[] {
  return CASE_NAMES.map(readCase);
}

/** Reads `platform.getTx` of one transaction, in both encodings. @param name the file's name without `tx_` and `.json` */
export function readTransaction(name: string) {
  const raw = readJson<RawTransaction>(`tx_${name}.json`);
  return {
    ...raw,
    unsignedTx: (raw.json.response.result as { tx: { unsignedTx: Record<string, unknown> } }).tx.unsignedTx,
    /** Bytes of the signed transaction and a 4-byte checksum. */
    bytesWithChecksum: hex((raw.hex.response.result as { tx: string }).tx),
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

/** Reads one client's session with a node. */
export function readPeerTranscript() {
  const raw = readJson<RawTranscript>('p2p_transcript.json');
  return {
    peerNodeID: raw.peerNodeID,
    myNodeID: raw.myNodeID,
    /** DER. */
    serverCertificate: hex(raw.serverCertDERHex),
    clientCertificate: hex(raw.clientCertDERHex),
    frames: raw.frames.map(({ dir, frameHex, decompressedHex, decoded }) => ({
      direction: dir,
      /** The frame without its length. */
      bytes: hex(frameHex),
      /** The message inside, where the frame was compressed. */
      decompressed: decompressedHex === undefined ? undefined : hex(decompressedHex),
      /** The protobuf message as JSON: bytes in base64. */
      decoded,
    })),
    /** The names of the requests, by request ID. */
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

interface RawCase {
  readonly networkID: number;
  readonly sourceChainID: string;
  /** The requested subnet, or the default. */
  readonly effectiveSigningSubnet: string;
  /** 0 where the caller gave none, which means 67. */
  readonly quorum: number;
  readonly justification: string;
  readonly unsignedMessage: string;
  readonly unsignedMessageID: string;
  readonly unsignedMessageIDHex: string;
  readonly payloadHex: string;
  readonly canonicalValidators: readonly {
    readonly index: number;
    readonly nodeIDs: readonly string[];
    readonly publicKeyCompressed: string;
    readonly signatureOfUnsignedMessage: string;
    readonly weight: number;
  }[];
  readonly totalWeight: number;
  readonly rpc: readonly RpcExchange[];
  readonly signed?: {
    readonly signedMessageHex: string;
    readonly signerIndices: readonly number[];
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
