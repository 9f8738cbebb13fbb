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
/** All that the last digits may be: to write a number as digits takes longer than all else about an ID. */
const LAST_DIGITS = Array.from({ length: 256 }, (_, number) => hexDigits(number, 2));
const [RANDOM_PART, FIRST] = splitUUID();
/** Of the counter, what stands before its last digits. */
let high = Math.floor(FIRST / LAST_DIGITS.length);
let low = FIRST % LAST_DIGITS.length;
let before = digitsBefore();

/** A UUID whose last part is counted. The rest, 74 random bits, is that of this process: making it anew costs ten times as much. */
function nextID(): string {
  low += 1;
  if (low === LAST_DIGITS.length) {
    low = 0;
    high = (high + 1) % (16 ** COUNTER_DIGITS / LAST_DIGITS.length);
    before = digitsBefore();
  }
  return before + LAST_DIGITS[low];
}

function digitsBefore(): string {
  return RANDOM_PART + hexDigits(high, COUNTER_DIGITS - 2);
}

function hexDigits(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}

function splitUUID(): readonly [before: string, counter: number] {
  const id = randomUUID();
  return [id.slice(0, -COUNTER_DIGITS), Number.parseInt(id.slice(-COUNTER_DIGITS), 16)];
}
