import type { Rejection } from './api-error.ts';

/**
 * What a JSON-RPC error is about:
 * - `question`: what was asked. It is the answer.
 * - `method`: this API does not serve the method.
 * - `heights`: this API takes no number as a P-Chain height.
 * - `limit`: this API does not answer now: it limits calls, is overloaded or is starting.
 * - `access`: this API refuses us, for example because a key is missing.
 * - `unknown`: none of the texts is known. Another API is asked, and its answer counts.
 */
export type RejectionSubject = 'question' | 'method' | 'heights' | 'limit' | 'access' | 'unknown';

/** JSON-RPC 2.0 */
const METHOD_NOT_FOUND = -32_601;
/** Codes of providers for limits, beside those of HTTP. */
const LIMIT_CODES: ReadonlySet<number> = new Set([-32_005, -32_007, -32_029, -32_097]);

/** Errors of avalanchego's own methods: `vms/platformvm/service.go`, `vms/platformvm/block/executor/manager.go`. */
const QUESTION =
  /(?:^|: )not found$|\bproblem retrieving\b.*\bnot found\b|^the primary network isn't a subnet$|\bis not a blockchain$/i;
/** A P-Chain height that is not served as a number. */
const HEIGHTS = /\bheight parameter\b|\bonly (?:the )?(?:value |height )?["'`]?proposed\b/i;
/** Gorilla RPC (avalanchego), go-ethereum, gateways. */
const METHOD =
  /\bcan't find (?:method|service)\b|\b(?:unsupported|unknown|no such|disallowed) (?:rpc )?(?:method|endpoint|service)\b|\bmethods?\b.*\b(?:not|unavailable|unsupported|disabled|blocked|forbidden|denied|restricted|unknown)\b/i;
const LIMIT =
  /\b(?:rate|limits?|limited|limiting|too many|quota|throttl\w*|capacity|credits|exceeded|overload\w*|busy|temporar\w*|unavailable|not available|time ?out|timed out|bootstrapp\w*|maintenance|try again|your plan|in progress)\b/i;
const ACCESS =
  /\b(?:unauthori[sz]ed|forbidden|access|denied|api[- ]?key|(?:invalid|missing) (?:key|token|host)|payment)\b/i;
const UNSUPPORTED = /\bunsupported\b|\bnot (?:supported|allowed|permitted|enabled|whitelisted)\b/i;

/** Texts that name the limits of a method, or a method that is temporarily unavailable, count as a limit. */
const PASSING = /\b(?:rate|limit|limits|too many|quota|throttl\w*|exceeded|temporar\w*|try again)\b/i;

/** Decides what a JSON-RPC error is about. */
export function judgeRejection({ code, message }: Rejection): RejectionSubject {
  if (code === METHOD_NOT_FOUND) return 'method';
  if (LIMIT_CODES.has(code) || isPassingStatus(code)) return 'limit';
  if (QUESTION.test(message)) return 'question';
  // Before the words of limits: "the height exceeds the limit of 1,000 blocks".
  if (HEIGHTS.test(message)) return 'heights';
  if (METHOD.test(message) && !PASSING.test(message)) return 'method';
  if (isAboutHeight(message)) return 'unknown';
  if (LIMIT.test(message)) return 'limit';
  if (ACCESS.test(message)) return 'access';
  return UNSUPPORTED.test(message) ? 'method' : 'unknown';
}

/** Some gateways give the HTTP status as the code. */
function isPassingStatus(code: number): boolean {
  return code === 408 || code === 429 || (code >= 500 && code <= 599);
}

/** Whether the text of an error explains which heights an API serves. */
export function isAboutHeight(text: string): boolean {
  return /\bheights?\b|\bpruned\b|\btoo old\b/i.test(text);
}
