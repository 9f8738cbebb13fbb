import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { type BlockchainID, idFromBytes, type ValidationID } from '../../../src/warp/ids.ts';
import { parseWarpPayload } from '../../../src/warp/payload.ts';
import {
  createUptimeMessage,
  encodeValidatorUptime,
  parseValidatorUptime,
} from '../../../src/warp/validator-uptime.ts';
import { validatorUptimes } from './arbitrary-messages.ts';
import { testCodec } from './codec-properties.ts';

test('has the bytes of the reference', () => {
  // avalanchego graft/subnet-evm/warp/messages: codec version, type ID, validation ID, seconds.
  const validationID = idFromBytes<ValidationID>(new Uint8Array(32).fill(7), 'validationID');
  const bytes = encodeValidatorUptime({ validationID, totalUptime: 3_486n });
  expect(bytesToHex(bytes)).toBe(`000000000000${'07'.repeat(32)}0000000000000d9e`);
});

testCodec({ encode: encodeValidatorUptime, parse: parseValidatorUptime }, validatorUptimes);

test('has the chain as source, without an address', () => {
  const chain = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
  fc.assert(
    fc.property(validatorUptimes, (uptime) => {
      const message = createUptimeMessage(1337, chain, uptime);
      expect(message).toMatchObject({ networkID: 1337, sourceChainID: chain });
      expect(parseWarpPayload(message.payload)).toEqual({
        kind: 'AddressedCall',
        sourceAddress: new Uint8Array(),
        payload: encodeValidatorUptime(uptime),
      });
    }),
  );
});
