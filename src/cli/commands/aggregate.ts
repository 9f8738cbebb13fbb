import type { Static } from 'typebox';
import { AggregatorError } from '../../aggregation/aggregator-error.ts';
import { settingsOf } from '../../aggregation/request/aggregation-request.ts';
import { MergedProgress } from '../../api/aggregation/merged-progress.ts';
import {
  type AggregationBody,
  parseAggregationRequest,
  parseTransactionRequest,
} from '../../api/aggregation/parse-aggregation-request.ts';
import { presentSigned, SignedMessageBody } from '../../api/aggregation/signed-message-record.ts';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { parseUnsignedMessage } from '../../warp/unsigned-message.ts';
import { EXIT, type ExitCode, usageFailure } from '../exit-codes.ts';
import { describingFailures } from '../io/failures.ts';
import { type InputOptions, readHexInput } from '../io/input.ts';
import { ProgressBar } from '../io/progress-bar.ts';
import { ServiceClient } from '../io/service-client.ts';
import { refusalOf, ServiceRefusal } from '../io/service-refusal.ts';
import type { SourceOptions } from '../io/source.ts';
import { percentOf, styled } from '../io/text.ts';

export interface AggregateOptions extends InputOptions, SourceOptions {
  readonly transaction?: string;
  readonly justification?: string;
  readonly quorum?: number;
  readonly buffer?: number;
  readonly subnet?: string;
  readonly height?: number;
  readonly destination?: string;
  readonly json?: boolean;
}

/** As the routes take it. */
interface Asked {
  readonly transaction: string | undefined;
  readonly body: Static<typeof AggregationBody>;
  /** Of the message; undefined where there is none, or where it is none. */
  readonly networkID: number | undefined;
}

/** Prints the signed message. @throws {CommandFailure} */
export async function aggregate(given: string | undefined, options: AggregateOptions): Promise<ExitCode> {
  const asked = await readAsked(given, options);
  let signed: SignedMessageBody;
  try {
    using bar = new ProgressBar();
    signed = await describingFailures(() =>
      options.config === undefined ? askService(asked, options, bar) : collectHere(asked, options.config, options, bar),
    );
  } catch (error) {
    if (options.json === true && error instanceof ServiceRefusal) print(JSON.stringify(error.body, undefined, 2));
    throw error;
  }
  if (options.json === true) print(JSON.stringify(signed, undefined, 2));
  else {
    if (process.stderr.isTTY) process.stderr.write(`${summary(signed)}\n`);
    print(signed.signedMessage);
  }
  return EXIT.done;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function summary({ signedWeight, totalWeight, signers, signingSubnetId, pChainHeight }: SignedMessageBody): string {
  const share = percentOf(BigInt(signedWeight), BigInt(totalWeight));
  const of = `of subnet ${signingSubnetId} at P-Chain height ${pChainHeight}`;
  return `${styled('green', 'signed', process.stderr)} by ${signers.length} validators with ${share} of the weight ${of}`;
}

async function readAsked(given: string | undefined, options: AggregateOptions): Promise<Asked> {
  const { transaction, justification, quorum, buffer, subnet, height, destination, file } = options;
  if (transaction !== undefined) {
    if ([given, file, justification, quorum, buffer, subnet, height].some((option) => option !== undefined)) {
      throw usageFailure('--transaction has its message, validators and quorum: only --destination goes with it');
    }
    return {
      transaction,
      body: destination === undefined ? {} : { destinationBlockchainId: destination },
      networkID: undefined,
    };
  }
  // A justification alone asks for the message that belongs to it: standard input is read where the argument says so.
  const hasMessage = given !== undefined || file !== undefined || justification === undefined;
  const message = hasMessage ? await readHexInput('the unsigned message', given, options) : undefined;
  const parsed = message && attempt(() => parseUnsignedMessage(message));
  return {
    transaction,
    body: {
      ...(message && { message: bytesToHex(message) }),
      ...(justification !== undefined && { justification }),
      ...(quorum !== undefined && { quorumPercentage: quorum }),
      ...(buffer !== undefined && { quorumPercentageBuffer: buffer }),
      ...(subnet !== undefined && { signingSubnetId: subnet }),
      ...(height !== undefined && { pChainHeight: height }),
      ...(destination !== undefined && { destinationBlockchainId: destination }),
    },
    networkID: parsed instanceof ParseError ? undefined : parsed?.networkID,
  };
}

async function askService(
  { transaction, body, networkID }: Asked,
  { url, apiKey, network, timeout }: AggregateOptions,
  bar: ProgressBar,
): Promise<SignedMessageBody> {
  await using client = new ServiceClient({ url, apiKey, timeoutMs: 1_000 * timeout });
  bar.say(`asking ${url}`);
  const path = `${await client.networkPath(network, networkID)}/aggregateSignatures`;
  if (transaction === undefined)
    return await client.follow({ method: 'POST', path, body }, SignedMessageBody, bar.onEvent);
  const query = new URLSearchParams(body as Record<string, string>).toString();
  return await client.follow(
    { method: 'GET', path: `${path}/${encodeURIComponent(transaction)}${query === '' ? '' : `?${query}`}` },
    SignedMessageBody,
    bar.onEvent,
  );
}

/** Without a service: this process connects to the validators. */
async function collectHere(
  { transaction, body, networkID }: Asked,
  config: string,
  { network: name, timeout }: AggregateOptions,
  bar: ProgressBar,
): Promise<SignedMessageBody> {
  const request =
    transaction === undefined ? parseAggregationRequest(body) : parseTransactionRequest(transaction, body);
  // With all of the service but its HTTP side.
  const { openOwnNetwork, untilStarted } = await import('./own-network.ts');
  await using opened = new AsyncDisposableStack();
  const network = await openOwnNetwork(opened, { config, name, networkID });
  const signal = AbortSignal.timeout(1_000 * timeout);
  try {
    const { quorumNum, quorumBuffer } = settingsOf(request);
    const progress = new MergedProgress({
      network: network.name,
      quorumPercentage: Number(quorumNum),
      quorumPercentageBuffer: Number(quorumBuffer),
    });
    await untilStarted(network, signal, (text) => bar.say(text));
    const result = await network.aggregator.aggregate(request, {
      signal,
      onProgress(event) {
        progress.add(event);
        for (const merged of progress.take()) bar.onEvent(merged);
      },
    });
    return presentSigned(result);
  } catch (error) {
    throw error instanceof AggregatorError ? refusalOf(error) : error;
  }
}
