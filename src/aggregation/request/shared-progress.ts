import type { ProgressFeed, ProgressState, ValidatorProgress } from '../collection/progress.ts';
import { createTally, type ValidatorState } from '../collection/tally.ts';
import { type SignatureFailure, VALIDATOR_OUTCOMES } from '../validators/validator-outcome.ts';
import type { SettledRequest } from './complete-request.ts';
import type { Signing } from './signing-resolver.ts';

/** One character per validator, by canonical index; for a failed one the letter of its reason. */
interface ToldProgress {
  readonly validators: string;
  readonly reasons: readonly SignatureFailure[];
  readonly isVerifying: boolean;
}

const WAITING = '.';
const ASKED = '?';
const SIGNED = '+';
const FIRST_REASON = 'A'.charCodeAt(0);
/** Number of letters. Validators choose the texts; validators with further reasons appear as asked. */
const MAX_REASONS = 26;
/** Bounds all reasons to 6 KB. */
const MAX_TEXT = 200;

export function encodeProgress(feed: ProgressFeed): Uint8Array | undefined {
  const { state } = feed;
  return state && new TextEncoder().encode(JSON.stringify(toldOf(state)));
}

function toldOf({ validators, isVerifying }: ProgressState): ToldProgress {
  const letters = new Map<string, string>();
  const reasons: SignatureFailure[] = [];
  const letterOf = (failure: SignatureFailure): string => {
    const short = shortened(failure);
    const text = JSON.stringify(short);
    const known = letters.get(text);
    if (known !== undefined) return known;
    if (reasons.length === MAX_REASONS) return ASKED;
    const letter = String.fromCharCode(FIRST_REASON + reasons.length);
    reasons.push(short);
    letters.set(text, letter);
    return letter;
  };
  const signOf = ({ status, outcome }: ValidatorProgress): string => {
    if (status === 'signed') return SIGNED;
    if (outcome !== undefined && outcome.kind !== 'signed') return letterOf(outcome);
    return status === 'not_asked' ? WAITING : ASKED;
  };
  return { validators: validators.map(signOf).join(''), reasons, isVerifying };
}

function shortened(failure: SignatureFailure): SignatureFailure {
  if ('text' in failure) return { ...failure, text: failure.text.slice(0, MAX_TEXT) };
  if (failure.kind !== 'unreachable' && failure.kind !== 'invalid_signature') return failure;
  return { ...failure, reason: failure.reason.slice(0, MAX_TEXT) };
}

/** Returns a function that shows the progress of another replica's collection to the listeners of this one. */
export function mirrorProgress(feed: ProgressFeed, request: SettledRequest, { warpSet }: Signing) {
  const onChange = (index: number, state: ValidatorState): void => feed.changed(index, state);
  const tally = createTally(warpSet, { ...request, forecasts: [], onChange });
  let shown = '';
  feed.begin(tally);
  return (progress: Uint8Array | undefined): void => {
    const told = progress && parse(progress);
    if (told?.validators.length !== warpSet.validators.length) return;
    for (let index = 0; index < told.validators.length; index += 1) {
      const sign = told.validators.charAt(index);
      const state = sign === shown[index] ? undefined : stateOf(sign, told);
      if (state !== undefined) tally.set(index, state);
    }
    shown = told.validators;
    if (told.isVerifying) feed.verifying();
    else feed.resumed();
  };
}

/** The writer may be a replica of another version. */
function parse(progress: Uint8Array): ToldProgress | undefined {
  try {
    const told = JSON.parse(new TextDecoder().decode(progress)) as ToldProgress;
    const isKnown = told.reasons.every(({ kind }) => VALIDATOR_OUTCOMES.includes(kind));
    return typeof told.validators === 'string' && isKnown ? told : undefined;
  } catch {
    return undefined;
  }
}

const NO_SIGNATURE = new Uint8Array();

function stateOf(sign: string, { reasons }: ToldProgress): ValidatorState | undefined {
  switch (sign) {
    case WAITING:
      return { kind: 'waiting', notBeforeMs: 0, attempts: 0 };
    case ASKED:
      return { kind: 'asking', lateAtMs: 0, attempts: 1 };
    case SIGNED:
      return { kind: 'signed', signature: NO_SIGNATURE };
    default: {
      const failure = reasons[sign.charCodeAt(0) - FIRST_REASON];
      return failure && { kind: 'failed', failure };
    }
  }
}
