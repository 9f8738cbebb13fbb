/** A string of bytes, one character each: what a string is to Redis. */
export type Reply = string | number | boolean | null | { readonly ok: string } | readonly Reply[];

/** A command as a script calls it. @throws what the server refuses it with */
export type Call = (name: string, args: readonly string[]) => Reply;

export type RedisScript = (keys: readonly string[], args: readonly string[], call: Call) => Reply;

type Scope = Map<string, unknown>;
type Eval = (scope: Scope) => unknown;
/** Undefined if the block continues. */
type Run = (scope: Scope) => { readonly returned: unknown } | undefined;
type Operator = readonly [binding: number, apply: (left: unknown, right: () => unknown) => unknown];

const scripts = new Map<string, RedisScript>();

/**
 * Interprets the part of Lua that the scripts of the service use, so that the simulation runs the real scripts.
 *
 * @throws on other parts of Lua
 */
export function compileRedisScript(source: string): RedisScript {
  const known = scripts.get(source);
  if (known !== undefined) return known;
  const run = new Parser(source).script();
  const script: RedisScript = (keys, args, call) => {
    const scope: Scope = new Map<string, unknown>([
      ['KEYS', keys],
      ['ARGV', args],
      ['nil', undefined],
      ['true', true],
      ['false', false],
      ['tonumber', toNumber],
      ['math', { ceil: Math.ceil, max: Math.max }],
      ['string', { find: findPlain }],
      ['ipairs', (list: unknown) => list],
      ['redis', { call: (name: string, ...rest: unknown[]) => call(name, rest.map(String)) }],
    ]);
    return toReply(run(scope)?.returned);
  };
  scripts.set(source, script);
  return script;
}

