import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkRpcCalls, RpcCallError } from '../../../../src/proxy/routes/rpc-calls.ts';

const METHODS = new Set(['platform.getHeight', 'avm.getTx']);
const check = (text: string) => checkRpcCalls(text, METHODS);
const METHOD = '"jsonrpc":"2.0","method":"avm.getTx"';

/** Numbers as JSON may write them, and a double may not. */
const number = fc.oneof(
  fc.constantFrom('-0', '1e400', '-1E-400', '1.0', '1.10', '0.1000000000000000055511151231257827', '1e+2'),
  fc.bigInt({ min: -(2n ** 300n), max: 2n ** 300n }).map(String),
);
const text = fc
  .string({ unit: fc.constantFrom(...'"\\/{}[],: \n\u00e9\u2028a'.split('')) })
  .map((value) => JSON.stringify(value));
const space = fc.constantFrom('', ' ', '\n\t');
const { value } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, number, text, fc.constantFrom('true', 'false', 'null'), tie('array'), tie('object')),
  array: fc
    .tuple(fc.array(tie('value'), { maxLength: 4 }), space)
    .map(([items, blank]) => `[${blank}${items.join(`,${blank}`)}]`),
  object: fc
    .tuple(fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }), space)
    .map(
      ([members, blank]) =>
        `{${members.map(([name, item]) => `${blank}${name}${blank}:${blank}${item}${blank}`).join(',')}}`,
    ),
}));
const params = fc
  .array(fc.tuple(text, value), { maxLength: 4 })
  .map((members) => `{${members.map(([name, item]) => `${name} :${item}`).join(' , ')}}`);
const call = fc.record({ id: fc.oneof(number, text), params, blank: space });

describe('the calls of a JSON-RPC body', () => {
  test('keep id and params as written', () => {
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 20 }), (calls) => {
        const written = calls.map(
          (each) => `{ "params" : ${each.params}${each.blank},${METHOD} , "id":${each.blank}${each.id} }`,
        );
        const expected = calls.map(
          (each) => `{"jsonrpc":"2.0","id":${each.id},"method":"avm.getTx","params":${each.params}}`,
        );
        expect(check(` [${written.join(' ,\n')}] `)).toEqual({ body: `[${expected.join(',')}]`, count: calls.length });
        expect(check(`\n${written[0]}`)).toEqual({ body: expected[0], count: 1 });
      }),
    );
  });

  test('keep the last of equal fields, which is the checked one', () => {
    const twice = `{"id":true,"params":{"a":1},"method":"admin.x","id":7,"params":{"b":2},${METHOD}}`;
    expect(check(twice).body).toBe('{"jsonrpc":"2.0","id":7,"method":"avm.getTx","params":{"b":2}}');
    expect(() => check(`{"id":7,${METHOD},"method":"admin.x"}`)).toThrow('method "admin.x" is not allowed');
  });

  test('are known by their fields however these are escaped', () => {
    expect(check('{"\\u0069d":"\\u0031","jsonrpc":"2.\\u0030","\\u006dethod":"avm.getT\\u0078"}').body).toBe(
      '{"jsonrpc":"2.0","id":"\\u0031","method":"avm.getTx"}',
    );
    expect(() => check(`{"id":7,${METHOD},"__proto__":{"id":8}}`)).toThrow('unknown field "__proto__"');
  });

  test.each(['', ',"params":null', ',"params":[]', ', "params" : [ ] '])(
    'have no params where they say so by %j',
    (none) => {
      expect(check(`{"id":1,${METHOD}${none}}`).body).toBe(`{"jsonrpc":"2.0","id":1,"method":"avm.getTx"}`);
    },
  );

  test.each(['{}', '[{}]', '[ {"a":[1.10]} ]'])('keep the params %s', (written) => {
    expect(check(`{"id":1,${METHOD},"params":${written}}`).body).toBe(
      `{"jsonrpc":"2.0","id":1,"method":"avm.getTx","params":${written}}`,
    );
  });

  test.each(['1', '"x"', 'true', '[1]', '[null]', '[[{}]]', '[{},{}]', '[[]]'])(
    'cannot have the params %s',
    (written) => {
      expect(() => check(`{"id":1,${METHOD},"params":${written}}`)).toThrow(
        'params must be an object, or a list with one object in it',
      );
    },
  );

  test.each<[string, number, string]>([
    [`{"id":18446744073709551616,"jsonrpc":"2.0","method":"admin.x"}`, -32_601, '18446744073709551616'],
    [`{"id":1,${METHOD}},{"id":"\\u0032","jsonrpc":"2.0","method":"admin.x"}`, -32_601, '"\\u0032"'],
    [`{"id":7,${METHOD},"params":1}`, -32_602, '7'],
    ['{"id":7,"method":"avm.getTx"}', -32_600, '7'],
    ['{"id":7,"jsonrpc":"2.0"}', -32_600, '7'],
    [`{"id":7,${METHOD},"x":1}`, -32_600, '7'],
    [`{"id":null,${METHOD}}`, -32_600, 'null'],
    ['{}', -32_600, 'null'],
    ['7', -32_600, 'null'],
    ['{', -32_700, 'null'],
  ])('that are wrong are answered in JSON-RPC: %s', (calls, code, id) => {
    let error: unknown;
    try {
      check(calls.includes('},{') ? `[${calls}]` : calls);
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof RpcCallError)) throw new Error('a wrong call passed');
    const json = error.toJson();
    expect(json).toContain(`{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":`);
    expect(JSON.parse(json)).toMatchObject({
      error: { message: error.message, data: { code: 'invalid_request', statusCode: 400 } },
    });
  });

  test.each(['null', 'true', '{}', '[1]'])('have an id that is a number or a text, and not %s', (id) => {
    expect(() => check(`{"id":${id},${METHOD}}`)).toThrow(/^id must be a number or a string$/);
    expect(() => check(`[{"id":1,${METHOD}},{"id":${id},${METHOD}}]`)).toThrow(/^\[1\]\.id must be/);
  });

  test('are nested in up to 32 levels', () => {
    // The call is one level, its params the next.
    const nested = (levels: number) => `{"id":1,${METHOD},"params":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
    expect(check(nested(30)).count).toBe(1);
    expect(() => check(nested(31))).toThrow('body is nested in more than 32 levels');
    expect(check(`[${nested(29)}]`).count).toBe(1);
    expect(() => check(`[${nested(30)}]`)).toThrow('body is nested in more than 32 levels');
    expect(() => check(nested(40_000))).toThrow('body is nested in more than 32 levels');
  });

  test('are bounded in number', () => {
    const good = `{"id":1,${METHOD}}`;
    expect(() => check(`[${Array<string>(21).fill(good).join(',')}]`)).toThrow(
      'body is a batch of 21 calls, at most 20 are allowed',
    );
    expect(() => check(`[${'1,'.repeat(50_000)}1]`)).toThrow('body is a batch of 50001 calls, at most 20 are allowed');
  });

  test('or a reason why not are what any text gives', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), value, fc.json()), (body) => {
        try {
          check(body);
        } catch (error) {
          expect(error).toBeInstanceOf(RpcCallError);
        }
      }),
    );
  });
});
