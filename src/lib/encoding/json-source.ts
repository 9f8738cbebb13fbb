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

/** Returns the levels of arrays and objects in JSON. */
export function depthOfJson(json: string): number {
  let most = 0;
  for (const { depth } of signsOf(json)) most = Math.max(most, depth);
  return most;
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

/** Returns the index of the quotation mark that closes the string opened at `start`. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at;
}
