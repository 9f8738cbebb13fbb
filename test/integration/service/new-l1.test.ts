import { afterAll, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/concurrency/clock.ts';
import { prefixedHex } from '../../../src/lib/encoding/bytes.ts';
import { conversionID } from '../../../src/warp/conversion-data.ts';
import { idBytes, P_CHAIN_ID } from '../../../src/warp/ids.ts';
import { encodeL1Message } from '../../../src/warp/l1-message.ts';
import { encodeWarpPayload } from '../../../src/warp/payload.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { startService } from './running-service.ts';

const BLOCK_MS = 10_000;
let elapsedMs = 0;
/** Blocks come only when the test lets them. */
const devnetClock: Clock = { ...systemClock, monotonicMs: () => elapsedMs };
const service = await startService(5, { devnetClock });
afterAll(() => service[Symbol.asyncDispose]());
const { devnet, post } = service;

test('right after a conversion, the Go route and a request that waits are answered once the validators are proposed', async () => {
  const validators = devnet.nodeIDs.slice(0, 3).map((nodeId) => ({ nodeId, weight: 100 }));
  const { subnetID: signingSubnetId = '', content } = devnet.issue({ type: 'ConvertSubnetToL1Tx', validators });
  if (content.name !== 'ConvertSubnetToL1Tx') throw new Error('another transaction was issued');
  elapsedMs += BLOCK_MS;
  const payload = encodeL1Message({ kind: 'SubnetToL1Conversion', conversionID: conversionID(content.data) });
  const call = encodeWarpPayload({ kind: 'AddressedCall', sourceAddress: new Uint8Array(), payload });
  const body = {
    message: prefixedHex(createUnsignedMessage(devnet.networkID, P_CHAIN_ID, call).bytes),
    justification: prefixedHex(idBytes(content.data.subnetID)),
    signingSubnetId,
  };
  const path = '/v1/signatureAggregator/fuji/aggregateSignatures';
  const held = [post(body, '/aggregate-signatures'), post(body, `${path}?wait=30`)];
  expect(await post(body, path)).toMatchObject({ status: 503, body: { code: 'no_validators_yet' } });
  elapsedMs += BLOCK_MS;
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 201]);
});
