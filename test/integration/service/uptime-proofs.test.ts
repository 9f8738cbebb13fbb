import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import type { ValidationID } from '../../../src/warp/ids.ts';
import { readPayload } from '../../../src/warp/reading.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { setBehaviour } from '../../devnet/validator-faults.ts';
import { type Answer, type RunningService, startService } from './running-service.ts';

const TIMEOUT_MS = 30_000;

describe('GET /v1/signatureAggregator/fuji/validations/{validationId}/uptime', { timeout: TIMEOUT_MS }, () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService(8);
  }, TIMEOUT_MS);
  afterAll(() => service[Symbol.asyncDispose]());

  const prove = (validationID: string, query = ''): Promise<Answer> =>
    service.get(`/v1/signatureAggregator/fuji/validations/${validationID}/uptime${query}`);
  const uptimeIn = ({ body }: Answer): unknown => {
    const message = parseSignedMessage(parseHex(String(body['signedMessage']), 'signedMessage'));
    return readPayload(message.unsignedMessage.payload);
  };
  /** The figures of those that run, with their weights, the heaviest first: of 910 in all, 60 of which cannot sign. */
  const fix = (validationID: ValidationID, figures: Readonly<Record<string, bigint>>): void => {
    for (const { nodeID, weight } of service.devnet.l1Validators()) {
      const seconds = figures[String(weight)];
      if (seconds !== undefined) service.devnet.chains.L1.uptimes?.fix(nodeID, validationID, seconds);
    }
  };
  const validation = (weight: bigint): ValidationID => {
    const found = service.devnet.l1Validators().find((validator) => validator.weight === weight);
    if (found === undefined) throw new Error(`no validator of weight ${weight}`);
    return found.validationID;
  };

  test('finds the highest that the quorum signs, to the second', async () => {
    const validationID = validation(100n);
    fix(validationID, { 350: 1_000n, 250: 4_000n, 150: 3_000n, 100: 2_999n });
    // 67 % of 910 are 610: 250 + 150 + 100 is not enough, so the heaviest decides.
    const answer = await prove(validationID);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(answer.body).toMatchObject({
      validationId: validationID,
      blockchainId: service.devnet.subnets.l1.blockchainID,
      uptimeSeconds: 1_000,
      totalWeight: '910',
    });
    expect(uptimeIn(answer)).toMatchObject({
      kind: 'AddressedCall',
      content: { kind: 'ValidatorUptime', validationID, totalUptime: 1_000n },
    });
    const subnetID = service.devnet.subnets.l1.subnetID;
    const height = Number(answer.body['pChainHeight']);
    expect(await service.verify(answer, { subnetID, height, quorum: 67 })).toMatchObject({ kind: 'valid' });
    // 50 % are 455: without the heaviest, the weakest of the others decides.
    expect((await prove(validationID, '?quorumPercentage=50')).body).toMatchObject({ uptimeSeconds: 2_999 });
    expect((await prove(validationID, '?quorumPercentage=27')).body).toMatchObject({ uptimeSeconds: 4_000 });
  });

  test('continues without invalid signers', async () => {
    const validationID = validation(250n);
    fix(validationID, { 350: 700n, 250: 700n, 150: 500n, 100: 600n });
    const index = service.devnet.nodeIDs.indexOf(
      service.devnet.l1Validators().find(({ weight }) => weight === 100n)?.nodeID as (typeof service.devnet.nodeIDs)[0],
    );
    setBehaviour(service.devnet.validator(index), { kind: 'wrong signature' });
    try {
      // 75 % are 683: with the one that lies about everything there were 700 by the figures, and without it 500.
      expect((await prove(validationID, '?quorumPercentage=75')).body).toMatchObject({ uptimeSeconds: 500 });
    } finally {
      setBehaviour(service.devnet.validator(index), { kind: 'normal' });
    }
  });

  test('names the reason if there is no proof', async () => {
    const unknown = '2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC';
    const body = { code: 'unknown_validation', message: expect.stringMatching(/^validationId: /) };
    expect(await prove(unknown)).toMatchObject({ status: 404, body });
    // 60 of 910 cannot sign anything.
    const all = await prove(validation(100n), '?quorumPercentage=100');
    expect(all).toMatchObject({ status: 500, body: { code: 'insufficient_weight' } });
  });
});
