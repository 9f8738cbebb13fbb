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
import { hostileBytes, MANY_RUNS, parseOrRefuse, throughSocket } from './codec-properties.ts';

const codec = { encode: encodeValidatorUptime, parse: parseValidatorUptime };

test('has the bytes of the reference', () => {
  // avalanchego graft/subnet-evm/warp/messages: codec version, type ID, validation ID, seconds.
  const validationID = idFromBytes<ValidationID>(new Uint8Array(32).fill(7), 'validationID');
  const bytes = encodeValidatorUptime({ kind: 'ValidatorUptime', validationID, totalUptime: 3_486n });
  expect(bytesToHex(bytes)).toBe(`000000000000${'07'.repeat(32)}0000000000000d9e`);
});

test('round-trips, with one encoding for each message', () => {
  fc.assert(
    fc.property(validatorUptimes, (uptime) => {
      expect(throughSocket(codec, uptime)).toEqual(uptime);
    }),
  );
  fc.assert(
    fc.property(hostileBytes(codec, validatorUptimes), (bytes) => {
      const parsed = parseOrRefuse(codec, bytes);
      if (parsed !== undefined) expect(encodeValidatorUptime(parsed)).toEqual(bytes);
    }),
    MANY_RUNS,
  );
});

test('has the chain as source, without an address', () => {
  const chain = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
  fc.assert(
    fc.property(validatorUptimes, (uptime) => {
      const message = createUptimeMessage(1337, chain, uptime);
      expect(message).toMatchObject({ networkID: 1337, sourceChainID: chain });
      expect(parseWarpPayload(message.payload)).toEqual({
        ...{ kind: 'AddressedCall', sourceAddress: new Uint8Array() },
        payload: encodeValidatorUptime(uptime),
      });
    }),
  );
});
