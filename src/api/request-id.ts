import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';

/** Visible ASCII only: it goes into headers and logs as it is. */
const USABLE = /^[\x21-\x7e]{1,128}$/;

/** What a request is called in its answer and in all lines about it: the client's own name for it where that is usable. */
export function requestIDOf({ headers }: { readonly headers: IncomingHttpHeaders }): string {
  const given = headers[REQUEST_ID_HEADER];
  return typeof given === 'string' && USABLE.test(given) ? given : nextID();
}

const COUNTER_DIGITS = 12;
const [RANDOM_PART, FIRST] = splitUUID();
let count = FIRST;

/** A UUID whose last part is counted. The rest, 74 random bits, is that of this process: making it anew costs ten times as much. */
function nextID(): string {
  count = (count + 1) % 16 ** COUNTER_DIGITS;
  return RANDOM_PART + count.toString(16).padStart(COUNTER_DIGITS, '0');
}

function splitUUID(): readonly [before: string, counter: number] {
  const id = randomUUID();
  return [id.slice(0, -COUNTER_DIGITS), Number.parseInt(id.slice(-COUNTER_DIGITS), 16)];
}
