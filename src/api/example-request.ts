import type { Static } from 'typebox';
import { bytesToHex } from '../primitives/bytes.ts';
import { publicNetworkNamed } from '../primitives/networks.ts';
import { encodeWarpPayload } from '../warp/payload.ts';
import { createUnsignedMessage } from '../warp/unsigned-message.ts';
import type { AggregationBody } from './parse-aggregation-request.ts';

/** A request to try on the page of the API. */
export interface AggregationExample {
  /** The name under which the example's network is served. */
  readonly network: string;
  readonly body: Static<typeof AggregationBody>;
}

/**
 * A message of the first of these networks that is public. It is well-formed, and nobody ever sent it: validators refuse to sign
 * it, which shows what an error looks like. Undefined where all networks are local: no message is known to be of theirs, and one
 * of another network would only mislead.
 */
export function publicExample(names: readonly string[]): AggregationExample | undefined {
  for (const name of names) {
    const network = publicNetworkNamed(name);
    if (network === undefined) continue;
    const payload = encodeWarpPayload({
      kind: 'AddressedCall',
      sourceAddress: new Uint8Array(20),
      payload: new TextEncoder().encode('hello'),
    });
    const { bytes } = createUnsignedMessage(network.networkID, network.cChainID, payload);
    return { network: name, body: { message: `0x${bytesToHex(bytes)}`, quorumPercentage: 67 } };
  }
  return undefined;
}
