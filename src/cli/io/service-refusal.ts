import type { Static } from 'typebox';
import { Value } from 'typebox/value';
import type { AggregatorError } from '../../aggregation/aggregator-error.ts';
import { AggregationDetails, detailsOf } from '../../api/errors/aggregation-details.ts';
import { SentMessages } from '../../api/errors/sent-messages.ts';
import { type ErrorDetails, SignatureAggregatorError } from '../../client/client-error.ts';
import { ERROR_CODES, type ErrorCode } from '../../http/errors/error-codes.ts';
import { OWN_ERROR_FORM } from '../../http/errors/error-form.ts';
import { retryAfterSeconds } from '../../lib/net/http-failure.ts';
import { CommandFailure, EXIT, type ExitCode } from './exit-codes.ts';
import { formatTable, percentOf, printable } from './text.ts';

/** The call is correct, but the answer is negative. */
const NEGATIVE: ReadonlySet<ErrorCode> = new Set([
  'signing_refused',
  'quorum_unreachable',
  'message_superseded',
  'validation_not_over',
  'registration_pending',
  'no_message_in_transaction',
  'justification_not_found',
  'unknown_request',
]);

/** Options by the fields of the API that errors name, also amid a sentence. */
const OPTIONS: Readonly<Record<string, string>> = {
  sourceBlockchainId: '--source',
  txHash: '--tx',
  blockchainId: '--chain',
  logIndex: '--log-index',
  signingSubnetId: '--subnet',
  quorumPercentage: '--quorum',
  quorumPercentageBuffer: '--buffer',
  pChainHeight: '--height',
  destinationBlockchainId: '--destination',
};
const FIELD = new RegExp(`\\b(${Object.keys(OPTIONS).join('|')})\\b`, 'g');
/** Fields that are words, too: they are meant at the start only. */
const PLAIN_FIELD = /^(justification|wait)(?=:| must| is)/;

/** The heaviest validators that fit on a screen. */
const MAX_SHOWN = 12;

/** An error of the service, or of the collection in this process. The message lists the validators that did not sign. */
export class ServiceRefusal extends CommandFailure {
  /** As the service answers; undefined for the answer of another program, such as a proxy. */
  readonly body: object | undefined;

  constructor({ code, message, details, status = 500, retryAfterMs, requestId }: SignatureAggregatorError) {
    const isOurs = code !== 'invalid_answer' && code !== 'unreachable';
    const text = isOurs
      ? adviseOn(code, inOptions(printable(message)))
      : `what answers there is no signature aggregator, or something before it refuses: HTTP ${status}; check --url`;
    const retryAfter = retryAfterMs === undefined ? undefined : retryAfterSeconds(retryAfterMs);
    const lines = [
      ...detailLines(details),
      ...(retryAfter === undefined ? [] : [`Retry-After: ${retryAfter} s`]),
      ...(requestId === undefined ? [] : [`request ID: ${printable(requestId)}`]),
    ];
    super(isOurs ? exitCodeOf(code) : status < 500 ? EXIT.usage : EXIT.later, [text, ...lines].join('\n'));
    const body = isOurs ? OWN_ERROR_FORM.bodyOf({ code, message, details }, status) : undefined;
    this.body = body && { ...body, ...(retryAfter !== undefined && { retryAfter }) };
  }
}

export function refusalOf(error: AggregatorError): ServiceRefusal {
  const { code, field, retryAfterMs } = error;
  const message = field === undefined ? error.message : `${OWN_ERROR_FORM.fieldNames[field]}: ${error.message}`;
  const details = detailsOf(error) as ErrorDetails | undefined;
  const status = OWN_ERROR_FORM.statusOf(code);
  return new ServiceRefusal(new SignatureAggregatorError(message, { code, details, status, retryAfterMs }));
}

/** Replaces the fields of the API in the text of an error by the options of the commands. */
export function inOptions(text: string): string {
  return text.replace(PLAIN_FIELD, '--$1').replaceAll(FIELD, (field) => OPTIONS[field] ?? field);
}

/** Codes of newer services are unknown. */
function exitCodeOf(code: string): ExitCode {
  if (!isErrorCode(code) || ERROR_CODES[code].retry === 'may_pass') return EXIT.later;
  return NEGATIVE.has(code) ? EXIT.no : EXIT.usage;
}

function adviseOn(code: string, message: string): string {
  return isErrorCode(code) ? `${message}\n${inOptions(ERROR_CODES[code].action)} (${code})` : `${message} (${code})`;
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

function detailLines(details: unknown): string[] {
  if (Value.Check(AggregationDetails, details)) return outcomeLines(details);
  return Value.Check(SentMessages, details) ? messageLines(details) : [];
}

function messageLines({ messages, messagesOmitted }: Static<typeof SentMessages>): string[] {
  const rows = messages.map(({ logIndex, messageId, destinationBlockchainId, bytes }) => [
    `--log-index ${logIndex}`,
    `${bytes} bytes`,
    printable(messageId),
    destinationBlockchainId === undefined ? '' : `for ${printable(destinationBlockchainId)}`,
  ]);
  return [
    'Messages of the transaction:',
    ...formatTable(rows, new Set([1])).map((line) => `  ${line}`),
    ...(messagesOmitted > 0 ? [`  and ${messagesOmitted} more`] : []),
  ];
}

function outcomeLines(details: Static<typeof AggregationDetails>): string[] {
  const [signed, needed, total] = [details.weightSigned, details.weightNeeded, details.totalWeight].map(BigInt);
  if (signed === undefined || needed === undefined || total === undefined) return [];
  const { missing, missingOmitted } = details;
  const rows = missing
    .slice(0, MAX_SHOWN)
    .map(({ nodeId, weight, outcome, code, text, reason }) => [
      percentOf(BigInt(weight), total),
      outcome.replaceAll('_', ' '),
      printable(nodeId),
      printable([code, text ?? reason].filter((part) => part !== undefined).join(' ')),
    ]);
  const more = missing.length + missingOmitted - rows.length;
  return [
    `Signed: ${percentOf(signed, total)} of the weight; needed: ${percentOf(needed, total)}. Validators that did not sign:`,
    ...formatTable(rows, new Set([0])).map((line) => `  ${line}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}