/** Searches for a text, not for a pattern. */
function findPlain(text: string, part: string, from: number, isPlain: unknown): number | undefined {
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

function isTrue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

/** Lists begin at 1. */
function elementOf(table: unknown, index: unknown): unknown {
  return Array.isArray(table) ? table[Number(index) - 1] : (table as Record<string, unknown>)[String(index)];
}

const numeric =
  (apply: (left: number, right: number) => unknown): Operator[1] =>
  (left, right) =>
    apply(Number(left), Number(right()));

/** What binds more strongly has a higher number. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  or: [1, (left, right) => (isTrue(left) ? left : right())],
  and: [2, (left, right) => (isTrue(left) ? right() : left)],
  '==': [3, (left, right) => left === right()],
  '~=': [3, (left, right) => left !== right()],
  '<=': [3, numeric((left, right) => left <= right)],
  '>=': [3, numeric((left, right) => left >= right)],
  '<': [3, numeric((left, right) => left < right)],
  '>': [3, numeric((left, right) => left > right)],
  '+': [4, numeric((left, right) => left + right)],
  '-': [4, numeric((left, right) => left - right)],
  '*': [5, numeric((left, right) => left * right)],
  '/': [5, numeric((left, right) => left / right)],
};
const PREFIXES: Readonly<Record<string, (value: unknown) => unknown>> = {
  not: (value) => !isTrue(value),
  '#': (value) => (value as string).length,
  '-': (value) => -Number(value),
};

/** Literal texts keep the quote before them. */
const TOKEN = /\s*(?:('[^']*)'|(\d+|[A-Za-z_]\w*|==|~=|<=|>=|[-+*/<>=#(){}[\],.]))/y;
const BLOCK_ENDS: ReadonlySet<string | undefined> = new Set([undefined, 'else', 'elseif', 'end']);

/** A recursive descent, with expressions by the precedence of their operators. */
class Parser {
  readonly #tokens: string[] = [];
  #at = 0;

  constructor(source: string) {
    const text = source.trimEnd();
    for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
      const from = TOKEN.lastIndex;
      const [, literal, token = literal] = TOKEN.exec(text) ?? [];
      if (token === undefined) throw new Error(`not the Lua that is known here: ${text.slice(from, from + 30)}`);
      this.#tokens.push(token);
    }
  }

  script(): Run {
    const run = this.#block();
    if (this.#at < this.#tokens.length) throw new Error(`a script goes on with "${this.#tokens[this.#at]}"`);
    return run;
  }

  #block(): Run {
    const statements: Run[] = [];
    while (!BLOCK_ENDS.has(this.#tokens[this.#at])) statements.push(this.#statement());
    return (scope) => {
      for (const statement of statements) {
        const ended = statement(scope);
        if (ended !== undefined) return ended;
      }
      return undefined;
    };
  }

  #statement(): Run {
    if (this.#take('if')) return this.#if();
    if (this.#take('for')) return this.#for();
    if (this.#take('return')) {
      const value = this.#expression();
      return (scope) => ({ returned: value(scope) });
    }
    if (this.#take('local') || this.#tokens[this.#at + 1] === '=') {
      const name = this.#next();
      this.#expect('=');
      const value = this.#expression();
      return (scope) => void scope.set(name, value(scope));
    }
    const call = this.#expression();
    return (scope) => void call(scope);
  }

  #if(): Run {
    const condition = this.#expression();
    this.#expect('then');
    const then = this.#block();
    let otherwise: Run = () => undefined;
    if (this.#take('elseif')) otherwise = this.#if();
    else {
      if (this.#take('else')) otherwise = this.#block();
      this.#expect('end');
    }
    return (scope) => (isTrue(condition(scope)) ? then(scope) : otherwise(scope));
  }

  /** `for index, value in ipairs(list) do … end`. */
  #for(): Run {
    const index = this.#next();
    this.#expect(',');
    const value = this.#next();
    this.#expect('in');
    const list = this.#expression();
    this.#expect('do');
    const body = this.#block();
    this.#expect('end');
    return (scope) => {
      for (const [at, element] of (list(scope) as unknown[]).entries()) {
        const ended = body(scope.set(index, at + 1).set(value, element));
        if (ended !== undefined) return ended;
      }
      return undefined;
    };
  }

  #expression(least = 1): Eval {
    let left = this.#operand();
    for (;;) {
      const [binding, apply] = OPERATORS[this.#tokens[this.#at] ?? ''] ?? [0, () => undefined];
      if (binding < least) return left;
      this.#at += 1;
      const [first, second] = [left, this.#expression(binding + 1)];
      left = (scope) => apply(first(scope), () => second(scope));
    }
  }

  #operand(): Eval {
    const prefix = PREFIXES[this.#tokens[this.#at] ?? ''];
    if (prefix !== undefined) {
      this.#at += 1;
      const value = this.#operand();
      return (scope) => prefix(value(scope));
    }
    let value = this.#primary();
    for (;;) {
      const from = value;
      if (this.#take('.')) {
        const name = this.#next();
        value = (scope) => elementOf(from(scope), name);
      } else if (this.#take('[')) {
        const index = this.#expression();
        this.#expect(']');
        value = (scope) => elementOf(from(scope), index(scope));
      } else if (this.#take('(')) {
        const args = this.#list(')');
        value = (scope) => (from(scope) as (...given: unknown[]) => unknown)(...args.map((arg) => arg(scope)));
      } else return value;
    }
  }

  #primary(): Eval {
    const token = this.#next();
    if (token.startsWith("'")) return () => token.slice(1);
    if (/^\d/.test(token)) return () => Number(token);
    if (token === '{') {
      const parts = this.#list('}');
      return (scope) => parts.map((part) => part(scope));
    }
    if (token === '(') {
      const value = this.#expression();
      this.#expect(')');
      return value;
    }
    return (scope) => {
      if (!scope.has(token)) throw new Error(`a script has no "${token}"`);
      return scope.get(token);
    };
  }

  #list(end: string): Eval[] {
    const parts: Eval[] = [];
    while (!this.#take(end)) {
      parts.push(this.#expression());
      this.#take(',');
    }
    return parts;
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Error('a script ends too early');
    this.#at += 1;
    return token;
  }

  #take(token: string): boolean {
    const isNext = this.#tokens[this.#at] === token;
    if (isNext) this.#at += 1;
    return isNext;
  }

  #expect(token: string): void {
    if (!this.#take(token)) throw new Error(`a script has no "${token}" where there has to be one`);
  }
}
