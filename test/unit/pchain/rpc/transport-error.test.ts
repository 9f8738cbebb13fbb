import { expect, test } from 'vitest';
import { describeTransportError, describeWithoutHosts } from '../../../../src/pchain/rpc/transport-error.ts';

const withCode = (message: string, code: unknown): Error => Object.assign(new Error(message), { code });

test.each<[unknown, string, string]>([
  [
    withCode('connect ECONNREFUSED 10.0.0.7:9650', 'ECONNREFUSED'),
    'connect ECONNREFUSED 10.0.0.7:9650',
    ' (ECONNREFUSED)',
  ],
  [withCode('getaddrinfo ENOTFOUND node.internal', 'ENOTFOUND'), 'getaddrinfo ENOTFOUND node.internal', ' (ENOTFOUND)'],
  [withCode('', 'ETIMEDOUT'), 'ETIMEDOUT', ' (ETIMEDOUT)'],
  [new TypeError(''), 'TypeError', ''],
  [withCode('odd', 'at node.internal:9650'), 'odd', ''],
  [withCode('odd', 7), 'odd', ''],
  ['text', 'text', ''],
])('%s is described to operators in full, and to clients by its code', (cause, full, code) => {
  expect(describeTransportError(cause)).toBe(full);
  expect(describeWithoutHosts(cause)).toBe(`the connection failed${code}`);
});
