import { expect, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import { asFailure } from '../../../../src/cli/io/failures.ts';
import { ServiceRefusal } from '../../../../src/cli/io/service-refusal.ts';
import { SignatureAggregatorError } from '../../../../src/client/client-error.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';

test.each([
  ['txHash: is unknown', '--tx: is unknown'],
  [
    'the transaction sent 2 Warp messages: choose one by logIndex 0, 1',
    'the transaction sent 2 Warp messages: choose one by --log-index 0, 1',
  ],
  ['blockchainId: the P-Chain knows none', '--chain: the P-Chain knows none'],
  ['quorumPercentage and quorumPercentageBuffer are 101', '--quorum and --buffer are 101'],
  ['signingSubnetId must be a 32-byte ID', '--subnet must be a 32-byte ID'],
  ['pChainHeight must be an integer', '--height must be an integer'],
  ['destinationBlockchainId: is unknown', '--destination: is unknown'],
  ['justification: is too long', '--justification: is too long'],
  ['wait must be an integer from 0 to 30', '--wait must be an integer from 0 to 30'],
  ['validators wait for the justification', 'validators wait for the justification'],
  ['message: is too short', 'message: is too short'],
])('the error %s names options: %s', (message, expected) => {
  const refusal = new ServiceRefusal(new SignatureAggregatorError(message, { code: 'invalid_request', status: 400 }));
  expect(refusal.message.split('\n')[0]).toBe(expected);
  expect(refusal.body).toMatchObject({ code: 'invalid_request', message, statusCode: 400 });
  expect(asFailure(new ParseError(message, ''))?.message.trim().replace(/:$/, '')).toBe(expected.replace(/:$/, ''));
});

test('an error shows when to ask again, and the ID of the request', () => {
  const fields = { status: 503, retryAfterMs: 7_000, requestId: 'a-1\n' };
  const refusal = new ServiceRefusal(new SignatureAggregatorError('busy', { code: 'overloaded', ...fields }));
  expect(refusal.message.split('\n').slice(-2)).toEqual(['Retry-After: 7 s', 'request ID: a-1 ']);
  expect(refusal.body).toMatchObject({ code: 'overloaded', message: 'busy', statusCode: 503, retryAfter: 7 });
  const page = { code: 'invalid_answer', status: 502, retryAfterMs: 7_000 } as const;
  const proxy = new ServiceRefusal(new SignatureAggregatorError('a page', page));
  expect(proxy.message).toMatch(/HTTP 502; check --url\nRetry-After: 7 s$/);
  expect(proxy.body).toBeUndefined();
  const own = asFailure(new AggregatorError('overloaded', 'busy', { field: 'transaction', retryAfterMs: 1_200 }));
  expect(own?.message).toMatch(/^--tx: busy\n.*\(overloaded\)\nRetry-After: 2 s$/);
});

test('the advice on an error names options, too', () => {
  const error = new SignatureAggregatorError('txHash: is unknown', { code: 'unknown_transaction', status: 404 });
  expect(new ServiceRefusal(error).message).toMatch(/^--tx: is unknown\nCheck the network, the ID and --chain; /);
});
