import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readGoObject } from '../../../../src/api/go-aggregator/go-json.ts';

const MEMBERS = fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.jsonValue()));

test('reads the members of any object, in their order, whatever follows it', () => {
  fc.assert(
    fc.property(MEMBERS, fc.string(), fc.nat(3), (members, rest, indent) => {
      const lines = members.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value, null, indent)}`);
      const read = readGoObject(` {\n${lines.join(' ,\t')}\r}${rest}`);
      expect(read.map(([name]) => name)).toEqual(members.map(([name]) => name));
      for (const [index, [, value]] of read.entries()) {
        const written = members[index]?.[1];
        if (typeof written === 'string' || written === null) expect(value).toBe(written);
        // JSON writes -0 as 0, which toBe would tell apart.
        else if (typeof value === 'bigint') expect(Number(value) === written).toBe(true);
        else expect(value).toBeUndefined();
      }
    }),
  );
});

test('takes no text that is not JSON', () => {
  fc.assert(
    fc.property(
      MEMBERS,
      fc.nat(),
      fc.constantFrom('"', '{', '}', '[', ']', ',', ':', '\\', '0', 'e', '\n', ''),
      (members, at, sign) => {
        const text = JSON.stringify(Object.fromEntries(members));
        const changed = text.slice(0, at % text.length) + sign + text.slice((at % text.length) + 1);
        let isRead = true;
        try {
          readGoObject(changed);
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
          isRead = false;
        }
        // A shorter object may end before the change.
        const ends = [...changed.matchAll(/\}/g)].map(({ index }) => changed.slice(0, index + 1));
        expect(isRead).toBe(ends.some(isJson));
      },
    ),
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return text.startsWith('{');
  } catch {
    return false;
  }
}

// Each would be looked at again and again: at once or never.
test.each(['{"a":[', '{"a":["', '{"a":"', '{"'])('looks at each character of %s and many quotes once', (start) => {
  for (const rest of ['\\"', '"', '[', '"\\'])
    expect(() => readGoObject(start + rest.repeat(250_000))).toThrow(SyntaxError);
});
