import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resultKey, signatureKey, subjectKey } from '../../../../src/aggregation/request/result-key.ts';
import {
  questionKey,
  type SigningQuestion,
  signingQuestion,
} from '../../../../src/aggregation/signers/signing-question.ts';
import { PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { CHAIN, MESSAGE, SUBNET, TX, UNKNOWN_CHAIN } from '../aggregator-fixture.ts';
import { setOf } from '../collection/tally-fixture.ts';

const parts = fc
  .record({
    payload: fc.uint8Array({ maxLength: 8 }),
    networkID: fc.nat(3),
    justification: fc.uint8Array({ maxLength: 3 }),
    signingSubnetID: fc.constantFrom(PRIMARY_NETWORK_ID, SUBNET),
    weights: fc.array(fc.bigInt(1n, 50n), { minLength: 1, maxLength: 5 }),
    quorumNum: fc.bigInt(0n, 100n),
    quorumBuffer: fc.bigInt(0n, 100n),
    avoided: fc.uniqueArray(fc.nat(4), { maxLength: 3 }),
  })
  .map((drawn) => ({ ...drawn, avoided: drawn.avoided.toSorted((a, b) => a - b) }));
type Parts = typeof parts extends fc.Arbitrary<infer T> ? T : never;

/** A deep copy. */
function make({ payload, networkID, weights, avoided, ...rest }: Parts) {
  return {
    ...rest,
    justification: Uint8Array.from(rest.justification),
    message: createUnsignedMessage(networkID, CHAIN, Uint8Array.from(payload)),
    warpSet: setOf(weights),
    avoided: new Set(avoided),
  };
}

function keyOf(drawn: Parts): string {
  const made = make(drawn);
  return resultKey(made);
}

const text = (value: unknown): string =>
  JSON.stringify(value, (_, item) =>
    typeof item === 'bigint' ? `${item}` : item instanceof Uint8Array ? `bytes ${item.join()}` : item,
  );

test('two requests have the same key exactly if everything that the answer depends on is the same', () => {
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      expect(keyOf(a)).toBe(keyOf(a));
      expect(keyOf(a) === keyOf(b)).toBe(text(a) === text(b));
      // One part of the other at a time: what differs in that alone differs in the key.
      for (const name of Object.keys(a) as (keyof Parts)[]) {
        const changed = { ...a, [name]: b[name] } as Parts;
        expect(keyOf(changed) === keyOf(a)).toBe(text(changed) === text(a));
      }
    }),
  );
});

test('questions have the same key exactly if they are the same', () => {
  const destination = fc.record({ chainID: fc.constantFrom(CHAIN, UNKNOWN_CHAIN), isRequired: fc.boolean() });
  const questions = fc.record({
    message: fc.nat(2).map((payload) => createUnsignedMessage(1, CHAIN, Uint8Array.of(payload))),
    justification: fc.uint8Array({ maxLength: 2 }),
    signingSubnetID: fc.constantFrom(undefined, PRIMARY_NETWORK_ID, SUBNET),
    quorumNum: fc.bigInt(0n, 50n),
    quorumBuffer: fc.bigInt(0n, 50n),
    pChainHeight: fc.constantFrom(0n, 7n, 8n),
    destination: fc.option(destination, { nil: undefined }),
  });
  fc.assert(
    fc.property(questions, questions, (a: SigningQuestion, b: SigningQuestion) => {
      for (const name of Object.keys(a) as (keyof SigningQuestion)[]) {
        const changed = { ...a, [name]: b[name] };
        expect(questionKey(changed) === questionKey(a)).toBe(text(changed) === text(a));
      }
    }),
  );
});

test('subjects have the same key exactly if they are the same', () => {
  const evm = fc.record({
    chain: fc.constantFrom(undefined, CHAIN, UNKNOWN_CHAIN),
    logIndex: fc.constantFrom(undefined, 0, 1),
  });
  const justification = fc.uint8Array({ maxLength: 2 });
  const message = fc.nat(2).map((payload) => createUnsignedMessage(1, CHAIN, Uint8Array.of(payload)));
  const subjects = fc.oneof(
    fc.record({ kind: fc.constant('message' as const), message, justification }),
    fc.record({ kind: fc.constant('justification' as const), justification }),
    fc.record({
      kind: fc.constant('transaction' as const),
      txID: fc.constant(TX),
      evm: fc.option(evm, { nil: undefined }),
    }),
  );
  fc.assert(
    fc.property(subjects, subjects, (a, b) => {
      expect(subjectKey(a) === subjectKey(b)).toBe(text(a) === text(b));
    }),
  );
});

test('the key of a signature depends on the message and the justification alone', () => {
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      const same = { ...b, payload: a.payload, networkID: a.networkID, justification: a.justification };
      expect(signatureKey(make(same))).toBe(signatureKey(make(a)));
      const justified = { ...a, justification: Uint8Array.of(...a.justification, 0) };
      expect(signatureKey(make(justified))).not.toBe(signatureKey(make(a)));
    }),
  );
});

test('a quorum that is left to the destination is not the default, and 67 is without a destination', () => {
  const subject = { kind: 'message', message: MESSAGE, justification: new Uint8Array() } as const;
  const keyOfRequest = (more: object) => questionKey(signingQuestion(more, subject));
  expect(keyOfRequest({ quorumNum: 67n })).toBe(keyOfRequest({}));
  const more = { destinationChainID: CHAIN };
  expect(keyOfRequest({ ...more, quorumNum: 67n })).not.toBe(keyOfRequest(more));
});
