import type { GoAnswer } from './send.ts';

interface Difference {
  /** How the Go aggregator answers. */
  readonly go: string;
  /** How this service answers. */
  readonly here: string;
  readonly reason: string;
  /** All statuses that this service may answer with. */
  readonly statuses: readonly number[];
}

/**
 * Every deliberate difference from the Go aggregator's answers to `/aggregate-signatures`. The corpus has a request for each, any other
 * difference fails the tests, and docs/switch-from-go.md is generated from it.
 */
export const GO_DIFFERENCES = {
  'camelCase fields': {
    go: 'ignored: `signingSubnetId` and the quorum have no effect',
    here: 'the same meaning as its own names, `p-chain-height` too; 400 where two spellings differ',
    reason: 'A field that is ignored in silence has the wrong validators sign',
    statuses: [400],
  },
  "the caller's mistakes": {
    go: '500 for an unknown subnet or source chain, another network, a height too high',
    here: '400, in the same first words',
    reason: 'Asking again does not help',
    statuses: [400],
  },
  'a justification without a message': {
    go: '400, although its documents have it',
    here: "the P-Chain's message that belongs to the justification, signed",
    reason: 'As documented there, and in the API that is hosted',
    statuses: [200, 400],
  },
  'a justification that is missing': {
    go: '200 if the message was signed with a justification before, else 500',
    here: '400: the validators need the justification',
    reason: 'What a request gets must not depend on requests of other clients',
    statuses: [400],
  },
  'a buffer of 2^64 - 1': {
    go: '200: quorum and buffer overflow when they are added',
    here: '400 `Invalid quorum buffer number`',
    reason: 'Their sum is above 100',
    statuses: [400],
  },
  'a body that is encoded': {
    go: 'the header `Content-Encoding` is ignored',
    here: '400, unless it is `identity`',
    reason: 'The body is not what the header declares',
    statuses: [400],
  },
  'a length beside chunks': {
    go: 'the header `Content-Length` is ignored',
    here: '400',
    reason: 'A proxy may see another end of the body, so that the rest is another request (RFC 9112, section 6.3)',
    statuses: [400],
  },
  'another path': {
    go: '404 as plain text',
    here: '404 `{"error"}`',
    reason: 'All errors have one form',
    statuses: [404],
  },
  'a path with // or ..': {
    go: '307 to the path without them',
    here: '404',
    reason: 'No client sends one, and a proxy may read it in another way',
    statuses: [404],
  },
} as const satisfies Readonly<Record<string, Difference>>;

export type GoDifference = keyof typeof GO_DIFFERENCES;

/**
 * A failure of the Go aggregator of July 2026, which the tests build: its successor answers with the words of a threshold, or else with the
 * first words. What follows names heights, weights and addresses.
 */
const FAILURE = /^(failed to aggregate signatures)\. error: (failed to [a-z]+(?: to)? a threshold of [a-z]+)?/;

/** The answer of the reference without what differs between two runs: the text is where ours has to begin. */
export function expectedAnswer(answer: GoAnswer): GoAnswer {
  const [, words, threshold] = FAILURE.exec(answer.text) ?? [];
  return { ...answer, text: threshold ?? words ?? answer.text };
}

/** Why an answer is not as it has to be; undefined if it is. */
export function findGoProblem(
  expected: GoAnswer,
  ours: GoAnswer,
  differs: GoDifference | undefined,
): string | undefined {
  const isSame =
    ours.status === expected.status &&
    ours.type === expected.type &&
    ours.keys.join() === expected.keys.join() &&
    ours.text.startsWith(expected.text);
  if (differs === undefined) return isSame ? undefined : 'differs, and no deliberate difference is named';
  if (isSame) return `does not differ, although "${differs}" is named`;
  const statuses: readonly number[] = GO_DIFFERENCES[differs].statuses;
  const keys = ours.status === 200 ? 'signed-message' : 'error';
  const isJson = ours.type === 'application/json' && ours.keys.join() === keys;
  return statuses.includes(ours.status) && isJson ? undefined : `differs in another way than "${differs}"`;
}
