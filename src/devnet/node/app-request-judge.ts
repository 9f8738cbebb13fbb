import { LRUCache } from 'lru-cache';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { type BlockchainID, idBytes, P_CHAIN_ID } from '../../warp/ids.ts';
import { parseSignatureRequest } from '../../warp/signature-request.ts';
import { parseUnsignedMessage, type UnsignedMessage } from '../../warp/unsigned-message.ts';
import type { NetworkModel } from '../network-model.ts';
import {
  type AskedNode,
  type Refusal,
  UNEXPECTED,
  UNREGISTERED_HANDLER,
  verifyEvmMessage,
  verifyPlatformMessage,
} from './signing-rules.ts';

/** How a node answers a request to one of its chains; undefined for no answer. */
export type Verdict =
  | { readonly kind: 'sign'; readonly message: UnsignedMessage }
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  | undefined;

export interface AppRequestFields {
  readonly chainId: Uint8Array;
  readonly requestId: number;
  /** Nanoseconds. */
  readonly deadline: bigint;
  readonly appBytes: Uint8Array;
}

export type AppRequestJudge = ReturnType<typeof createAppRequestJudge>;

/** The first byte of a signature request (a uvarint). Chains have no other handler that concerns us. */
const SIGNATURE_REQUEST_HANDLER_ID = 0x02;
/** A node reads the deadline as a signed number, so that a larger one lies in the past. */
const MAX_DEADLINE = 2n ** 63n - 1n;
/** Bound of the cache of parsed requests: all validators receive the same few. */
const MAX_PARSED_BYTES = 16 * 1024 * 1024;

export function createAppRequestJudge(model: NetworkModel) {
  const { networkID, xChainID, cChain, l1Chain } = model;
  const evmChains = new Map([cChain, l1Chain].map((chain) => [chain.blockchainID, chain]));
  const chainIDs = new Map([P_CHAIN_ID, xChainID, ...evmChains.keys()].map((id) => [keyOf(idBytes(id)), id]));
  const parsed = new LRUCache<string, ParsedRequest, Uint8Array>({
    maxSize: MAX_PARSED_BYTES,
    // The key, the message, and the message's own copies of its parts.
    sizeCalculation: (_, key) => 1024 + 4 * key.length,
    memoMethod: (_key, _stale, { context }) => parseRequest(context),
  });

  /** Whether a node has become a validator of the chain's L1 after its start, and runs the chain since. */
  function validates({ nodeID }: AskedNode = {}, chainID: BlockchainID): boolean {
    const subnetID = model.validatedBy(chainID);
    return subnetID !== undefined && model.l1Validators(subnetID).some((validator) => validator.nodeID === nodeID);
  }

  return {
    /**
     * @param runs whether the node runs a chain: it drops requests to any other
     * @param node the node that is asked, whose execution lag and uptimes apply
     */
    judge(request: AppRequestFields, runs: (chainID: BlockchainID) => boolean, node?: AskedNode): Verdict {
      const { chainId, requestId, deadline, appBytes } = request;
      const chainID = chainIDs.get(keyOf(chainId));
      if (chainID === undefined || !(runs(chainID) || validates(node, chainID))) return undefined;
      if (deadline <= 0n || deadline > MAX_DEADLINE) return undefined;
      const evmChain = evmChains.get(chainID);
      // On EVM chains even request IDs belong to requests of another kind; those that cannot be parsed are dropped.
      if (evmChain !== undefined && requestId % 2 === 0) return undefined;
      // The X-Chain signs nothing.
      if (chainID === xChainID || appBytes[0] !== SIGNATURE_REQUEST_HANDLER_ID) {
        return refuse(UNREGISTERED_HANDLER, 'no handler is registered for this request');
      }
      const parsedRequest = parsed.memo(keyOf(appBytes), { context: appBytes });
      if (parsedRequest instanceof ParseError) {
        return refuse(UNEXPECTED, `cannot parse the request: ${parsedRequest.message}`);
      }
      const { message, justification } = parsedRequest;
      const refusal =
        evmChain === undefined
          ? verifyPlatformMessage(model, message, justification)
          : verifyEvmMessage(evmChain, message, node);
      if (refusal !== undefined) return { kind: 'refuse', refusal };
      // As in a real node, the signer checks these last, after all other checks have passed.
      if (message.sourceChainID !== chainID) {
        return refuse(UNEXPECTED, 'cannot sign the message: wrong source chain ID');
      }
      if (message.networkID !== networkID) return refuse(UNEXPECTED, 'cannot sign the message: wrong network ID');
      return { kind: 'sign', message };
    },
  };
}

type ParsedRequest = { readonly message: UnsignedMessage; readonly justification: Uint8Array } | ParseError;

function parseRequest(appBytes: Uint8Array): ParsedRequest {
  return attempt(() => {
    const { message, justification } = parseSignatureRequest(appBytes);
    return { message: parseUnsignedMessage(message), justification };
  });
}

function refuse(code: number, message: string): Verdict {
  return { kind: 'refuse', refusal: { code, message } };
}

function keyOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
