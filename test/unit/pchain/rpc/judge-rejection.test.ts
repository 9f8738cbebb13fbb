import { describe, expect, it } from 'vitest';
import { judgeRejection, type RejectionSubject } from '../../../../src/pchain/rpc/judge-rejection.ts';
import { readRpcExchanges } from '../../../vectors/vectors.ts';

const UNKNOWN_CHAIN = 'problem retrieving blockchain "4xtnnYnTvVL5crF5oofsj1Dk44xUVTFkDc7PWVnkho74ZRC7c": not found';

describe('a JSON-RPC error is about', () => {
  it.each<[RejectionSubject, number, string]>([
    ['question', -32000, 'not found'],
    ['question', -32000, UNKNOWN_CHAIN],
    ['question', -32000, "couldn't get tx: not found"],
    ['question', -32000, 'fetching L1 validator "hzX" failed: not found'],
    ['question', -32000, "the primary network isn't a subnet"],
    ['question', -32000, '"2Jv" is not a blockchain'],
    ['method', -32601, 'anything'],
    ['method', -32000, 'rpc: can\'t find method "platform.getL1Validator"'],
    ['method', -32000, 'method not found'],
    ['method', -32000, 'the method platform.getTx does not exist/is not available'],
    ['method', -32600, 'Unsupported method: platform.validatedBy on AVAX_MAINNET'],
    ['method', -32000, 'platform.getTx is not supported'],
    ['method', -32000, 'this method is not allowed'],
    ['heights', -32000, 'Unsupported height parameter value'],
    ['heights', -32602, 'only "proposed" is allowed'],
    ['limit', -32005, 'x'],
    ['limit', -32097, 'x'],
    ['limit', 429, 'x'],
    ['limit', 503, 'x'],
    ['limit', -32000, 'rate limit exceeded'],
    ['limit', -32000, 'Rate limit reached for this method, not more than 10 a second'],
    ['limit', -32000, 'Too many requests'],
    ['limit', -32000, 'daily quota used up'],
    ['limit', -32000, 'service not available'],
    ['limit', -32000, 'method is temporarily not available'],
    ['limit', -32603, 'context deadline exceeded'],
    ['limit', -32000, 'transaction indexing is in progress'],
    ['access', -32000, 'invalid api key'],
    ['access', 1, 'Unauthorized'],
    ['unknown', -32000, 'failed to generate the proposal'],
    ['unknown', -32000, 'cannot operate on the delimited set'],
    ['unknown', -32000, 'the height exceeds the limit of 1000 blocks'],
    ['unknown', -32000, 'height 5 is too old'],
    ['unknown', -32000, 'unsupported height 5: only heights near the proposed one'],
    ['unknown', -32603, 'internal error'],
    ['unknown', -32000, 'rejected'],
  ])('%s: %i %s', (subject, code, message) => {
    expect(judgeRejection({ code, message })).toBe(subject);
  });

  it('the question, or unknown to us, where a real node returned it', () => {
    const errors = readRpcExchanges('pchain').flatMap(({ response }) => response.error ?? []);
    expect(errors.length).toBeGreaterThan(5);
    expect(new Set(errors.map(judgeRejection))).toEqual(new Set(['question', 'unknown']));
    const unknown = errors.filter((error) => judgeRejection(error) === 'unknown').map(({ message }) => message);
    expect(unknown).toEqual([expect.stringContaining('unfinalized height')]);
  });
});
