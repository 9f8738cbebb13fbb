import { compileFunction } from 'node:vm';

/** A string of bytes, one character each: what a string is to Redis. */
export type Reply = string | number | boolean | null | { readonly ok: string } | readonly Reply[];

/** A command as a script calls it. @throws what the server refuses it with */
export type Call = (name: string, args: readonly string[]) => Reply;

export type RedisScript = (keys: readonly string[], args: readonly string[], call: Call) => Reply;

/** The Lua that the scripts of the service use, and the same in JavaScript, in the order of the replacements. */
const REPLACEMENTS: readonly (readonly [lua: RegExp, javascript: string])[] = [
  [/\{(.*?)\}/g, '[$1]'],
  [/\blocal\b/g, 'let'],
  [/\bfor \w+, (\w+) in ipairs\((.*)\) do\b/g, 'for (const $1 of $2) {'],
  [/\bif (.*?) then\b/g, 'if (isTrue($1)) {'],
  [/\belse\b/g, '} else {'],
  [/\bend\b/g, '}'],
  [/\breturn\b/g, '; return'],
  [/\bnot (\w+)/g, '!isTrue($1)'],
  [/\band\b/g, '&&'],
  [/\bor\b/g, '??'],
  [/==/g, '==='],
  [/~=/g, '!=='],
  [/#(\w+\[\d\])/g, '$1.length'],
];

type Run = (...parameters: readonly unknown[]) => unknown;

const compiled = new Map<string, Run>();

/**
 * Compiles a script of the service, so that the simulation runs the real ones. What they do here and in a real Redis is compared by
 * `test/network/simulated-redis.test.ts`.
 *
 * @throws {SyntaxError} for most other Lua
 */
export function compileRedisScript(source: string): RedisScript {
  let run = compiled.get(source);
  if (run === undefined) {
    const code = REPLACEMENTS.reduce((text, [lua, javascript]) => text.replace(lua, javascript), source);
    run = compileFunction(code, ['KEYS', 'ARGV', 'redis', 'isTrue', 'tonumber', 'math', 'string']) as Run;
    compiled.set(source, run);
  }
  const script = run;
  return (keys, args, call) => {
    const redis = {
      // No reply is undefined, which the right side of `or` replaces.
      call(name: string, ...rest: readonly unknown[]): Reply | undefined {
        const reply = call(name, rest.map(String));
        return isTrue(reply) ? reply : undefined;
      },
    };
    // Lists begin at 1.
    return toReply(script([undefined, ...keys], [undefined, ...args], redis, isTrue, toNumber, Math, { find }));
  };
}

/** Zero and an empty string are true. */
function isTrue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

/** Searches for a text, not for a pattern. */
function find(text: string, part: string, from: number, isPlain: unknown): number | undefined {
  if (isPlain !== true) throw new Error('a script searches for a pattern');
  const at = text.indexOf(part, from - 1);
  return at === -1 ? undefined : at + 1;
}

/** Converts decimal numbers only. */
function toNumber(value: unknown): number | undefined {
  const number = String(value).trim() === '' ? Number.NaN : Number(value);
  return Number.isNaN(number) ? undefined : number;
}

/** Converts Lua values like Redis does. */
function toReply(value: unknown): Reply {
  if (!isTrue(value)) return null;
  if (value === true) return 1;
  if (typeof value === 'number') return Math.trunc(value);
  return Array.isArray(value) ? value.map(toReply) : (value as Reply);
}
