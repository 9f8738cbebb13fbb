import type { Static } from 'typebox';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { encodeWarpPayload } from '../../warp/payload.ts';
import { createUnsignedMessage } from '../../warp/unsigned-message.ts';
import type { AggregationBody } from '../aggregation/parse-aggregation-request.ts';

/** Requests to try at `/docs`. */
export interface AggregationExamples {
  /** The name under which the network is served. */
  readonly network: string;
  /** Bodies of a POST; the page selects the first. */
  readonly requests: readonly { readonly name: string; readonly value: Static<typeof AggregationBody> }[];
  /** Transaction IDs for a GET. */
  readonly transactions: readonly { readonly name: string; readonly value: string }[];
  /** Validation of an L1 validator whose uptime can be proven. */
  readonly validationId?: string;
  /** An L1 whose validators have uptimes. */
  readonly l1?: string;
}

/**
 * A well-formed message of the first public network, which was never sent: validators refuse to sign it, which shows what an error
 * looks like. Undefined if all networks are local, because validators would not know a message of another network.
 */
export function publicExample(names: readonly string[]): AggregationExamples | undefined {
  for (const name of names) {
    const network = publicNetworkNamed(name);
    if (network === undefined) continue;
    const payload = encodeWarpPayload({
      kind: 'AddressedCall',
      sourceAddress: new Uint8Array(20),
      payload: new TextEncoder().encode('hello'),
    });
    const { bytes } = createUnsignedMessage(network.networkID, network.cChainID, payload);
    const value = { message: `0x${bytesToHex(bytes)}`, quorumPercentage: 67 };
    return { network: name, requests: [{ name: 'C-Chain message that was never sent', value }], transactions: [] };
  }
  return undefined;
}
