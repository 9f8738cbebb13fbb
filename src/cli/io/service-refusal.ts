import type { Static } from 'typebox';
import { Value } from 'typebox/value';
import type { AggregatorError, RequestField } from '../../aggregation/aggregator-error.ts';
import { AggregationDetails, detailsOf } from '../../http/errors/aggregation-details.ts';
import { ERROR_CODES, type ErrorCode } from '../../http/errors/error-codes.ts';
import { OWN_ERROR_FORM } from '../../http/errors/error-form.ts';
import { CommandFailure, EXIT, type ExitCode } from './exit-codes.ts';
import { formatTable, percentOf, printable } from './text.ts';

/** The call is correct, but the answer is negative. */
const NEGATIVE: ReadonlySet<ErrorCode> = new Set([
  'signing_refused',
  'quorum_unreachable',
  'message_superseded',
  'validation_not_over',
  'no_message_in_transaction',
  'justification_not_found',
]);

const FIELDS: Readonly<Record<RequestField, string>> = {
  message: 'the message',
  signedMessage: 'the message',
  subnetID: 'the subnet',
  validationID: 'the validation',
  sourceChainID: '--chain',
  uptimeChainID: 'the chain',
  blockchainID: 'the blockchain',
  justification: '--justification',
  transaction: '--transaction',
  signingSubnetID: '--subnet',
  quorumNum: '--quorum',
  quorumBuffer: '--buffer',
  pChainHeight: '--height',
  destinationChainID: '--destination',
};

/** The heaviest validators that fit on a screen. */
const MAX_SHOWN = 12;

/** An error of the service, or of the collection in this process. The message lists the validators that did not sign. */
export class ServiceRefusal extends CommandFailure {
  readonly body: unknown;

  /** @param status of the response, for bodies of other programs, such as a proxy */
  constructor(body: unknown, status = 500) {
    const { message, code, details } = (body ?? {}) as Readonly<Record<string, unknown>>;
    const isOurs = typeof code === 'string' && typeof message === 'string';
    const text = isOurs
      ? adviseOn(code, printable(message))
      : `what answers there is no signature aggregator, or something before it refuses: HTTP ${status}; check --url`;
    const lines = Value.Check(AggregationDetails, details) ? detailLines(details) : [];
    super(isOurs ? exitCodeOf(code) : status < 500 ? EXIT.usage : EXIT.later, [text, ...lines].join('\n'));
    this.body = body;
  }
}

export function refusalOf(error: AggregatorError): ServiceRefusal {
  const { code, field, message } = error;
  const text = field === undefined ? message : `${FIELDS[field]}: ${message}`;
  const answer = { code, message: text, details: detailsOf(error) };
  return new ServiceRefusal(OWN_ERROR_FORM.bodyOf(answer, OWN_ERROR_FORM.statusOf(code)));
}

/** Codes of newer services are unknown. */
function exitCodeOf(code: string): ExitCode {
  if (!isErrorCode(code) || ERROR_CODES[code].retry === 'may_pass') return EXIT.later;
  return NEGATIVE.has(code) ? EXIT.no : EXIT.usage;
}

function adviseOn(code: string, message: string): string {
  return isErrorCode(code) ? `${message}\n${ERROR_CODES[code].action} (${code})` : `${message} (${code})`;
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

function detailLines(details: Static<typeof AggregationDetails>): string[] {
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
