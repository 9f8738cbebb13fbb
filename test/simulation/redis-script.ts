/** A string of bytes, one character each: what a string is to Redis. */
export type Reply = string | number | boolean | null | { readonly ok: string } | readonly Reply[];

/** A command as a script calls it. @throws what the server refuses it with */
export type Call = (name: string, args: readonly string[]) => Reply;

export type RedisScript = (keys: readonly string[], args: readonly string[], call: Call) => Reply;

type Scope = Map<string, unknown>;
type Eval = (scope: Scope) => unknown;
/** Undefined if the block continues. */
type Run = (scope: Scope) => { readonly returned: unknown } | undefined;

const scripts = new Map<string, RedisScript>();

/**
 * Interprets the part of Lua that the scripts of the service use, so that the simulation runs the real scripts.
 *
 * @throws on other parts of Lua
 */
export function compileRedisScript(source: string): RedisScript {
  const known = scripts.get(source);
  if (known !== undefined) return known;
  const parser = new Parser(source);
  const run = parser.block();
  parser.expectEnd();
  const script: RedisScript = (keys, args, call) => {
    const scope: Scope = new Map<string, unknown>([
      ['KEYS', keys],
      ['ARGV', args],
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
  if (value === undefined || value === null || value === false) return null;
  if (value === true) return 1;
  if (typeof value === 'number') return Math.trunc(value);
  if (Array.isArray(value)) return value.map(toReply);
  return value as Reply;
}

const TOKEN = /\s*(?:(\d+)|([A-Za-z_]\w*)|'([^']*)'|(==|~=|<=|>=|[-+*/<>=#(){}[\],.]))/y;
const KEYWORDS: ReadonlySet<string> = new Set(['then', 'else', 'elseif', 'end', 'do']);

type Token =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'name' | 'string' | 'sign'; readonly value: string };

class Parser {
  readonly #tokens: Token[] = [];
  #at = 0;

  constructor(source: string) {
    TOKEN.lastIndex = 0;
    const text = source.trimEnd();
    while (TOKEN.lastIndex < text.length) {
      const from = TOKEN.lastIndex;
      const match = TOKEN.exec(text);
      if (match === null) throw new Error(`not the Lua that is known here: ${text.slice(from, from + 30)}`);
      const [, number, name, string, sign] = match;
      if (number !== undefined) this.#tokens.push({ kind: 'number', value: Number(number) });
      else if (name !== undefined) this.#tokens.push({ kind: 'name', value: name });
      else if (string !== undefined) this.#tokens.push({ kind: 'string', value: string });
      else this.#tokens.push({ kind: 'sign', value: sign as string });
    }
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length)
      throw new Error(`more than a script: ${JSON.stringify(this.#tokens[this.#at])}`);
  }

  block(): Run {
    const statements: Run[] = [];
    for (let next = this.#tokens[this.#at]; next !== undefined; next = this.#tokens[this.#at]) {
      if (next.kind === 'name' && KEYWORDS.has(next.value)) break;
      statements.push(this.#statement());
    }
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
    const isLocal = this.#take('local');
    const next = this.#tokens[this.#at + 1];
    if (isLocal || (next?.kind === 'sign' && next.value === '=')) {
      const { value: name } = this.#tokens[this.#at] as Token & { readonly kind: 'name' };
      this.#at += 1;
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
    const then = this.block();
    let otherwise: Run = () => undefined;
    if (this.#take('elseif')) otherwise = this.#if();
    else {
      if (this.#take('else')) otherwise = this.block();
      this.#expect('end');
    }
    return (scope) => (isTrue(condition(scope)) ? then(scope) : otherwise(scope));
  }

  /** `for index, value in ipairs(list) do … end`. */
  #for(): Run {
    const [index, value] = [this.#name(), this.#take(',') && this.#name()];
    this.#expect('in');
    const list = this.#expression();
    this.#expect('do');
    const body = this.block();
    this.#expect('end');
    return (scope) => {
      for (const [at, element] of (list(scope) as unknown[]).entries()) {
        scope.set(index, at + 1).set(String(value), element);
        const ended = body(scope);
        if (ended !== undefined) return ended;
      }
      return undefined;
    };
  }

  #name(): string {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'name') throw new Error('a script has no name where there has to be one');
    this.#at += 1;
    return token.value;
  }

  #expression(): Eval {
    let left = this.#conjunction();
    while (this.#take('or')) {
      const [first, second] = [left, this.#conjunction()];
      left = (scope) => {
        const value = first(scope);
        return isTrue(value) ? value : second(scope);
      };
    }
    return left;
  }

  #conjunction(): Eval {
    let left = this.#comparison();
    while (this.#take('and')) {
      const [first, second] = [left, this.#comparison()];
      left = (scope) => {
        const value = first(scope);
        return isTrue(value) ? second(scope) : value;
      };
    }
    return left;
  }

  #comparison(): Eval {
    const left = this.#sum();
    for (const [sign, compare] of COMPARISONS) {
      if (!this.#take(sign)) continue;
      const right = this.#sum();
      return (scope) => compare(left(scope) as number, right(scope) as number);
    }
    return left;
  }

  #sum(): Eval {
    let left = this.#product();
    for (;;) {
      const factor = this.#take('+') ? 1 : this.#take('-') ? -1 : 0;
      if (factor === 0) return left;
      const [first, second] = [left, this.#product()];
      left = (scope) => Number(first(scope)) + factor * Number(second(scope));
    }
  }

  #product(): Eval {
    let left = this.#unary();
    for (;;) {
      const isDivision = this.#take('/');
      if (!isDivision && !this.#take('*')) return left;
      const [first, second] = [left, this.#unary()];
      left = (scope) =>
        isDivision ? Number(first(scope)) / Number(second(scope)) : Number(first(scope)) * Number(second(scope));
    }
  }

  #unary(): Eval {
    if (this.#take('not')) {
      const value = this.#unary();
      return (scope) => !isTrue(value(scope));
    }
    if (this.#take('#')) {
      const value = this.#unary();
      return (scope) => (value(scope) as string).length;
    }
    if (this.#take('-')) {
      const value = this.#unary();
      return (scope) => -Number(value(scope));
    }
    return this.#postfix();
  }

  #postfix(): Eval {
    let value = this.#primary();
    for (;;) {
      const from = value;
      if (this.#take('.')) {
        const { value: name } = this.#tokens[this.#at] as Token & { readonly kind: 'name' };
        this.#at += 1;
        value = (scope) => (from(scope) as Record<string, unknown>)[name];
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
    const token = this.#tokens[this.#at];
    this.#at += 1;
    if (token === undefined) throw new Error('the script ends too early');
    if (token.kind === 'number' || token.kind === 'string') return () => token.value;
    if (token.kind === 'sign') {
      if (token.value === '{') {
        const parts = this.#list('}');
        return (scope) => parts.map((part) => part(scope));
      }
      if (token.value !== '(') throw new Error(`"${token.value}" begins no expression`);
      const value = this.#expression();
      this.#expect(')');
      return value;
    }
    if (token.value === 'nil') return () => undefined;
    if (token.value === 'true' || token.value === 'false') return () => token.value === 'true';
    return (scope) => {
      if (!scope.has(token.value)) throw new Error(`a script has no "${token.value}"`);
      return scope.get(token.value);
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

  /** A keyword or a sign. */
  #take(value: string): boolean {
    const token = this.#tokens[this.#at];
    if (token === undefined || token.kind === 'string' || token.value !== value) return false;
    this.#at += 1;
    return true;
  }

  #expect(value: string): void {
    if (!this.#take(value)) throw new Error(`a script has no "${value}" where there has to be one`);
  }
}

const COMPARISONS: readonly (readonly [string, (a: number, b: number) => boolean])[] = [
  ['==', (a, b) => a === b],
  ['~=', (a, b) => a !== b],
  ['<=', (a, b) => a <= b],
  ['>=', (a, b) => a >= b],
  ['<', (a, b) => a < b],
  ['>', (a, b) => a > b],
];

function isTrue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

/** Lists begin at 1. */
function elementOf(table: unknown, index: unknown): unknown {
  if (Array.isArray(table)) return table[Number(index) - 1];
  return (table as Record<string, unknown>)[String(index)];
}
