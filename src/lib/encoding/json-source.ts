const [QUOTE, COMMA, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x22, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d];

interface Sign {
  readonly sign: string;
  readonly at: number;
  /** Number of open brackets, with the sign's own. */
  readonly depth: number;
}

/** Yields the brackets and commas outside of strings, in time linear in the length of any text. */
function* signsOf(text: string): Generator<Sign> {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charAt(at);
    switch (sign) {
      case '"':
        at = endOfString(text, at);
        break;
      case '[':
      case '{':
        depth += 1;
        yield { sign, at, depth };
        break;
      case ']':
      case '}':
        yield { sign, at, depth };
        depth -= 1;
        break;
      case ',':
        yield { sign, at, depth };
    }
  }
}

export interface JsonSize {
  /** Of arrays and objects. */
  readonly levels: number;
  /** Items of arrays, and members of objects. */
  readonly values?: number;
}

/** Returns the first of the limits that JSON exceeds, without parsing it. The syntax is not checked. */
export function findExcess(json: string, { levels, values = Number.POSITIVE_INFINITY }: JsonSize) {
  let [depth, count] = [0, 0];
  for (let at = 0; at < json.length; at += 1) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(json, at);
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        count += 1;
        if (depth > levels) return 'levels';
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case COMMA:
        count += 1;
        if (count > values) return 'values';
    }
  }
  return undefined;
}

/** Returns the array or object at the start of a text; the whole text if its brackets do not close. The syntax is not checked. */
export function firstJson(text: string): string {
  for (const { sign, at, depth } of signsOf(text)) {
    if (depth === 1 && (sign === ']' || sign === '}')) return text.slice(0, at + 1);
  }
  return text;
}

/** Returns the texts of the items of a JSON array, or of the members of an object. */
export function splitJson(json: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (const { sign, at, depth } of signsOf(json)) {
    if (depth !== 1) continue;
    if (sign !== '[' && sign !== '{') parts.push(json.slice(start, at));
    start = at + 1;
  }
  return parts.length === 1 && parts[0]?.trim() === '' ? [] : parts;
}

/** Returns names and texts of the members of a JSON object. Unlike `JSON.parse`, it keeps equal names and all digits of numbers. */
export function membersOf(object: string): (readonly [name: string, source: string])[] {
  return splitJson(object).map((member) => {
    const end = endOfString(member, member.indexOf('"')) + 1;
    return [JSON.parse(member.slice(0, end)) as string, member.slice(member.indexOf(':', end) + 1).trim()];
  });
}

/** Returns the index of the quotation mark that closes the string opened at `start`; the length of the text if none does. */
export function endOfString(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let before = at;
    while (json[before - 1] === '\\') before -= 1;
    // An even number of backslashes are escaped backslashes.
    if ((at - before) % 2 === 0) return at;
  }
  return json.length;
}
