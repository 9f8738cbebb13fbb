import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPenalties } from '../../../src/aggregation/admission/penalties.ts';
import { AggregatorError } from '../../../src/aggregation/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../src/aggregation/aggregator-metrics.ts';
import { createMessageVerifier } from '../../../src/aggregation/signers/message-verifier.ts';
import { presentReport, type VerificationResult } from '../../../src/api/messages/verification-record.ts';
import { nobleBackend } from '../../../src/bls/backends/noble-backend.ts';
import { judge, parseMessage } from '../../../src/cli/commands/verify.ts';
import { CommandFailure } from '../../../src/cli/io/exit-codes.ts';
import { parseSavedSet } from '../../../src/cli/io/set-file.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { attempt, ParseError } from '../../../src/lib/encoding/parse-error.ts';
import { createUnreadMetrics } from '../../../src/telemetry/metrics.ts';
import { PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { encodeSignedMessage, parseSignedMessage, type SignedMessage } from '../../../src/warp/signed-message.ts';
import { readCases, rpcResult } from '../../vectors/vectors.ts';
import { createInlineBls } from '../bls/service/inline-bls.ts';
import { mutated } from '../warp/codec-properties.ts';

const never = new AbortController().signal;
const bls = createInlineBls(nobleBackend);

/** Signed cases with the validator set of a P-Chain API, read like a file. */
const signedCases = readCases().flatMap((vector) => {
  const { signed, rpc, effectiveSigningSubnet: subnetID } = vector;
  if (signed === undefined) return [];
  const result = rpcResult<object>(rpc, 'platform.getValidatorsAt', { subnetID });
  return [{ ...vector, signed, warpSet: parseSavedSet(JSON.stringify({ jsonrpc: '2.0', id: 1, result })).warpSet }];
});
type SignedCase = (typeof signedCases)[number];

/** Returns the verdict of `POST …/verify` with these validators, or its error code. */
async function verdictOfService(bytes: Uint8Array, vector: SignedCase, quorumNum: bigint) {
  const { networkID, warpSet } = vector;
  const message = attempt(() => parseSignedMessage(bytes));
  if (message instanceof ParseError) return 'invalid_request';
  const metrics = createAggregatorMetrics(createUnreadMetrics());
  const verifier = createMessageVerifier({
    bls,
    clock: systemClock,
    metrics,
    penalties: createPenalties(systemClock, metrics),
    l1Messages: { addresseeOf: async () => undefined },
    resolver: {
      known: () => undefined,
      async resolve(question) {
        if (question.message.networkID !== networkID) throw new AggregatorError('wrong_network', 'another');
        const signingSubnetID = PRIMARY_NETWORK_ID;
        return {
          sourceSubnetID: signingSubnetID,
          warpSet,
          avoided: new Set(),
          rule: 'source_subnet',
          target: undefined,
          ...question,
          quorumNum,
          signingSubnetID,
          pChainHeight: 7n,
          key: '',
          question,
        };
      },
    },
  });
  try {
    const report = await verifier.verify({ message, quorumNum }, never);
    const set = { signingSubnetId: report.signingSubnetID, pChainHeight: Number(report.pChainHeight) };
    return presentReport(message, report, set);
  } catch (error) {
    if (error instanceof AggregatorError) return error.code;
    throw error;
  }
}

/** Returns the verdict of the command in the same form. */
function verdictOfCommand(bytes: Uint8Array, { networkID, warpSet }: SignedCase, quorumNum: bigint) {
  let message: SignedMessage;
  try {
    message = parseMessage(bytes);
  } catch (error) {
    if (error instanceof CommandFailure && error.exitCode === 2) return 'invalid_request';
    throw error;
  }
  const expected = { networkID, warpSet, quorumNum, signingSubnetID: PRIMARY_NETWORK_ID, pChainHeight: 7n };
  const verdict = judge(message, expected, nobleBackend);
  return verdict.problem?.kind === 'wrong network' ? 'wrong_network' : (verdict as VerificationResult);
}

test('the command verify agrees with the service on 10,000 mutated messages', { timeout: 120_000 }, async () => {
  const seen = new Map<string, number>();
  const both = fc.record({
    vector: fc.constantFrom(...signedCases),
    // At 100 most have insufficient weight, which costs no pairing.
    quorumNum: fc.constantFrom(0n, 67n, ...Array.from({ length: 10 }, () => 100n)),
  });
  const mutant = both.chain(({ vector, quorumNum }) =>
    mutated(fc.constant(vector.signed.signedMessage)).map((bytes) => ({ vector, quorumNum, bytes })),
  );
  await fc.assert(
    fc.asyncProperty(mutant, async ({ vector, quorumNum, bytes }) => {
      const expected = await verdictOfService(bytes, vector, quorumNum);
      expect(verdictOfCommand(bytes, vector, quorumNum)).toEqual(expected);
      const kind = typeof expected === 'string' ? expected : (expected.problem?.kind ?? 'valid');
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }),
    { numRuns: 10_000, seed: 13 },
  );
  // Many pass the parser.
  for (const kind of ['wrong_network', 'insufficient weight', 'malformed signature', 'wrong signature']) {
    expect(seen.get(kind), `${kind} of ${JSON.stringify([...seen])}`).toBeGreaterThan(50);
  }
});

test('the command verify agrees with the service on messages with wrong signers', async () => {
  for (const vector of signedCases) {
    const { unsignedMessage, signature } = parseSignedMessage(vector.signed.signedMessage);
    const all = vector.canonicalValidators.map(({ index }) => index);
    for (const [signers, kind] of [
      [[], 'no signers'],
      [[...all, all.length + 3], 'unknown signer'],
      [all.filter((index) => index !== signature.signers[0]), all.length === 1 ? 'no signers' : 'wrong signature'],
    ] as const) {
      const bytes = encodeSignedMessage({ unsignedMessage, signature: { ...signature, signers } });
      const expected = await verdictOfService(bytes, vector, 1n);
      const set = { signingSubnetId: PRIMARY_NETWORK_ID, pChainHeight: 7 };
      expect(expected).toMatchObject({ isValid: false, problem: { kind }, ...set });
      expect(verdictOfCommand(bytes, vector, 1n)).toEqual(expected);
    }
  }
});
